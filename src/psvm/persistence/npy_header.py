"""Arrays of NumPy's format that are as large as they say.

A header of 100 bytes can declare terabytes, for which NumPy would ask the system before it reads
the first value.
"""

from __future__ import annotations

import math
from typing import IO
from zipfile import ZipFile

import numpy as np

_READERS = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}


def check_npy_members(archive: ZipFile) -> None:
    """Refuse an archive with a ``.npy`` member that declares more values than it holds."""
    for info in archive.infolist():
        if info.filename.endswith(".npy"):
            with archive.open(info) as member:
                _check_length(member, info.file_size, info.filename)


def _check_length(member: IO[bytes], size: int, name: str) -> None:
    version = np.lib.format.read_magic(member)
    if version not in _READERS:
        raise ValueError(f"{name} is of NumPy's format {version}, which psvm does not read")
    shape, _, dtype = _READERS[version](member)
    declared, stored = math.prod(shape) * dtype.itemsize, size - member.tell()
    if min(shape, default=0) < 0 or (declared > stored and not dtype.hasobject):
        raise ValueError(f"{name} declares {declared} bytes of values and has {stored}")
