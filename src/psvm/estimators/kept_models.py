"""Models that are kept from one prediction to the next.

To predict one row, what takes time is to check and pack the support vectors. A model is kept beside
its estimator, not in it: no copy, pickle or clone has it, and it goes with the estimator. It is
used as long as the estimator has the same attributes, and these the same contents, by a fingerprint
of their bytes (0.02 ms for 700 vectors of digits).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import scipy.sparse as sp

from psvm import _core
from psvm.rows.prediction import KernelModel

# Bytes of attributes up to which a model is kept: its packed vectors take as many again.
_MOST_BYTES = 2**25


@dataclass(frozen=True)
class _Kept:
    values: tuple[Any, ...]
    arrays: tuple[Any, ...]
    fingerprint: int
    model: KernelModel


_models: WeakKeyDictionary[Any, _Kept] = WeakKeyDictionary()


def kept_model(
    estimator: Any, values: tuple[Any, ...], arrays: Sequence[Any], make: Callable[[], KernelModel]
) -> KernelModel:
    """The model that ``make`` makes of these attributes, or made before they last changed.

    ``values`` are compared; ``arrays`` are to be the same, with the same contents.
    """
    parts = _parts_of(arrays)
    try:
        fingerprint, kept = _core.fingerprint(parts), _models.get(estimator)
    except TypeError:  # attributes that ``make`` will refuse or has to convert, or no hash
        return make()
    if (
        kept is not None
        and kept.fingerprint == fingerprint
        and kept.values == values
        and all(a is b for a, b in zip(kept.arrays, arrays, strict=True))
    ):
        return kept.model
    model = make()
    if sum(part.nbytes for part in parts) <= _MOST_BYTES:
        _models[estimator] = _Kept(values, tuple(arrays), fingerprint, model)
    return model


def forget(estimator: Any) -> None:
    """Let go of the model of an estimator whose attributes are replaced."""
    with suppress(TypeError):  # no hash: none was kept
        _models.pop(estimator, None)


def _parts_of(arrays: Sequence[Any]) -> list[Any]:
    """The arrays, and those that sparse ones consist of."""
    parts: list[Any] = []
    for array in arrays:
        if sp.issparse(array) and array.format == "csr":
            parts += [array.data, array.indices, array.indptr]
        else:
            parts.append(array)
    return parts
