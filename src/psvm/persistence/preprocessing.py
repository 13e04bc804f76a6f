"""Fitted transformers as lists of operations: which are known, and how they are put together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA, IncrementalPCA, TruncatedSVD
from sklearn.feature_selection import SelectorMixin
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    RobustScaler,
    StandardScaler,
)

from psvm.persistence import category_steps, number_steps
from psvm.persistence.operations import Arithmetic, Branches, Operation, width_after
from psvm.persistence.steps import Step, named_steps_of

Converter = Callable[[Step], list[Operation]]


def operations_of(steps: Sequence[Step]) -> list[Operation]:
    """The operations of fitted transformers, in order.

    Parameters
    ----------
    steps : sequence of Step
        Transformers, as :func:`~psvm.persistence.steps.named_steps_of` finds them.

    Returns
    -------
    list of Operation

    Raises
    ------
    UnsupportedModelError
        If a step is of another kind or does something that no operation expresses.
    """
    return [operation for step in steps for operation in _converter_of(step)(step)]


def known_transformers() -> list[str]:
    """Names of the transformers that have operations."""
    return [*sorted(kind.__name__ for kind in _CONVERTERS), "feature selectors with get_support"]


def _converter_of(step: Step) -> Converter:
    kind = type(step.estimator)
    if kind in _CONVERTERS:
        return _CONVERTERS[kind]
    # Selectors are many, and all but those of strangers choose columns in the same way.
    if issubclass(kind, SelectorMixin) and kind.transform is SelectorMixin.transform:
        return number_steps.of_selector
    raise step.refused(
        f"cannot be exported; these can: {', '.join(known_transformers())}. Apply it before the "
        "exported model and export the steps after it, or convert the pipeline with skl2onnx after "
        "psvm.persistence.register_skl2onnx()."
    )


def _of_column_transformer(step: Step) -> list[Operation]:
    transformer = step.estimator
    weights = transformer.transformer_weights or {}
    columns, operations = [], []
    for name, inner, chosen in transformer.transformers_:
        places = _places(transformer, chosen)
        if places.size == 0 or (isinstance(inner, str) and inner == "drop"):
            continue
        passed = isinstance(inner, str)  # "passthrough"
        inside = [] if passed else _inside(step.inside(name, inner))
        columns.append(places)
        operations.append(_weighted(inside, places.size, weights.get(name)))
    return [Branches(columns, operations)]


def _places(transformer: ColumnTransformer, chosen: Any) -> npt.NDArray[np.int64]:
    """Numbers of chosen columns: by name, by number, by a mask or by a slice of one of these."""
    names = list(getattr(transformer, "feature_names_in_", []))
    if isinstance(chosen, slice) and (
        isinstance(chosen.start, str) or isinstance(chosen.stop, str)
    ):
        start = None if chosen.start is None else names.index(chosen.start)
        stop = None if chosen.stop is None else names.index(chosen.stop) + 1  # with the last one
        chosen = slice(start, stop, chosen.step)
    chosen = [chosen] if isinstance(chosen, str) else chosen
    if not isinstance(chosen, slice):
        chosen = list(np.atleast_1d(np.asarray(chosen, dtype=object)))
        place = {name: j for j, name in enumerate(names)}
        if any(isinstance(one, str) for one in chosen):
            chosen = [place[one] for one in chosen]
        kind = bool if chosen and isinstance(chosen[0], bool | np.bool_) else np.int64
        chosen = np.asarray(chosen, dtype=kind)
    return np.asarray(np.arange(transformer.n_features_in_, dtype=np.int64)[chosen])


def _of_feature_union(step: Step) -> list[Operation]:
    union = step.estimator
    n_columns, weights = union.n_features_in_, union.transformer_weights or {}
    parts = [
        _weighted(
            [] if inner == "passthrough" else _inside(step.inside(name, inner)),
            n_columns,
            weights.get(name),
        )
        for name, inner in union.transformer_list
        if not (isinstance(inner, str) and inner == "drop")
    ]
    return [Branches([np.arange(n_columns)] * len(parts), parts)]


def _weighted(operations: list[Operation], n_columns: int, weight: float | None) -> list[Operation]:
    if weight is None:
        return operations
    values = np.full(width_after(operations, n_columns), float(weight))
    return [*operations, Arithmetic("multiply", values)]


def _inside(step: Step) -> list[Operation]:
    """Operations of a transformer or a pipeline of them."""
    return operations_of(named_steps_of(step.estimator, step.path))


def _of_function(step: Step) -> list[Operation]:
    if step.estimator.func is not None:
        raise step.refused(
            "cannot be exported: a function is code, not data. Apply it before the exported model."
        )
    return []  # what ColumnTransformer makes of "passthrough"


_CONVERTERS: dict[type, Converter] = {
    ColumnTransformer: _of_column_transformer,
    FeatureUnion: _of_feature_union,
    FunctionTransformer: _of_function,
    IncrementalPCA: number_steps.of_pca,
    MaxAbsScaler: number_steps.of_max_abs_scaler,
    MinMaxScaler: number_steps.of_min_max_scaler,
    MissingIndicator: category_steps.of_missing_indicator,
    Normalizer: number_steps.of_normalizer,
    Nystroem: number_steps.of_nystroem,
    OneHotEncoder: category_steps.of_one_hot_encoder,
    OrdinalEncoder: category_steps.of_ordinal_encoder,
    PCA: number_steps.of_pca,
    Pipeline: _inside,
    PolynomialFeatures: number_steps.of_polynomial_features,
    RBFSampler: number_steps.of_rbf_sampler,
    RobustScaler: number_steps.of_robust_scaler,
    SimpleImputer: category_steps.of_simple_imputer,
    StandardScaler: number_steps.of_standard_scaler,
    TruncatedSVD: number_steps.of_truncated_svd,
}
