"""Files that appear whole or not at all."""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """Open a file for writing that takes its name only when it is complete.

    What is written goes to a hidden file in the same folder. At the end of the block it is flushed
    to the disk and renamed, so a reader sees the old content or the new, never a half; if the block
    raises (or the disk is full) the old file stays as it was and the hidden one is removed.

    An existing file keeps its permissions, a new one gets those that ``open`` would give. A
    symbolic link stays a link: the file it points to is replaced. What is not a regular file (a
    pipe, ``/dev/stdout``) is written to directly.

    Parameters
    ----------
    path : path-like
        The file to write; its folder must exist.

    Yields
    ------
    file : binary file
    """
    target = Path(os.path.realpath(path))
    mode = _mode_of(target)
    if mode is not None and not stat.S_ISREG(mode):
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(f"{path} is a folder; give the name of a file.")
        with open(target, "wb") as direct:
            yield direct
        return
    if not target.parent.is_dir():
        raise FileNotFoundError(f"The folder {target.parent} of {path} does not exist; create it.")
    hidden = target.with_name(f".{target.name}.{secrets.token_hex(6)}.part")
    # Not tempfile: its files are readable by their owner only.
    descriptor = os.open(
        hidden, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666
    )
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if mode is not None:
            os.chmod(hidden, stat.S_IMODE(mode))
        os.replace(hidden, target)
    except BaseException:
        with suppress(OSError):
            hidden.unlink()
        raise
    _flush_folder(target.parent)


def _mode_of(path: Path) -> int | None:
    """Type and permissions of a file, None if there is none."""
    try:
        return path.stat().st_mode
    except FileNotFoundError:
        return None


def _flush_folder(folder: Path) -> None:
    """Make a rename last through a power failure, where the system can."""
    with suppress(OSError):  # Windows, and some network file systems, cannot
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
