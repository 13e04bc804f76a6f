"""Names of columns for the shell, from the file that is on the line already."""

from __future__ import annotations

from pathlib import Path

import typer


def column_names(context: typer.Context, incomplete: str) -> list[str]:
    """The columns of the data file whose names begin as what was typed.

    Parameters
    ----------
    context : typer.Context
        What of the line was understood so far.
    incomplete : str
        The word that is being typed.

    Returns
    -------
    list of str
        Empty where there is no file yet, or none that names columns: a shell that completes a line
        is no place for errors.
    """
    data = _data_on_the_line(context)
    if data is None or data == "-":
        return []
    from psvm.cli.files.open_data import ReadOptions, open_data

    options = ReadOptions(context.params.get("delimiter"), block_bytes=1 << 16)
    try:
        with open_data(Path(data).expanduser(), options) as file:
            names = getattr(file, "columns", None) or getattr(file, "feature_names", None) or []
    except (OSError, ValueError):
        return []
    return [name for name in names if name.startswith(incomplete)]


def _data_on_the_line(context: typer.Context) -> str | None:
    """The word that names the data file, None if it is not there yet."""
    if context.params.get("data") is not None:
        return str(context.params["data"])
    # An option whose value is being typed ends the parsing before arguments get their names.
    arguments = [one.name for one in context.command.params if one.param_type_name == "argument"]
    named = dict(zip(arguments, context.args, strict=False))
    return named.get("data")
