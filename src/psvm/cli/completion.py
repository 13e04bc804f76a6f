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
    data = context.params.get("data")
    if not data or str(data) == "-":
        return []
    from psvm.cli.files.open_data import ReadOptions, open_data

    options = ReadOptions(context.params.get("delimiter"), block_bytes=1 << 16)
    try:
        with open_data(Path(data), options) as file:
            names = getattr(file, "columns", None) or getattr(file, "feature_names", None) or []
    except (OSError, ValueError):
        return []
    return [name for name in names if name.startswith(incomplete)]
