"""``psvm demo``: the commands on a small real data set."""

import sys
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, Any

import typer

from psvm.cli import options as opt
from psvm.cli.show import show_table

PS = (1, 1.5, 2, 3)
"""Exponents of the table."""


def demo(
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FOLDER",
            help="Keep the files there.",
            show_default="a temporary folder",
        ),
    ] = None,
    debug: opt.Debug = False,
) -> None:
    """Fit, evaluate and predict on the breast-cancer data of scikit-learn, in some seconds.

    Every command is shown before it runs, so that it can be repeated and changed.
    """
    import tempfile

    if output is not None:
        output.mkdir(parents=True, exist_ok=True)
    holder: Any = tempfile.TemporaryDirectory() if output is None else nullcontext(output)
    with holder as folder:
        _run_in(Path(folder))
    if output is None:
        sys.stdout.write("Keep the files with psvm demo --output FOLDER.\n")


def _run_in(folder: Path) -> None:
    train, test = folder / "cancer-train.csv", folder / "cancer-test.csv"
    _write_data(train, test)
    model, predictions = folder / "cancer.psvm", folder / "predictions.csv"
    _step("fit", train, "--target", "diagnosis", "--p", "1.5", "--output", model)
    _step("evaluate", model, test, "--target", "diagnosis")
    _step("predict", model, test, "--decision", "--output", predictions)
    first = predictions.read_text().splitlines(keepends=True)[:4]
    sys.stdout.write("".join(first) + "...\n\n")
    sys.stdout.write("The same with other p: fit ... --p P --json, then evaluate ... --json\n")
    show_table(
        ("p", "test accuracy", "ROC AUC", "support vectors", "duality gap", "fit, s"),
        [_row(train, test, p) for p in PS],
    )


def _write_data(train: Path, test: Path) -> None:
    """Two files with names of columns and labels in words."""
    import numpy as np
    import polars as pl
    from sklearn.datasets import load_breast_cancer
    from sklearn.model_selection import train_test_split

    data = load_breast_cancer()
    labels = pl.Series("diagnosis", data.target_names[data.target].tolist())
    names = [str(name) for name in data.feature_names]
    table = pl.DataFrame(data.data, schema=names).with_columns(labels)
    rows = train_test_split(np.arange(table.height), stratify=data.target, random_state=0)
    for chosen, path in zip(rows, (train, test), strict=True):
        table[np.sort(chosen)].write_csv(path)


def _step(*words: str | Path) -> None:
    """Show a command and run it."""
    import shlex

    from psvm.cli.app import app

    typer.secho(f"$ psvm {shlex.join(map(str, words))}", bold=True)
    sys.stdout.flush()
    app([str(word) for word in words], prog_name="psvm", standalone_mode=False)
    sys.stderr.flush()
    sys.stdout.write("\n")
    sys.stdout.flush()


def _row(train: Path, test: Path, p: float) -> list[str]:
    """One line of the table."""
    from psvm.cli import train_and_test
    from psvm.cli.files.open_data import ReadOptions
    from psvm.cli.files.training_set import Wanted, read_training

    wanted = Wanted("diagnosis")
    rows = train_and_test.Split(
        *(read_training(path, ReadOptions(), wanted) for path in (train, test))
    )
    classifier = train_and_test.new_classifier(linear=False, p=p)
    facts = train_and_test.fit_model(
        classifier, rows, scale=True, impute=False, proba=False, quiet=True
    ).facts
    scores = facts["test"]
    return [
        f"{p:g}",
        f"{scores['accuracy']:.4f}",
        f"{scores['roc_auc']:.4f}",
        str(facts["support_vectors"]),
        f"{facts['dual_gap']:.1e}",
        f"{facts['seconds']:.3f}",
    ]
