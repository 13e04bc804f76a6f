"""Predictions as a file: the end of its name says the format."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import IO, Any

import polars as pl

_GZIPPED = ".gz"
_SEPARATORS = {".tsv": "\t"}
# Formats that are written at their end, so that all predictions are held until then.
_WHOLE: dict[str, Callable[[pl.DataFrame, IO[bytes]], Any]] = {
    ".parquet": pl.DataFrame.write_parquet,
    ".arrow": pl.DataFrame.write_ipc,
    ".feather": pl.DataFrame.write_ipc,
    ".ipc": pl.DataFrame.write_ipc,
}
_LINES = (".ndjson", ".jsonl")
# CSV under such a name would be opened by a program that cannot read it.
_OTHERS = frozenset(
    [
        ".json",
        ".xlsx",
        ".xls",
        ".ods",
        ".npz",
        ".npy",
        ".pkl",
        ".html",
        ".onnx",
        ".psvm",
        ".zip",
        ".bz2",
        ".xz",
        ".zst",
        ".orc",
        ".avro",
        ".h5",
        ".db",
        ".sqlite",
    ]
)


def is_table_file(path: Path | None) -> bool:
    """Whether the name asks for a format that is not text."""
    return path is not None and path.suffix.lower() in _WHOLE


def is_of_another_format(path: Path | None, *, json: bool) -> bool:
    """Whether the name asks for a format that predictions are not written in."""
    suffix = "" if path is None else path.suffix.lower()
    return suffix in _OTHERS and not (json and suffix == ".json")


def write_predictions(
    frames: Iterable[pl.DataFrame], stream: IO[bytes], path: Path | None, *, json: bool
) -> int:
    """Write predictions as they come.

    Parameters
    ----------
    frames : iterable of DataFrame
        At least one, all with the same columns.
    stream : binary file
        Where they go.
    path : Path or None
        Its name: Parquet, Arrow, JSON lines, TSV or else CSV, the last three also gzipped.
    json : bool
        One JSON object per row, whatever the name.

    Returns
    -------
    int
        The number of rows.
    """
    suffixes = [] if path is None else [suffix.lower() for suffix in path.suffixes]
    if is_table_file(path):
        table = pl.concat(list(frames))
        _WHOLE[suffixes[-1]](table, stream)
        return table.height
    if suffixes[-1:] == [_GZIPPED]:
        with gzip.GzipFile(fileobj=stream, mode="wb", mtime=0) as packed:
            return _write_text(frames, packed, "".join(suffixes[-2:-1]), json=json)
    return _write_text(frames, stream, "".join(suffixes[-1:]), json=json)


def _write_text(frames: Iterable[pl.DataFrame], stream: Any, suffix: str, *, json: bool) -> int:
    rows = 0
    for number, frame in enumerate(frames):
        if json or suffix in _LINES:
            text = frame.write_ndjson()
        else:
            separator = _SEPARATORS.get(suffix, ",")
            text = frame.write_csv(separator=separator, include_header=number == 0)
        stream.write(text.encode())
        rows += frame.height
    return rows
