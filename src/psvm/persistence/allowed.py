"""What a model file may contain: an explicit list of types, checked before anything is made.

skops writes a model as a tree of nodes in ``schema.json``. A node says by which *loader* it is read
and names a class. Every node must be on the list below, whatever else the file holds. The list is
built from modules named here; a name in a file never causes an import.

What can be on the list are classes whose objects are made without running their constructor
(estimators, dataclasses, splitters), arrays, plain Python values, and score functions of
scikit-learn. Functions of other places, bound methods, partial functions, operators and trees
(whose indices scikit-learn does not check) are not.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, is_dataclass
from functools import cache
from importlib import import_module
from inspect import isclass
from pkgutil import iter_modules
from typing import Any

import numpy as np

from psvm.persistence.payload import nodes_of

# Parts of psvm that no fitted model has anything of; the front ends must not even be imported.
_NOT_IN_MODELS = {
    "_core",
    "bounds",
    "cli",
    "data",
    "explaining",
    "paper",
    "persistence",
    "plotting",
    "solvers",
}

# Packages of scikit-learn whose public estimators and splitters may be part of a model.
_SKLEARN = (
    "calibration",
    "compose",
    "decomposition",
    "feature_extraction",
    "feature_extraction.text",
    "feature_selection",
    "impute",
    "kernel_approximation",
    "model_selection",
    "multiclass",
    "multioutput",
    "pipeline",
    "preprocessing",
    "random_projection",
)
# Classes that fitted estimators of these packages hold, by module; some versions lack some.
_SKLEARN_INTERNAL = {
    "sklearn.calibration": ("_CalibratedClassifier", "_SigmoidCalibration", "_TemperatureScaling"),
    "sklearn.isotonic": ("IsotonicRegression",),
    "sklearn.metrics._scorer": ("_Scorer", "_PassthroughScorer", "_MultimetricScorer"),
    "sklearn.compose": ("make_column_selector",),
    "sklearn.utils._metadata_requests": ("MetadataRequest", "MethodMetadataRequest"),
}
# Of SelectKBest and the like.
_SCORE_FUNCTIONS = (
    "chi2",
    "f_classif",
    "f_regression",
    "mutual_info_classif",
    "mutual_info_regression",
    "r_regression",
)

# Loaders of plain values, and the classes each may name.
_PLAIN = {
    "DictNode": {"builtins.dict", "collections.OrderedDict"},
    "ListNode": {"builtins.list"},
    "TupleNode": {"builtins.tuple"},
    "SetNode": {"builtins.set"},
    "SliceNode": {"builtins.slice"},
    "DefaultDictNode": {"collections.defaultdict"},
    "MaskedArrayNode": {"numpy.ma.MaskedArray", "numpy.ma.core.MaskedArray"},
    "DTypeNode": {"numpy.dtype"},
    "RandomStateNode": {"numpy.random.mtrand.RandomState"},
    "SparseMatrixNode": {
        f"scipy.sparse._{kind}.{kind}_{form}"
        for kind in ("csr", "csc", "coo")
        for form in ("matrix", "array")
    },
}
_PRIMITIVES = {f"builtins.{name}" for name in ("int", "float", "str", "bool", "NoneType", "object")}


@dataclass(frozen=True)
class AllowList:
    """Names of types by the loader that may make them."""

    by_loader: dict[str, frozenset[str]]

    @property
    def names(self) -> list[str]:
        """All names, for skops's own check."""
        return sorted(set().union(*self.by_loader.values()))

    def refused(self, schema: Any) -> list[str]:
        """The types in a parsed ``schema.json`` that are not on the list, sorted."""
        found = set()
        for node in nodes_of(schema):
            loader = node["__loader__"]
            name = f"{node.get('__module__')}.{node.get('__class__')}"
            if loader == "JsonNode":  # its content is JSON, whatever its class
                continue
            if name not in self.by_loader.get(loader, frozenset()):
                found.add(name if loader in self.by_loader else f"{name} (by {loader})")
        return sorted(found)


