"""``psvm predict``: labels or numbers of new rows."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from psvm.cli import options as opt


def predict(
    model: opt.Model,
    data: opt.Data,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="File of the predictions, by its end: .csv, .tsv, .ndjson (these also with .gz), "
            ".parquet, .arrow or .feather.",
            show_default="standard output",
        ),
    ] = None,
    ids: Annotated[
        list[str] | None,
        typer.Option(
            "--id",
            metavar="COLUMN",
            help="Carry this column of the data along; may be repeated.",
            autocompletion=opt.column_names,
            show_default="none",
        ),
    ] = None,
    proba: Annotated[
        bool, typer.Option("--proba", help="Add the probability of every class.")
    ] = False,
    decision: Annotated[bool, typer.Option("--decision", help="Add the decision values.")] = False,
    decimal: opt.Decimal = None,
    date_order: opt.Order = None,
    delimiter: opt.Delimiter = None,
    no_header: opt.NoHeader = False,
    zero_based: opt.ZeroBased = False,
    quiet: opt.Quiet = False,
    json: Annotated[
        bool, typer.Option("--json", help="One JSON object per row instead of CSV.")
    ] = False,
    debug: opt.Debug = False,
) -> None:
    """Predict the labels, or the numbers, of a file's rows, in their order.

    Columns are found by their names; others are ignored. Files may be larger than memory: rows are
    read, predicted and written a block at a time, and the output file appears when it is complete.

    Example: psvm predict iris.psvm new.csv --id number --output predictions.parquet
    """
    from psvm.cli.files.open_data import ReadOptions
    from psvm.cli.interrupts import telling_what_is_kept
    from psvm.cli.output import output_stream
    from psvm.cli.predict_blocks import predictions, rows_in
    from psvm.cli.predicted_files import is_of_another_format, is_table_file, write_predictions
    from psvm.cli.row_bar import rows_shown

    if json and is_table_file(output):
        raise typer.BadParameter(f"--json: {output} asks for another format; name it .ndjson")
    if is_of_another_format(output, json=json):
        raise typer.BadParameter(
            f"--output: predictions are not written as {output}; name it .csv, .tsv, .ndjson, "
            f".parquet, .arrow or .feather"
        )
    options = ReadOptions(delimiter, not no_header, zero_based, decimal, date_order)
    blocks = predictions(model, data, options, proba=proba, decision=decision, ids=ids or ())
    total = rows_in(data, options) if sys.stderr.isatty() and not quiet else None
    with telling_what_is_kept(output), output_stream(output) as stream:
        shown = rows_shown(blocks, total, output, quiet=quiet)
        rows = write_predictions(shown, stream, output, json=json)
    if output is not None and str(output) != "-" and not quiet and not json:
        sys.stderr.write(f"{rows} rows predicted: {output}\n")
