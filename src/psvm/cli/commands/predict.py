"""``psvm predict``: labels of new rows."""

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
            help="CSV file of the predictions (.tsv: with tabs).",
            show_default="standard output",
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
    """Predict the labels of a file's rows, in their order.

    Columns are found by their names; others are ignored. Files may be larger than memory: rows are
    read, predicted and written a block at a time, and the output file appears when it is complete.

    Example: psvm predict iris.psvm new.csv --decision --output predictions.csv
    """
    from psvm.cli.files.open_data import ReadOptions
    from psvm.cli.output import output_stream
    from psvm.cli.predict_blocks import predictions

    options = ReadOptions(delimiter, not no_header, zero_based, decimal, date_order)
    blocks = predictions(model, data, options, proba=proba, decision=decision)
    separator = "\t" if output is not None and output.suffix == ".tsv" else ","
    rows = 0
    with output_stream(output) as stream:
        for number, frame in enumerate(blocks):
            if json:
                stream.write(frame.write_ndjson().encode())
            else:
                text = frame.write_csv(separator=separator, include_header=number == 0)
                stream.write(text.encode())
            rows += frame.height
    if output is not None and str(output) != "-" and not quiet and not json:
        sys.stderr.write(f"{rows} rows predicted: {output}\n")
