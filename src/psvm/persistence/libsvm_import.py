"""LIBSVM's text models read into a PSVC or PSVR; `libsvm_export` has the format."""

from __future__ import annotations

import os
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from psvm.estimators.svc import PSVC
from psvm.estimators.svr import PSVR
from psvm.mathematics.multiclass import class_pairs, pack_one_vs_one
from psvm.persistence.errors import ModelFileError
from psvm.persistence.libsvm_export import LIBSVM_NAMES
from psvm.rows.kernel import Kernel, facts_of
from psvm.rows.sizes import MOSTLY_ZERO

Array = npt.NDArray[np.float64]

_KERNELS = {theirs: ours for ours, theirs in LIBSVM_NAMES.items()}

_CLASSIFIERS, _REGRESSORS = ("c_svc", "nu_svc"), ("epsilon_svr", "nu_svr")

# LIBSVM's whole numbers have 32 bits.
_LARGEST = 2**31 - 1


def read_libsvm(path: str | os.PathLike[str], *, n_features: int | None = None) -> PSVC | PSVR:
    """Read a model that LIBSVM wrote (``svm-train``, its Python package, or `write_libsvm`).

    Parameters
    ----------
    path : path-like
        A text model of type c_svc, nu_svc, epsilon_svr or nu_svr.
    n_features : int or None, default=None
        Number of features; None takes the largest index of a support vector. Give it where the
        last features are 0 in all of them.

    Returns
    -------
    PSVC or PSVR
        A classifier that predicts, with ``p=1`` and sorted integer ``classes_``, or a regressor
        with ``p=1``. The file does not hold C or epsilon, nor the objective: ``C`` and ``epsilon``
        are the defaults, ``dual_gap_`` and the objectives are NaN,
        ``status_`` and ``history_`` are empty. ``support_`` numbers the support vectors as they
        stand here, except for a precomputed kernel, where it has the rows' own numbers. Estimates
        of probability in the file are ignored.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ModelFileError
        If it is not such a model, with the line that is wrong.
    """
    path = Path(path)
    try:
        lines = path.read_text(encoding="ascii").splitlines()
    except FileNotFoundError:
        raise FileNotFoundError(
            f"There is no file {path}; check the name and the folder."
        ) from None
    except UnicodeDecodeError as error:
        raise ModelFileError(f"{path} is not a text model of LIBSVM: it is not text.") from error
    return _Reader(path, lines).model(n_features)


