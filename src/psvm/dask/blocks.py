"""Partitions as blocks of rows: checked and described where they lie, on the workers."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.utils.validation import check_array

from psvm.estimators import validation as check
from psvm.rows.sparse_format import sound_sparse
from psvm.solvers.linear.summary import RowSummary, describe_rows

if TYPE_CHECKING:
    from collections.abc import Iterator

    from psvm.dask.targets import Target

Array = npt.NDArray[np.float64]

# Rows looked at for the centre and the size of the features, in all.
_LOOKED_AT = 2_000
# Rows and block pointers of a block beside its entries, in bytes.
_OVERHEAD = 200


@dataclass(frozen=True)
class Expected:
    """What every partition must agree with: the names of the columns, if these have any."""

    names: tuple[str, ...] | None
    estimator: str
    target: Target


@dataclass(frozen=True)
class Described:
    """What the client is told of a block."""

    number: int
    rows: int
    features: int
    sparse: bool
    stored: int
    largest: float
    nbytes: int
    some: Any  # a few of its rows
    target: Any  # what the target says of y and the weights


@dataclass(frozen=True)
class Block:
    """The rows of one partition, as the solver wants them."""

    number: int
    X: Any  # C-contiguous array or canonical CSR matrix, of float32 or float64
    y: npt.NDArray[Any]
    weight: Array
    described: Described | None = None

    @property
    def rows(self) -> int:
        """How many these are."""
        return int(self.X.shape[0])

    def __sizeof__(self) -> int:
        return int(_bytes_of(self.X) + self.y.nbytes + self.weight.nbytes + _OVERHEAD)


class _Named:
    """Stands for the estimator in checks that only want its name."""


def _estimator(name: str) -> Any:
    return type(name, (_Named,), {})()


@contextmanager
def naming(number: int) -> Iterator[None]:
    """An error inside names the partition."""
    try:
        yield
    except (ValueError, TypeError) as error:
        raise type(error)(f"partition {number}: {error}") from error


def check_partition(number: int, expected: Expected, X: Any, y: Any, weight: Any = None) -> Block:
    """One partition as a block, or an error that names it."""
    with naming(number):
        if isinstance(X, tuple | list):  # of a list of delayed (X, y) or (X, y, sample_weight)
            if y is not None or len(X) not in (2, 3):
                raise ValueError(
                    f"expected (X, y) or (X, y, sample_weight), got {type(X).__name__} with "
                    f"{len(X)} items."
                )
            X, y, weight = X[0], X[1], X[2] if len(X) == 3 else None
        _check_names(expected, X)
        _check_index(X, y)
        rows = check_array(
            sound_sparse(X),
            accept_sparse="csr",
            dtype=(np.float64, np.float32),
            order="C",
            ensure_all_finite=False,
            ensure_min_samples=0,
        )
        rows = check.canonical(rows)
        labels = expected.target.check(y)
        if labels.shape[0] != rows.shape[0]:
            raise ValueError(f"X has {rows.shape[0]} rows, y has {labels.shape[0]}.")
        weight = weight if rows.shape[0] else None  # of no rows scikit-learn wants to hear nothing
        return Block(number, rows, labels, check.check_weights(weight, rows.shape[0]))


def _check_names(expected: Expected, X: Any) -> None:
    columns = getattr(X, "columns", None)
    if columns is None:
        return
    names = tuple(str(name) for name in columns)
    if expected.names is not None and names != expected.names:
        raise ValueError(
            f"the columns must be {list(expected.names)!r} as in the other partitions, got "
            f"{list(names)!r}."
        )


def _check_index(X: Any, y: Any) -> None:
    """Frames that lie side by side must be of the same rows."""
    one, other = getattr(X, "index", None), getattr(y, "index", None)
    if one is None or other is None or callable(one) or callable(other):
        return
    if len(one) == len(other) and not one.equals(other):
        raise ValueError("X and y have different indices; align them before the fit.")


def describe(block: Block, expected: Expected, blocks: int) -> Described:
    """What the client needs to know of one of so many blocks."""
    X = block.X
    with naming(block.number):
        largest = check.check_entries(X, _estimator(expected.estimator)) if block.rows else 0.0
        step = max(1, block.rows * blocks // _LOOKED_AT)
        return Described(
            number=block.number,
            rows=block.rows,
            features=int(X.shape[1]),
            sparse=sp.issparse(X),
            stored=int(X.nnz) if sp.issparse(X) else int(X.size),
            largest=largest,
            nbytes=int(block.__sizeof__()),
            some=X[::step].copy(),
            target=expected.target.describe(block.y, block.weight),
        )


def described_block(expected: Expected, blocks: int, number: int, *partition: Any) -> Block:
    """One of so many partitions as a block that knows what the client is to be told of it."""
    block = check_partition(number, expected, *partition)
    return replace(block, described=describe(block, expected, blocks))


def descriptions(*blocks: Block) -> list[Described | None]:
    """What the client is told of some blocks."""
    return [block.described for block in blocks]


def as_sparse(block: Block) -> Block:
    """The block with its rows as a CSR matrix, where others are."""
    X = block.X if sp.issparse(block.X) else sp.csr_matrix(block.X)
    return Block(block.number, X, block.y, block.weight)


def summary_of(described: Sequence[Described], *, centred: bool) -> RowSummary:
    """Shape and size of all rows, from a look at some of them."""
    full = [one for one in described if one.rows]
    some = [one.some for one in full]
    if any(one.sparse for one in full):
        some = [sp.csr_matrix(part) for part in some]
    return describe_rows(some, sum(one.rows for one in full), in_memory=False, centred=centred)


def _bytes_of(X: Any) -> int:
    if sp.issparse(X):
        return int(X.data.nbytes + X.indices.nbytes + X.indptr.nbytes)
    return int(X.nbytes)
