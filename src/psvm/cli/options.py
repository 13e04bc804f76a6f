"""Options that several commands have."""

import math
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from psvm.cli.completion import column_names
from psvm.cli.tasks import Task

READING = "How to read the data"
LEARNING = "The model"
# With short metavars and no ranges, so that names have room on a terminal of 60 columns.
COLUMNS = "Columns"


class KernelName(StrEnum):
    """Kernels that need nothing but numbers."""

    rbf = "rbf"
    linear = "linear"
    poly = "poly"
    sigmoid = "sigmoid"
    laplacian = "laplacian"
    exponential = "exponential"


class ClassWeight(StrEnum):
    """How classes are weighed."""

    balanced = "balanced"


class MultiClass(StrEnum):
    """How several classes become binary problems."""

    ovo = "ovo"
    ovr = "ovr"


class DecimalSign(StrEnum):
    """What may stand before the decimals of a number."""

    point = "."
    comma = ","


class DateOrder(StrEnum):
    """In which order a date that is not written as 2020-01-31 has its parts."""

    dmy = "dmy"
    mdy = "mdy"


class Dates(StrEnum):
    """What becomes of columns of dates."""

    expand = "expand"
    drop = "drop"


class Rule(StrEnum):
    """Which of the combinations that were tried is taken."""

    best = "best"
    one_se = "one_se"


def positive(value: float | None) -> float | None:
    """Refuse numbers that are not above 0."""
    if value is not None and not value > 0:
        raise typer.BadParameter(f"must be above 0, got {value:g}")
    return value


def at_least_one(value: float | None) -> float | None:
    """Refuse what is no exponent of the hinge."""
    if value is not None and not 1 <= value < math.inf:
        raise typer.BadParameter(f"must be a finite number of at least 1, got {value:g}")
    return value


def positive_and_finite(value: float) -> float:
    """Refuse numbers that are not above 0, and infinity."""
    if not 0 < value < math.inf:
        raise typer.BadParameter(f"must be above 0 and finite, got {value:g}")
    return value


def not_negative(value: float | None) -> float | None:
    """Refuse numbers below 0, and infinity."""
    if value is not None and not 0 <= value < math.inf:
        raise typer.BadParameter(f"must be finite and not below 0, got {value:g}")
    return value


def share(value: float | None) -> float | None:
    """Refuse what is no part of a whole."""
    if value is not None and not 0 < value < 1:
        raise typer.BadParameter(f"must be between 0 and 1, got {value:g}")
    return value


def gamma_of(text: str) -> str | float:
    """A kernel width: "scale", "auto" or a number above 0."""
    if text in ("scale", "auto"):
        return text
    try:
        return positive_and_finite(float(text))
    except ValueError:
        raise typer.BadParameter(f"must be scale, auto or a number, got {text!r}") from None


def gamma_text(text: str | None) -> str | None:
    """Refuse what is no kernel width, with the name of the option in the message."""
    if text is not None:
        gamma_of(text)
    return text


def several(check: Callable[[float], object]) -> Callable[[str | None], str | None]:
    """A check of numbers with commas between them, each of which must pass ``check``."""

    def check_all(text: str | None) -> str | None:
        for part in () if text is None else text.split(","):
            try:
                number = float(part)
            except ValueError:
                raise typer.BadParameter(f"{part!r} is no number (write 0.1,1,10)") from None
            check(number)
        return text

    return check_all


def is_linear(kernel: KernelName | None, linear: bool) -> bool:
    """Whether there is to be no kernel, said in either way."""
    if linear and kernel not in (None, KernelName.linear):
        raise typer.BadParameter(f"--kernel {kernel.value} and --linear exclude each other")
    return linear or kernel is KernelName.linear


def one_character(text: str | None) -> str | None:
    r"""A delimiter; ``\t`` is the tab."""
    text = "\t" if text == "\\t" else text
    if text is not None and len(text) != 1:
        raise typer.BadParameter(f"must be one character, got {text!r}")
    return text


