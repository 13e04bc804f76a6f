"""``psvm export``: a model for other programs."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from psvm.cli import options as opt
from psvm.cli.show import show_json


def export(
    model: opt.Model,
    output: Annotated[
        Path,
        typer.Argument(metavar="OUT", help="File to write: .onnx, .libsvm (or .model) or .json."),
    ],
    quiet: opt.Quiet = False,
    json: opt.Json = False,
    debug: opt.Debug = False,
) -> None:
    """Write a model as ONNX, as a LIBSVM text model, or as JSON.

    ONNX runs in onnxruntime and many other places, the preprocessing included; a LIBSVM model runs
    in svm-predict; JSON has the plain arrays, for any language.

    Example: psvm export iris.psvm iris.onnx
    """
    suffixes = (".onnx", ".libsvm", ".model", ".json")
    if output.suffix not in suffixes:
        raise typer.BadParameter(f"OUT must end in one of {', '.join(suffixes)}, got {output}")
    from psvm import persistence
    from psvm.cli.output import about, check_can_write
    from psvm.persistence.steps import steps_of

    check_can_write(output)
    estimator = persistence.load(model)
    words: dict[str, bool] = {}
    if output.suffix in (".libsvm", ".model"):
        if before := [type(step).__name__ for step in steps_of(estimator)[:-1]]:
            raise ValueError(
                f"{model}: a LIBSVM model has no preprocessing ({', '.join(before)}): prepare the "
                f"data before and fit with --no-scale, or export .onnx or .json"
            )
        if hasattr(estimator, "classes_"):
            words["number_classes"] = estimator.classes_.dtype.kind not in "biuf"
    with about(output):
        persistence.export(estimator, output, **words)
    if words.get("number_classes"):
        told = ", ".join(f"{number} is {name}" for number, name in enumerate(estimator.classes_))
        sys.stderr.write(f"psvm: {output}: LIBSVM's labels are whole numbers: {told}\n")
    if json:
        show_json({"model": str(model), "output": str(output), "bytes": output.stat().st_size})
    elif not quiet:
        sys.stderr.write(f"{output} written\n")