def allow_list(trusted: Sequence[type] = ()) -> AllowList:
    """The types that a model file may contain.

    Parameters
    ----------
    trusted : sequence of type
        Further classes, for instance a transformer of one's own.

    Returns
    -------
    AllowList
    """
    for cls in trusted:
        if not isclass(cls):
            raise TypeError(f"`trusted` must hold classes, got {cls!r}.")
    objects = _object_names() | {name_of(cls) for cls in trusted}
    dtypes = frozenset(name_of(kind) for kind in set(np.sctypeDict.values()))
    by_loader = {loader: frozenset(names) for loader, names in _PLAIN.items()}
    by_loader["ObjectNode"] = objects
    by_loader["NdArrayNode"] = dtypes | {"numpy.ndarray"}
    by_loader["TypeNode"] = dtypes | _PRIMITIVES | objects
    by_loader["FunctionNode"] = _function_names()
    return AllowList(by_loader)


def skops_types() -> list[str]:
    """The types that a skops archive of psvm's models may name and that skops does not know.

    Returns
    -------
    list of str
        For ``skops.io.load(path, trusted=skops_types())``: psvm's estimators and their parts, and
        what scikit-learn's estimators around them hold (scorers, calibrators, isotonic curves).
        Objects of all of them are made of data alone.

    See Also
    --------
    psvm.load : Reads a file with the same list, and checks that its arrays fit together.
    """
    return [name for name in allow_list().names if name.startswith(("psvm.", "sklearn."))]


def name_of(item: Any) -> str:
    """Where a class or function is defined, as skops writes it."""
    return f"{item.__module__}.{item.__name__}"


@cache
def _object_names() -> frozenset[str]:
    """Classes whose objects are rebuilt from their attributes."""
    from sklearn.base import BaseEstimator
    from sklearn.model_selection import BaseCrossValidator, BaseShuffleSplit

    kinds = (BaseEstimator, BaseCrossValidator, BaseShuffleSplit)
    names = set()
    for package in _SKLEARN:
        module = import_module(f"sklearn.{package}")
        for public, item in vars(module).items():
            own = isclass(item) and item.__module__.startswith(module.__name__)
            if own and not public.startswith("_") and issubclass(item, kinds):
                names.add(name_of(item))
    for where, private in _SKLEARN_INTERNAL.items():
        module = import_module(where)
        names.update(name_of(getattr(module, name)) for name in private if hasattr(module, name))
    for module in _psvm_modules():
        for item in vars(module).values():
            own = isclass(item) and item.__module__ == module.__name__
            if own and (issubclass(item, BaseEstimator) or is_dataclass(item)):
                names.add(name_of(item))
    return frozenset(names)


def _psvm_modules() -> Iterator[Any]:
    """The modules of psvm in which a part of a model may be defined."""
    yield import_module("psvm.persistence.state")
    for part in iter_modules(import_module("psvm").__path__, "psvm."):
        if part.name.removeprefix("psvm.") not in _NOT_IN_MODELS:
            yield from _with_inner_modules(part.name)


def _with_inner_modules(name: str) -> Iterator[Any]:
    """A module and, if it is a package, all that are in it, however deep."""
    module = import_module(name)
    yield module
    for inner in iter_modules(getattr(module, "__path__", []), f"{name}."):
        yield from _with_inner_modules(inner.name)


@cache
def _function_names() -> frozenset[str]:
    """Score functions: those behind scikit-learn's named scorers, and some that rank features."""
    from sklearn import feature_selection
    from sklearn.metrics import get_scorer, get_scorer_names, mean_pinball_loss

    functions = [get_scorer(name)._score_func for name in get_scorer_names()]
    functions.append(mean_pinball_loss)  # which has no name, because it needs a quantile
    functions += [getattr(feature_selection, name) for name in _SCORE_FUNCTIONS]
    return frozenset(name_of(function) for function in functions)
