"""Where results go: standard output, or a file that appears whole or not at all."""

from __future__ import annotations

import errno
import io
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO


@contextmanager
def output_stream(path: Path | None) -> Iterator[IO[bytes]]:
    """A stream for results.

    Parameters
    ----------
    path : Path or None
        A file, which gets its name when it is complete; None or ``-`` is standard output.

    Yields
    ------
    binary file
    """
    if path is None or str(path) == "-":
        with about(Path("standard output")), _standard_output() as stream:
            yield stream
        return
    from psvm.persistence.atomic import replacing

    with about(path), replacing(path) as stream:
        yield stream


@contextmanager
def _standard_output() -> Iterator[IO[bytes]]:
    """Standard output, with a buffer even under PYTHONUNBUFFERED, where a write may be partial."""
    binary = sys.stdout.buffer
    if not isinstance(binary, io.RawIOBase):
        yield binary
        binary.flush()
        return
    buffered = io.BufferedWriter(binary)
    try:
        yield buffered
        buffered.flush()
    finally:
        buffered.detach()


@contextmanager
def about(path: Path) -> Iterator[None]:
    """Errors of writing that name no file, or a temporary one, name ``path``."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        hidden = str(error.filename or "").endswith(".part")
        if error.errno is None or not (error.filename is None or hidden):
            raise
        raise OSError(error.errno, error.strerror, str(path)) from error


def check_can_write(path: Path) -> None:
    """Raise now if a file could not be written there later, after the work.

    Parameters
    ----------
    path : Path
        Where a result is to be.
    """
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, "is a folder: name a file in it", str(path))
    if path.exists() and not path.is_file():
        return
    folder = Path(os.path.realpath(path)).parent
    if not folder.is_dir():
        raise FileNotFoundError(errno.ENOENT, f"there is no folder {folder}", str(path))
    try:
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise OSError(error.errno, f"cannot write: {error.strerror}", str(path)) from error
