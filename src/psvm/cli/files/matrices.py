"""Matrices: files without column names, NPZ and LIBSVM, read a block of rows at a time."""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import IO, Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from psvm.cli.errors import DataError, listed
from psvm.cli.files.sources import Source
from psvm.cli.files.tables import row_place
from psvm.persistence.npy_header import check_npy_members
from psvm.rows.sparse_format import sound_sparse

# As scikit-learn's reader counts them.
_LARGEST_INDEX = 2**31 - 1


@dataclass(frozen=True)
class MatrixBlock:
    """Consecutive rows, dense or CSR, their labels if there are any, and where they are."""

    X: Any
    y: npt.NDArray[Any] | None
    place: Callable[[int], str]


class NpzFile:
    """NumPy's NPZ with arrays X and labels, or a CSR matrix as SciPy saves it with labels beside.

    Parameters
    ----------
    source : Source
        The file.
    block_cells : int
        Values read at a time.
    target : str
        Name of the array with the labels; it may be absent.
    """

    def __init__(self, source: Source, block_cells: int, *, target: str = "y") -> None:
        self.name = source.name
        self._block_cells = block_cells
        self._file = source.seekable()
        with self._opened() as file, zipfile.ZipFile(file) as archive:
            check_npy_members(archive)
        with self._opened() as file, np.load(file, allow_pickle=False) as arrays:
            self._names = list(arrays.files)
            self.sparse = "indptr" in self._names
            self._check_names(target)
            self._y = arrays[target] if target in self._names else None
            named = arrays["feature_names"] if "feature_names" in self._names else None
            if self.sparse:
                parts = tuple(arrays[part] for part in ("data", "indices", "indptr"))
                self._X = sound_sparse(sp.csr_matrix(parts, shape=tuple(arrays["shape"])))
        self.feature_names = None if named is None else [str(name) for name in named]

    @contextmanager
    def _opened(self) -> Iterator[IO[bytes]]:
        """The archive from its beginning; errors in it name the file."""
        try:
            if isinstance(self._file, io.BytesIO):
                self._file.seek(0)
                yield self._file
            else:
                with self._file.open("rb") as file:
                    yield file
        except DataError:
            raise
        except (
            zipfile.BadZipFile,
            zlib.error,
            EOFError,
            NotImplementedError,
            RuntimeError,
        ) as error:
            raise DataError(self.name, "the NPZ data is damaged or cut short") from error
        except ValueError as error:
            raise DataError(self.name, f"an array cannot be read: {error}") from error

    def _check_names(self, target: str) -> None:
        wanted = ["data", "indices", "shape"] if self.sparse else ["X"]
        if missing := [name for name in wanted if name not in self._names]:
            what = f"there is no array {listed(missing)} in it, only {listed(self._names)}"
            raise DataError(self.name, f"{what}; save it with numpy.savez(file, X=X, y=y)")
        if target != "y" and target not in self._names:
            raise DataError(self.name, f"no array {target!r} in it, only {listed(self._names)}")

    def blocks(self) -> Iterator[MatrixBlock]:
        """The rows in order; at least one block, even if empty."""
        start = 0
        for X in self._sparse_rows() if self.sparse else self._dense_rows():
            stop = start + X.shape[0]
            y = None if self._y is None else self._y[start:stop]
            yield MatrixBlock(X, y, partial(row_place, start))
            start = stop
        if self._y is not None and len(self._y) != start:
            what = f"{start} rows in X, but {len(self._y)} labels"
            raise DataError(self.name, what)

    def _sparse_rows(self) -> Iterator[Any]:
        size = max(1, self._block_cells * self._X.shape[0] // max(1, self._X.nnz))
        for start in range(0, max(1, self._X.shape[0]), size):
            yield self._X[start : start + size]

    def _dense_rows(self) -> Iterator[Any]:
        """Rows of X straight from the archive, so that X may be larger than memory."""
        with (
            self._opened() as file,
            zipfile.ZipFile(file) as archive,
            archive.open("X.npy") as member,
        ):
            if (found := _row_by_row(member)) is not None:
                (height, width), dtype = found
                size = max(1, self._block_cells // max(1, width))
                for start in range(0, max(1, height), size):
                    rows = min(size, height - start)
                    data = member.read(rows * width * dtype.itemsize)
                    yield self._checked(np.frombuffer(data, dtype=dtype).reshape(rows, width))
                return
        # It does not lie row by row.
        with self._opened() as file, np.load(file, allow_pickle=False) as arrays:
            yield self._checked(arrays["X"])

    def _checked(self, X: npt.NDArray[Any]) -> npt.NDArray[Any]:
        if X.ndim != 2 or X.dtype.kind not in "fiub":
            what = f"X must be a matrix of numbers, it is of shape {X.shape} and type {X.dtype}"
            raise DataError(self.name, what)
        return X if X.dtype == np.float32 else X.astype(np.float64, copy=False)


def _row_by_row(member: IO[bytes]) -> tuple[tuple[int, int], np.dtype[Any]] | None:
    """Shape and type of a stored array if it is a matrix whose rows follow each other."""
    readers = {
        (1, 0): np.lib.format.read_array_header_1_0,
        (2, 0): np.lib.format.read_array_header_2_0,
    }
    read = readers.get(np.lib.format.read_magic(member))
    if read is None:
        return None
    shape, fortran, dtype = read(member)
    return None if fortran or len(shape) != 2 or dtype.hasobject else ((shape[0], shape[1]), dtype)


class LibsvmFile:
    """LIBSVM's (svmlight's) text: a label, then ``index:value`` for what is not zero.

    Parameters
    ----------
    source : Source
        The file.
    zero_based : bool
        Whether the first feature is number 0; LIBSVM counts from 1.
    """

    sparse = True
    feature_names = None

    def __init__(self, source: Source, *, zero_based: bool = False) -> None:
        self.name = source.name
        self._source, self._zero_based = source, zero_based

    def blocks(self) -> Iterator[MatrixBlock]:
        """The rows in order; at least one block, even if empty. Widths differ between blocks."""
        rest, line = b"", 1
        for piece in self._source.pieces():
            text, _, rest = (rest + piece).rpartition(b"\n")
            if text:
                yield self._parse(text, line)
                line += text.count(b"\n") + 1
        yield self._parse(rest, line)

    def _parse(self, text: bytes, line: int) -> MatrixBlock:
        from sklearn.datasets import load_svmlight_file

        try:
            X, y = load_svmlight_file(io.BytesIO(text), zero_based=True)
        except (ValueError, OverflowError) as error:
            raise self._refusal(text, line) or DataError(self.name, str(error)) from error
        if not self._zero_based:
            if X.nnz and X.indices.min() == 0:
                raise self._refusal(text, line, first_index=1) or DataError(self.name, "index 0")
            X = X[:, 1:]

        def place(row: int) -> str:
            filled = (k for k, content in enumerate(_contents(text)) if content)
            return f"line {line + next(k for i, k in enumerate(filled) if i == row)}"

        return MatrixBlock(X, y, place)

    def _refusal(self, text: bytes, line: int, first_index: int = 0) -> DataError | None:
        """What is wrong in the first line that is."""
        for number, content in enumerate(_contents(text), line):
            try:
                indices = _feature_numbers(content)
            except ValueError:
                what = "not a label and index:value pairs, all numbers"
                return DataError(self.name, what, place=f"line {number}")
            if indices and max(indices) > _LARGEST_INDEX:
                what = f"features are numbered up to {_LARGEST_INDEX}, got {max(indices)}"
                return DataError(self.name, what, place=f"line {number}")
            if indices and min(indices) < first_index:
                what = "LIBSVM counts features from 1: if this file counts from 0, use --zero-based"
                return DataError(self.name, what, place=f"line {number}")
            if sorted(set(indices)) != indices:
                what = "the indices must increase along the line"
                return DataError(self.name, what, place=f"line {number}")
        return None


def _contents(text: bytes) -> Iterator[bytes]:
    """Lines without their comments."""
    return (row.partition(b"#")[0].strip() for row in text.split(b"\n"))


def _feature_numbers(content: bytes) -> list[int]:
    """Indices of one line; a ValueError if it is not one."""
    label, *pairs = content.split() or [b"0"]
    float(label)
    indices = []
    for pair in pairs:
        index, _, value = pair.partition(b":")
        float(value)
        if index != b"qid":
            indices.append(int(index))
    return indices
