"""What is finished, kept in a folder so that a run can go on where it stopped.

Cells of the tables are lines of ``cells.jsonl``, appended as they finish; figure data and bounds
are one JSON file each. Everything carries the version of psvm and of this format: what another
version computed is computed again.
"""

from __future__ import annotations

import json
import os
import tempfile
from importlib.metadata import version
from pathlib import Path
from typing import Any

FORMAT = 1
"""Raise it when a finished row means something else than before."""

Row = dict[str, Any]


def write_atomically(path: Path, content: str | bytes) -> Path:
    """Write a file so that a reader sees the old content or the new, never a half.

    Parameters
    ----------
    path : Path
        File to write; its folder must exist.
    content : str or bytes
        Text is written as UTF-8.

    Returns
    -------
    Path
        ``path``.
    """
    data = content.encode("utf-8") if isinstance(content, str) else content
    # In the same folder: a rename is atomic only within one file system.
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.chmod(name, _mode_of_new_files())
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    return path


def _mode_of_new_files() -> int:
    """Permissions that ``open`` would give; a temporary file is readable by its owner only."""
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


class CellStore:
    """Finished cells of the tables, by key.

    Parameters
    ----------
    path : Path
        The file, created with the first cell.

    Attributes
    ----------
    rows : dict of str to dict
        The finished rows of this version.
    warnings : dict of str to list of str
        What a cell warned of while it ran, for those that did.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.rows: dict[str, Row] = {}
        self.warnings: dict[str, list[str]] = {}
        if path.exists():
            self._read()

    def add(self, key: str, row: Row, warnings: list[str] | None = None) -> None:
        """Keep a finished row, in memory and at once on disk.

        Parameters
        ----------
        key : str
            Names the cell among all tables.
        row : dict
            Values that JSON can hold.
        warnings : list of str or None
            Messages to keep with it.
        """
        record = {**_stamp(), "key": key, "row": row, "warnings": warnings or []}
        line = json.dumps(record, ensure_ascii=False) + "\n"
        # One write in append mode: two runs in one folder mix lines, not letters.
        with open(self.path, "ab", buffering=0) as file:
            file.write(line.encode("utf-8"))
        self._keep(record)

    def _read(self) -> None:
        data = self.path.read_bytes()
        whole = data.rfind(b"\n") + 1
        if whole < len(data):
            # A run that was killed while it wrote: without this the next line would be glued on.
            with open(self.path, "r+b") as file:
                file.truncate(whole)
        for line in data[:whole].splitlines():
            try:
                record = json.loads(line)
                if _is_current(record):
                    self._keep(record)
            except (ValueError, KeyError, TypeError):
                continue  # a damaged line is a cell to compute again

    def _keep(self, record: dict[str, Any]) -> None:
        key = str(record["key"])
        self.rows[key] = dict(record["row"])
        self.warnings.pop(key, None)
        if record["warnings"]:
            self.warnings[key] = [str(text) for text in record["warnings"]]


def save_result(path: Path, data: Any, *, quick: bool) -> Path:
    """Keep the data of a figure or of the bounds.

    Parameters
    ----------
    path : Path
        The JSON file.
    data : object
        What JSON can hold.
    quick : bool
        Whether a quick run made it.

    Returns
    -------
    Path
        ``path``.
    """
    return write_atomically(path, json.dumps({**_stamp(), "quick": quick, "data": data}))


def load_result(path: Path, *, quick: bool) -> Any | None:
    """What :func:`save_result` kept, if it will do.

    Parameters
    ----------
    path : Path
        The JSON file.
    quick : bool
        Whether a quick result is enough. A full one always is.

    Returns
    -------
    object or None
        The data; None if there is no file, or one of another version, or a quick one where a full
        one is asked for.
    """
    try:
        record = json.loads(path.read_bytes())
        if _is_current(record) and (quick or not record["quick"]):
            return record["data"]
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        pass
    return None


def _stamp() -> dict[str, Any]:
    return {"format": FORMAT, "version": version("psvm")}


def _is_current(record: dict[str, Any]) -> bool:
    return {name: record[name] for name in ("format", "version")} == _stamp()
