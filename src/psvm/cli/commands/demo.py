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

    Every command is shown before it runs, so that it can be repeated and changed. At the end a
    table shows where p matters: on rows as they are hardly, on rows of which some are wrong a lot.
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
    _step("evaluate", model, test)
    _step("predict", model, test, "--decision", "--output", predictions)
    first = predictions.read_text().splitlines(keepends=True)[:4]
    sys.stdout.write("".join(first) + "...\n\n")
    _show_where_p_matters(train, test)


def _show_where_p_matters(train: Path, test: Path) -> None:
    """The same fits on rows as they are and on rows of which some are wrong."""
    spoilt = train.with_name("cancer-spoilt.csv")
    wrong = _spoil(train, spoilt)
    sys.stdout.write(
        f"Where p matters: {spoilt}\n"
        f"has the rows of {train.name}, but in {wrong} of them all numbers are ten times too\n"
        f"large and have the wrong sign. For every p: psvm fit ... --kernel linear --C 0.1\n"
        f"--p P, then psvm evaluate ... {test.name}\n"
    )
    rows = []
    for p in PS:
        clean, with_errors = (_scores(path, test, p) for path in (train, spoilt))
        rows.append([f"{p:g}", f"{clean:.4f}", f"{with_errors:.4f}"])
    show_table(("p", "test accuracy", f"with {wrong} wrong rows"), rows)
    sys.stdout.write(
        "A large p makes every slack count by a power, and a few wrong rows pull the boundary\n"
        "away; p = 1 lets them be. On other data a larger p is better: psvm tune chooses by\n"
        "cross-validation.\n\n"
    )


def _spoil(train: Path, spoilt: Path) -> int:
    """Write the rows with errors of typing in some of them; how many."""
    import numpy as np
    import polars as pl

    table = pl.read_csv(train)
    wrong = np.random.default_rng(0).permutation(table.height)[: table.height // 20]
    factor = np.ones(table.height)
    factor[wrong] = -10.0
    numbers = pl.selectors.numeric()
    table.with_columns(numbers * pl.Series(factor)).write_csv(spoilt)
    return int(wrong.size)


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


def _scores(train: Path, test: Path, p: float) -> float:
    """The accuracy on the test rows of a linear machine."""
    from psvm.cli import train_and_test
    from psvm.cli.files.open_data import ReadOptions
    from psvm.cli.files.training_set import Wanted, read_training

    wanted = Wanted("diagnosis")
    rows = train_and_test.Split(
        *(read_training(path, ReadOptions(), wanted) for path in (train, test))
    )
    classifier = train_and_test.new_classifier(linear=True, p=p, C=0.1)
    fitted = train_and_test.fit_model(
        classifier, rows, scale=True, impute=False, proba=False, quiet=True
    )
    return float(fitted.facts["test"]["accuracy"])
