"""Between a model in memory and what is written of it.

Objects are copied shallowly on the way, never changed. On the way out, callbacks are left behind
(they belong to the fit), the history becomes one JSON text, and the status of a fit its name, so
that files survive a change of its message. On the way in, states of older formats are brought up to
date, and every fitted psvm estimator is checked before it can reach compiled code.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from types import FunctionType, MethodType
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from psvm.persistence import container
from psvm.persistence.errors import ModelFileError, UnsupportedModelError
from psvm.persistence.soundness import check_sound
from psvm.rows.kernel import Kernel
from psvm.solvers.ledger import Status

State = dict[str, Any]


def _from_format_1(kind: str, state: State) -> State:
    """Classes have moved (`payload.MOVED`), and a PSVC remembers its solution by row of X.

    Before, it was by place of the kernel matrix, which a file does not tell: it is forgotten, and
    the next warm start begins at zero.
    """
    if kind == "PSVC":
        state.pop("_warm", None)
    return state


def _from_format_2(kind: str, state: State) -> State:
    """Weights of a LinearPSVC's pairs of three or more classes were called as those of classes."""
    pairs = state.get("multi_class") == "ovo" and np.size(state.get("classes_", ())) > 2
    if kind == "LinearPSVC" and pairs:
        for name in {"coef_", "intercept_"} & state.keys():
            state[f"pair_{name}"] = state.pop(name)
    return state


UPGRADES: dict[int, Callable[[str, State], State]] = {1: _from_format_1, 2: _from_format_2}
"""``UPGRADES[n]`` brings the attributes of one object of psvm from format n to n + 1.

It is given the name of the class and its attributes as they were written. A format without a step
is not readable any more, and the error says so.
"""

# What scikit-learn hangs on an estimator while callbacks listen to its fit.
_CALLBACKS = (
    "_skl_callbacks",
    "_skl_callbacks_to_teardown",
    "_parent_callback_ctx",
    "_callback_fit_ctx",
)


@dataclass(frozen=True)
class StoredStatus:
    """A `Status` by name."""

    name: str


def packed(model: Any) -> Any:
    """A copy of a model that shares its arrays and holds only what can be written."""

    def pack(kind: type, state: State, where: str) -> State:
        state = {name: value for name, value in state.items() if name not in _CALLBACKS}
        if not _is_of_psvm(kind):
            return state
        function = state.get("function") if kind is Kernel else state.get("kernel")
        if callable(function):
            raise UnsupportedModelError(
                f"{where}.kernel is a function, {_name(function)}: a file holds data, not code. "
                "Use a kernel by name, or kernel='precomputed' and pass "
                "kernel(X, X_train) to predict."
            )
        if isinstance(state.get("history_"), list):
            state["history_"] = json.dumps(state["history_"], default=_plain_number)
        return state

    def leaf(value: Any) -> Any:
        return StoredStatus(value.name) if isinstance(value, Status) else value

    return _copied(model, pack, leaf, "model", {})


def unpacked(model: Any, format_version: int) -> Any:
    """The model that was packed, from any readable format; its parts checked."""
    steps = upgrades_from(format_version)

    def unpack(kind: type, state: State, where: str) -> State:
        if _is_of_psvm(kind):
            for step in steps:
                state = step(kind.__name__, dict(state))
            if isinstance(state.get("history_"), str):
                state["history_"] = json.loads(state["history_"])
        check_sound(kind, state, where)
        return state

    def leaf(value: Any) -> Any:
        return Status[value.name] if isinstance(value, StoredStatus) else value

    return _copied(model, unpack, leaf, "model", {})


def upgrades_from(format_version: int) -> list[Callable[[str, State], State]]:
    """The steps from an older format to the present one, or an error that says why there are none.

    Parameters
    ----------
    format_version : int
        Format of the file.

    Returns
    -------
    list of callable
        Steps to apply in this order.
    """
    missing = [n for n in range(format_version, container.FORMAT_VERSION) if n not in UPGRADES]
    if missing:
        raise ModelFileError(
            f"Format {missing[-1]} of model files is not read any more (the present one is "
            f"{container.FORMAT_VERSION}). Load the model with the psvm that wrote it (`psvm info` "
            "tells which) and export it as JSON or ONNX, or fit it again."
        )
    return [UPGRADES[n] for n in range(format_version, container.FORMAT_VERSION)]


def _copied(
    value: Any,
    change: Callable[[type, State, str], State],
    leaf: Callable[[Any], Any],
    where: str,
    memo: dict[int, Any],
) -> Any:
    """The graph of objects below ``value`` again, with the attributes that ``change`` returns.

    Objects that occur twice stay one object. Arrays and other leaves are shared with the original.
    """
    if id(value) in memo:
        return memo[id(value)][1]

    def keep(copy: Any) -> Any:
        memo[id(value)] = (value, copy)  # the original too: its id must not be used again
        return copy

    def inner(item: Any, name: str) -> Any:
        return _copied(item, change, leaf, name, memo)

    kind = type(value)
    if kind in (list, tuple):
        items = [inner(item, f"{where}[{i}]") for i, item in enumerate(value)]
        return keep(kind(items))
    if kind is dict:
        return keep({key: inner(item, f"{where}[{key!r}]") for key, item in value.items()})
    if not _has_state(value):
        return leaf(value)
    copy = keep(object.__new__(kind))
    state = change(kind, vars(value), where)
    vars(copy).update({name: inner(item, f"{where}.{name}") for name, item in state.items()})
    return copy


def _has_state(value: Any) -> bool:
    """Whether it is an estimator, or another object of scikit-learn or psvm, with attributes."""
    if isinstance(value, type | FunctionType | MethodType | Status | StoredStatus | np.ndarray):
        return False
    package = type(value).__module__.partition(".")[0]
    known = package in ("sklearn", "psvm") or isinstance(value, BaseEstimator)
    return known and hasattr(value, "__dict__")


def _is_of_psvm(kind: type) -> bool:
    return kind.__module__.partition(".")[0] == "psvm"


def _name(function: Any) -> str:
    return str(getattr(function, "__qualname__", None) or type(function).__name__)


def _plain_number(value: Any) -> Any:
    """NumPy's numbers and arrays for JSON."""
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    return str(value)
