"""Bytes of a data file: from disk or standard input, compressed or not, and what format they are.

The content decides the format, not the name: ``-`` has no name, and names lie.
"""

from __future__ import annotations

import gzip
import io
import re
import signal
import sys
import zlib
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from psvm.cli.errors import DataError

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

_HEAD_BYTES = 1 << 16
_GZIP = b"\x1f\x8b"


class Format(Enum):
    """What a data file may be."""

    DELIMITED = "CSV or TSV"
    PARQUET = "Parquet"
    ARROW = "Arrow"
    ARROW_STREAM = "Arrow stream"
    NPZ = "NPZ"
    LIBSVM = "LIBSVM"


BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_MAGIC = {
    b"PAR1": Format.PARQUET,
    b"ARROW1": Format.ARROW,
    b"\xff\xff\xff\xff": Format.ARROW_STREAM,
    b"PK\x03\x04": Format.NPZ,
}
_NUMBER = rb"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_LIBSVM_LINE = re.compile(rb"\s*%b(?:\s+(?:qid|\d+):%b)*\s*(?:#.*)?" % (_NUMBER, _NUMBER))


class Source:
    """A file, or standard input for ``-``, opened for one reading.

    Parameters
    ----------
    path : Path
        Where it is.
    block_bytes : int
        How much is read at a time.
    """

    def __init__(self, path: Path, block_bytes: int) -> None:
        _let_ctrl_c_end_reads()
        self._block_bytes, self._head_bytes = block_bytes, min(_HEAD_BYTES, block_bytes)
        self.standard_input = str(path) == "-"
        self.name = "standard input" if self.standard_input else str(path)
        self.path: Path | None = None
        raw: BinaryIO = sys.stdin.buffer if self.standard_input else path.open("rb")
        self._opened = [] if self.standard_input else [raw]
        try:
            self._begin(raw, path)
        except BaseException:
            self.close()
            raise

    def _begin(self, raw: BinaryIO, path: Path) -> None:
        """Look at the first bytes and, if they say so, through the compression."""
        start = raw.read(len(_GZIP))
        whole: BinaryIO = io.BufferedReader(_Rejoined(start, raw))
        self._stream = gzip.GzipFile(fileobj=whole) if start == _GZIP else whole
        if not self.standard_input and start != _GZIP:
            self.path = path
        self.head = self._read(self._head_bytes)
        self._unread = self.head
        if not self.head.removeprefix(BYTE_ORDER_MARK).strip():
            raise DataError(self.name, "the file is empty")

    def close(self) -> None:
        """Close what was opened; standard input stays as it is."""
        for stream in self._opened:
            stream.close()

    @property
    def format(self) -> Format:
        """What the first bytes say."""
        for magic, found in _MAGIC.items():
            if self.head.startswith(magic):
                return found
        whole = self.head
        if len(whole) == self._head_bytes:  # the last line may be cut off
            whole = whole.rpartition(b"\n")[0] or whole.rpartition(b" ")[0]
        return Format.LIBSVM if _looks_like_libsvm(whole) else Format.DELIMITED

    def _read(self, size: int) -> bytes:
        try:
            return self._stream.read(size)
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise DataError(self.name, "the gzip data is damaged or cut short") from error

    def pieces(self) -> Iterator[bytes]:
        """All bytes, in order, ``block_bytes`` at a time."""
        piece = self._unread + self._read(self._block_bytes - len(self._unread))
        self._unread = b""
        while piece:
            yield piece
            piece = self._read(self._block_bytes)

    def seekable(self) -> Path | io.BytesIO:
        """For formats that are read from their end: the file itself, else all of it in memory."""
        return self.path if self.path is not None else io.BytesIO(b"".join(self.pieces()))


def _let_ctrl_c_end_reads() -> None:
    """Pipes may never say more, and polars has the system resume a read after Ctrl-C."""
    if hasattr(signal, "siginterrupt"):  # not on Windows
        signal.siginterrupt(signal.SIGINT, True)


class _Rejoined(io.RawIOBase):
    """A stream whose first bytes have been taken, put together again."""

    def __init__(self, start: bytes, rest: BinaryIO) -> None:
        self._start, self._rest = start, rest

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        room = memoryview(buffer).cast("B")
        given = self._start[: len(room)] or self._rest.read(len(room))
        self._start = self._start[len(given) :]
        room[: len(given)] = given
        return len(given)


def _looks_like_libsvm(head: bytes) -> bool:
    """Whether the first lines are ``label index:value ...``, some with a value."""
    lines = head.splitlines()[:20]
    lines = [line for line in lines if line.strip() and not line.startswith(b"#")]
    some = any(b":" in line.split(b"#")[0] for line in lines)
    return some and all(_LIBSVM_LINE.fullmatch(line) for line in lines)