class _Reader:
    """The lines of a text model, and errors that say which of them is wrong."""

    def __init__(self, path: Path, lines: list[str]) -> None:
        self._path, self._lines = path, lines
        self._number = 0
        self._head: dict[str, list[str]] = {}

    def model(self, n_features: int | None) -> PSVC | PSVR:
        """The classifier or regressor."""
        self._read_head()
        kernel = self._kernel()
        k, total = self._integers("nr_class", 1)[0], self._integers("total_sv", 1)[0]
        if self._head["svm_type"][0] in _REGRESSORS:
            if k != 2 or total < 0:
                raise self._wrong(f"a regressor has nr_class 2, got {k}")
            (rho_of_all,) = self._floats("rho", 1)
            coef, vectors = self._read_vectors(2, total)
            placed = self._placed(vectors, kernel, n_features)
            return _regressor(kernel, rho_of_all, coef, placed)
        if k < 2 or total < 0:
            raise self._wrong(f"expected at least two classes, got nr_class {k}")
        labels, counts = self._integers("label", k), self._integers("nr_sv", k)
        rho = self._floats("rho", k * (k - 1) // 2)
        if len(set(labels)) != k or min(counts) < 0 or sum(counts) != total:
            raise self._wrong("`label`, `nr_sv` and `total_sv` contradict each other")
        coef, vectors = self._read_vectors(k, total)
        return _classifier(
            kernel, labels, counts, rho, coef, self._placed(vectors, kernel, n_features)
        )

    def _read_head(self) -> None:
        if not self._lines or self._lines[0].split()[:1] != ["svm_type"]:
            raise ModelFileError(
                f"{self._path} is not a text model of LIBSVM: it does not begin with `svm_type`."
            )
        for line in self._lines:
            self._number += 1
            name, *values = line.split() or [""]
            if name == "SV":
                return
            self._head[name] = values
        raise self._wrong("the file ends before `SV`; it is truncated")

    def _kernel(self) -> Kernel:
        kind = self._head["svm_type"]
        if len(kind) != 1 or kind[0] not in (*_CLASSIFIERS, *_REGRESSORS):
            known = ", ".join((*_CLASSIFIERS, *_REGRESSORS))
            raise self._wrong(f"`svm_type` must be one of {known}, got {' '.join(kind)!r}")
        theirs = self._head.get("kernel_type", [""])[0:1]
        if not theirs or theirs[0] not in _KERNELS:
            raise self._wrong(f"`kernel_type` must be one of {', '.join(_KERNELS)}, got {theirs}")
        ours = _KERNELS[theirs[0]]
        parameters = facts_of(ours).parameters
        return Kernel(
            ours,
            self._floats("gamma", 1)[0] if "gamma" in parameters else 1.0,
            self._floats("coef0", 1)[0] if "coef0" in parameters else 0.0,
            self._integers("degree", 1)[0] if "degree" in parameters else 3,
        )

    def _read_vectors(self, k: int, total: int) -> tuple[Array, sp.csr_matrix]:
        """Coefficients of shape (k - 1, total), and the vectors with LIBSVM's own indices."""
        coef = np.empty((k - 1, total))
        data: list[float] = []
        indices: list[int] = []
        indptr = [0]
        rows = self._lines[self._number :]
        if len(rows) < total or any(row.strip() for row in rows[total:]):
            raise self._wrong(f"expected {total} support vectors, got {len(rows)} lines")
        for s, line in enumerate(rows[:total]):
            self._number += 1
            words = line.split()
            try:
                coef[:, s] = [float(word) for word in words[: k - 1]]
                entries = [word.split(":") for word in words[k - 1 :]]
                found = [int(index) for index, _ in entries]
                data.extend(float(value) for _, value in entries)
            except ValueError as error:
                raise self._wrong(f"expected {k - 1} numbers and index:value ({error})") from error
            if any(a >= b for a, b in pairwise([-1, *found, _LARGEST])):
                raise self._wrong("indices must be ascending and from 0 to 2^31 - 2")
            indices.extend(found)
            indptr.append(len(indices))
        width = max(indices, default=0) + 1
        if not (np.isfinite(coef).all() and np.isfinite(data).all()):
            raise self._wrong("a number is not finite")
        return coef, sp.csr_matrix((data, indices, indptr), shape=(total, width))

    def _placed(self, vectors: sp.csr_matrix, kernel: Kernel, n_features: int | None) -> Any:
        """The support vectors with columns from 0; of a precomputed kernel the row numbers."""
        first = vectors[:, :1].toarray().ravel()
        if kernel.function == "precomputed":
            numbers = first.astype(np.int64) - 1
            needed = int(numbers.max(initial=0)) + 1
            if (numbers < 0).any() or (numbers + 1 != first).any():
                raise self._wrong("a precomputed kernel needs the row number 0:i, i >= 1")
        elif first.any():
            raise self._wrong("features are numbered from 1, got index 0")
        else:
            needed = vectors.shape[1] - 1
        if n_features is not None and n_features < needed:
            raise ModelFileError(
                f"{self._path} has {needed} features, got n_features={n_features}."
            )
        wanted = n_features if n_features is not None else max(needed, 1)
        if kernel.function == "precomputed":
            return numbers, wanted
        vectors = sp.csr_matrix(vectors[:, 1:])
        vectors.resize(vectors.shape[0], wanted)
        filled = vectors.nnz / max(vectors.shape[0] * wanted, 1)
        return vectors if filled < MOSTLY_ZERO else vectors.toarray()

    def _floats(self, name: str, count: int) -> list[float]:
        try:
            values = [float(word) for word in self._head[name]]
        except (KeyError, ValueError):
            values = []
        if len(values) != count or not np.isfinite(values).all():
            raise self._wrong(f"`{name}` must have {count} numbers, got {self._head.get(name)}")
        return values

    def _integers(self, name: str, count: int) -> list[int]:
        values = self._floats(name, count)
        if any(value != int(value) or abs(value) > _LARGEST for value in values):
            raise self._wrong(f"`{name}` must have whole numbers, got {self._head[name]}")
        return [int(value) for value in values]

    def _wrong(self, what: str) -> ModelFileError:
        return ModelFileError(f"{self._path}, line {self._number}: {what}.")


def _classifier(
    kernel: Kernel,
    labels: list[int],
    counts: list[int],
    rho: list[float],
    coef: Array,
    vectors: Any,
) -> PSVC:
    """A fitted PSVC from LIBSVM's arrays, whose labels may be in any order."""
    k = len(labels)
    order = np.argsort(labels)
    starts = np.cumsum([0, *counts])
    rows_of = [np.arange(starts[i], starts[i + 1]) for i in range(k)]
    by_class = np.concatenate([rows_of[i] for i in order]).astype(np.intp)
    pair = {both: t for t, both in enumerate(class_pairs(k))}
    duals, intercept = [], []
    for a, b in class_pairs(k):
        i, j = int(order[a]), int(order[b])
        low, high = min(i, j), max(i, j)
        # LIBSVM's pair is positive for the label it names first.
        sign = 1.0 if i == low else -1.0
        duals.append(
            sign
            * np.concatenate(
                [coef[_row_against(i, j), rows_of[i]], coef[_row_against(j, i), rows_of[j]]]
            )
        )
        intercept.append(-sign * rho[pair[low, high]])
    sorted_counts = [counts[i] for i in order]
    packed = pack_one_vs_one(duals, sorted_counts)
    if k == 2:  # ours is positive for the second class
        packed, intercept = -packed, [-intercept[0]]

    model = PSVC(
        p=1.0,
        kernel=str(kernel.function),
        degree=kernel.degree,
        gamma=kernel.gamma,
        coef0=kernel.coef0,
        decision_function_shape="ovr",
    )
    model.classes_ = np.array(labels)[order]
    model.class_weight_ = np.ones(k)
    _set_sums(model, kernel, packed, intercept, sorted_counts, vectors, by_class)
    return model


def _regressor(kernel: Kernel, rho: float, coef: Array, vectors: Any) -> PSVR:
    """A fitted PSVR from LIBSVM's arrays."""
    model = PSVR(
        p=1.0,
        kernel=str(kernel.function),
        degree=kernel.degree,
        gamma=kernel.gamma,
        coef0=kernel.coef0,
    )
    m = coef.shape[1]
    _set_sums(model, kernel, coef, [-rho], [m], vectors, np.arange(m))
    return model


def _set_sums(
    model: PSVC | PSVR,
    kernel: Kernel,
    coef: Array,
    intercept: list[float],
    counts: list[int],
    vectors: Any,
    order: npt.NDArray[np.intp],
) -> None:
    """Fitted attributes of sums over support vectors, whose fit nobody knows."""
    n_problems, m = len(intercept), order.size
    model.dual_coef_ = coef
    model.intercept_ = np.array(intercept) + 0.0
    model.n_support_ = np.array(counts, dtype=np.int32)
    if kernel.function == "precomputed":
        numbers, n_features = vectors
        model.support_ = numbers[order].astype(np.int32)
        model.support_vectors_ = np.empty((0, 0))
    else:
        n_features = vectors.shape[1]
        model.support_ = np.arange(m, dtype=np.int32)
        model.support_vectors_ = vectors[order]
    model._kernel = kernel
    model.n_features_in_ = int(n_features)
    model.shape_fit_ = (m, int(n_features))
    model.n_iter_ = np.zeros(n_problems, dtype=np.int32)
    for name in ("dual_gap_", "primal_objective_", "dual_objective_"):
        setattr(model, name, np.full(n_problems, np.nan))
    model.status_, model.history_ = [], []


def _row_against(own: int, other: int) -> int:
    """Row of a class's coefficients that belongs to the pair with another class."""
    return other - 1 if own < other else other