Data = Annotated[
    Path,
    typer.Argument(
        metavar="DATA",
        help="CSV, TSV (also gzipped), Parquet, Arrow/Feather, NPZ or LIBSVM file; - is standard "
        "input.",
    ),
]
Model = Annotated[Path, typer.Argument(metavar="MODEL", help="A model written by fit or tune.")]
ModelOutput = Annotated[
    Path, typer.Option("--output", "-o", metavar="MODEL", help="Where to write the model.")
]
Target = Annotated[
    str | None,
    typer.Option(
        "--target",
        "-t",
        metavar="COLUMN",
        help="Column with the labels or numbers to learn (array of an NPZ file; not for LIBSVM "
        "files).",
        autocompletion=column_names,
        show_default=False,
    ),
]
WantedTask = Annotated[
    Task,
    typer.Option(
        "--task",
        help="Whether to learn classes or numbers; auto judges by the target, and says so.",
        rich_help_panel=LEARNING,
    ),
]
Drop = Annotated[
    list[str] | None,
    typer.Option(
        "--drop",
        metavar="COL",
        help="Leave this column out; may be repeated.",
        autocompletion=column_names,
        rich_help_panel=COLUMNS,
    ),
]
Impute = Annotated[
    bool,
    typer.Option(
        "--impute",
        help="Replace missing values by the column's median, texts by its most frequent one.",
        rich_help_panel=COLUMNS,
    ),
]
Scale = Annotated[
    bool | None,
    typer.Option(
        "--scale/--no-scale",
        help="Bring columns to mean 0 and variance 1.",
        show_default="--scale, but --no-scale for sparse data",
        rich_help_panel=COLUMNS,
    ),
]
MaxCategories = Annotated[
    int,
    typer.Option(
        "--max-categories",
        metavar="N",
        callback=positive,
        help="Categories of a text column; the rarest texts together are one of them.",
        rich_help_panel=COLUMNS,
    ),
]
Delimiter = Annotated[
    str | None,
    typer.Option(
        "--delimiter",
        metavar="CHAR",
        callback=one_character,
        help="What separates the fields of a text file.",
        show_default="found out",
        rich_help_panel=READING,
    ),
]
Decimal = Annotated[
    DecimalSign | None,
    typer.Option(
        "--decimal",
        help="Sign before the decimals of numbers in text columns.",
        show_default="found out",
        rich_help_panel=READING,
    ),
]
Order = Annotated[
    DateOrder | None,
    typer.Option(
        "--date-order",
        help="Whether dates as 1/2/2020 begin with the day or with the month.",
        show_default="found out",
        rich_help_panel=READING,
    ),
]
DateColumns = Annotated[
    Dates | None,
    typer.Option(
        "--dates",
        metavar="HOW",
        help="expand: turn columns of dates into numbers (days, month, day, weekday, hour); drop: "
        "leave them out.",
        show_default="they are refused",
        rich_help_panel=COLUMNS,
    ),
]
AsText = Annotated[
    list[str] | None,
    typer.Option(
        "--text",
        metavar="COL",
        help="Take this column's numbers or dates for categories; may be repeated.",
        autocompletion=column_names,
        rich_help_panel=COLUMNS,
    ),
]
AsNumber = Annotated[
    list[str] | None,
    typer.Option(
        "--number",
        metavar="COL",
        help="Take this column for numbers, and its other texts for missing; may be repeated.",
        autocompletion=column_names,
        rich_help_panel=COLUMNS,
    ),
]
NoHeader = Annotated[
    bool,
    typer.Option(
        "--no-header",
        help="The first line has values; columns are called 1, 2, ...",
        rich_help_panel=READING,
    ),
]
ZeroBased = Annotated[
    bool,
    typer.Option(
        "--zero-based",
        help="The LIBSVM file counts its features from 0, not from 1.",
        rich_help_panel=READING,
    ),
]
ClassWeights = Annotated[
    ClassWeight | None,
    typer.Option(
        "--class-weight", help="Weigh classes inversely to their size.", rich_help_panel=LEARNING
    ),
]
MultiClassWay = Annotated[
    MultiClass | None,
    typer.Option(
        "--multi-class",
        help="Several classes: every pair (ovo), or each against the rest (ovr).",
        show_default="ovo",
        rich_help_panel=LEARNING,
    ),
]
Quantile = Annotated[
    float | None,
    typer.Option(
        "--quantile",
        callback=share,
        help="Regression: the share of the rows that is to lie below the predictions, as .9.",
        show_default="0.5",
        rich_help_panel=LEARNING,
    ),
]
Tol = Annotated[
    float,
    typer.Option(
        "--tol",
        callback=positive,
        help="Relative duality gap at which a fit is done.",
        rich_help_panel=LEARNING,
    ),
]
Kernel = Annotated[
    KernelName | None,
    typer.Option("--kernel", help="Kernel.", show_default="rbf", rich_help_panel=LEARNING),
]
Linear = Annotated[
    bool,
    typer.Option(
        "--linear",
        help="Short for --kernel linear: fast for many rows, keeps one weight per feature.",
        rich_help_panel=LEARNING,
    ),
]
MaxTime = Annotated[
    float | None,
    typer.Option(
        "--max-time",
        metavar="SECONDS",
        callback=positive,
        help="Limit of seconds, of everything after reading the file.",
        show_default="none",
        rich_help_panel=LEARNING,
    ),
]
TestSize = Annotated[
    float | None,
    typer.Option(
        "--test-size",
        metavar="SHARE",
        callback=share,
        help="Keep this share of the rows for a test, as .2.",
        show_default="none",
    ),
]
Seed = Annotated[int, typer.Option("--seed", metavar="N", help="Of the random split.")]
Jobs = Annotated[
    int | None,
    typer.Option("--jobs", "-j", metavar="N", min=1, help="Threads.", show_default="one per CPU"),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress and no summary.")]
Json = Annotated[bool, typer.Option("--json", help="The result as JSON on standard output.")]
Debug = Annotated[bool, typer.Option("--debug", help="Show where an error comes from.")]
