"""Metadata of a search: groups go to the splitter, weights to the scorer.

The preprocessor is given what it requests, and nothing unless routing is enabled.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.metadata_routing import (
    MetadataRouter,
    MethodMapping,
    _raise_for_params,
    _routing_enabled,
    process_routing,
)

from psvm.search.scoring import accepts_sample_weight

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Routed:
    """What the splitter and the scorer are given."""

    splitter: dict[str, Any]
    scorer: dict[str, Any]


def router_of(estimator: Any, splitter: Any, scorer: Any) -> Any:
    """The routes of ``fit`` and ``score``."""
    to_splitter = MethodMapping().add(caller="fit", callee="split")
    to_scorer = MethodMapping().add(caller="fit", callee="score")
    to_scorer.add(caller="score", callee="score")
    router = MetadataRouter(owner=type(estimator).__name__).add_self_request(estimator)
    router.add(splitter=splitter, method_mapping=to_splitter)
    if estimator.preprocessor is not None:
        in_fit = MethodMapping().add(caller="fit", callee=_fit_of(estimator.preprocessor))
        router.add(preprocessor=estimator.preprocessor, method_mapping=in_fit)
    return router.add(scorer=scorer, method_mapping=to_scorer)


def _fit_of(preprocessor: Any) -> str:
    return "fit_transform" if hasattr(preprocessor, "fit_transform") else "fit"


def routed_to_preprocessor(
    estimator: Any, sample_weight: Any, params: dict[str, Any]
) -> dict[str, Any]:
    """Metadata of ``fit`` for the fits of the preprocessor."""
    if not _routing_enabled():
        return {}
    routed = process_routing(estimator, "fit", sample_weight=sample_weight, **params)
    return dict(routed.preprocessor[_fit_of(estimator.preprocessor)])


def routed_in_fit(
    estimator: Any, scorer: Any, sample_weight: Any, weight: Array, params: dict[str, Any]
) -> Routed:
    """Metadata of ``fit``; without routing ``groups``, and weights where the scorer takes them."""
    if _routing_enabled():
        routed = process_routing(estimator, "fit", sample_weight=sample_weight, **params)
        # Weights may be one number for all rows; under another name they are not ours to check.
        to_scorer = {
            name: weight if value is sample_weight else value
            for name, value in routed.scorer.score.items()
        }
        return Routed(dict(routed.splitter.split), to_scorer)
    unknown = {name: value for name, value in params.items() if name != "groups"}
    _raise_for_params(unknown, estimator, "fit")
    weighted = sample_weight is not None and accepts_sample_weight(scorer)
    return Routed({"groups": params.get("groups")}, {"sample_weight": weight} if weighted else {})


def routed_in_score(estimator: Any, sample_weight: Any, params: dict[str, Any]) -> dict[str, Any]:
    """Metadata of ``score``, for the scorer."""
    if _routing_enabled():
        routed = process_routing(estimator, "score", sample_weight=sample_weight, **params)
        return dict(routed.scorer.score)
    _raise_for_params(params, estimator, "score")
    return {} if sample_weight is None else {"sample_weight": sample_weight}
