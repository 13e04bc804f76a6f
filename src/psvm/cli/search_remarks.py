"""What is to be said of a choice: how sure it is, a simpler one, and the edges of the grid."""

from __future__ import annotations

from typing import Any

import numpy as np

from psvm.search.default_p import PBesideDefault, p_beside_default
from psvm.search.edges import edges_of
from psvm.search.table import choose, split_scores, standard_error, within_one_error

SEARCHED = ("p", "C", "gamma", "epsilon")
"""Parameters that a search chooses, in the order in which they are told."""

_OPTIONS = {f"`{name}s`": f"--{name}s" for name in SEARCHED}


def remarks_of(search: Any) -> dict[str, Any]:
    """Facts about the choice of a fitted search, as JSON values.

    Parameters
    ----------
    search : PSVCCV or PSVRCV
        Fitted.

    Returns
    -------
    dict
        ``standard_error`` of the best mean score, ``within_one_error`` (how many combinations are
        that near), ``simpler`` (the one of them with the fewest support vectors, None if that is
        the choice), ``p_beside_default`` (the chosen p and the default one, None if there is no
        other to compare with), ``edges`` (parameters at the edge of their grid), and ``remarks``:
        the same in sentences.
    """
    results = search.cv_results_
    scores, supports = split_scores(results), results["mean_n_support"]
    best, simplest = choose("best", scores, supports), choose("one_se", scores, supports)
    error, near = standard_error(scores, best), within_one_error(scores, best)
    chosen = int(search.best_index_)
    finished = int(np.isfinite(scores).all(axis=1).sum())
    edges = edges_of(results, chosen)
    beside = p_beside_default(search)
    simpler = None if simplest == chosen else _cell(results, simplest)
    return {
        "standard_error": error,
        "within_one_error": int(near.size),
        "simpler": simpler,
        "p_beside_default": None if beside is None else _beside(results, beside),
        "edges": [
            {"parameter": one.parameter, "value": one.value, "add": one.beyond} for one in edges
        ],
        "remarks": [
            _how_sure(near.size, finished, error, _cell(results, chosen), simpler),
            *([] if beside is None else [str(beside)]),
            *(_with_options(str(one)) for one in edges),
        ],
    }


def _cell(results: dict[str, Any], number: int) -> dict[str, Any]:
    params = results["params"][number]
    return {
        **{name: float(params[name]) for name in SEARCHED if name in params},
        "score": float(results["mean_test_score"][number]),
        "support_vectors": float(results["mean_n_support"][number]),
    }


def _beside(results: dict[str, Any], it: PBesideDefault) -> dict[str, Any]:
    return {
        "p": it.p,
        "default": it.default_p,
        "difference": it.difference,
        "standard_error": it.standard_error,
        "within_one_error": it.within_one_error,
        "compared_with": _cell(results, it.rival_index),
    }


def _how_sure(
    near: int, tried: int, error: float, chosen: dict[str, Any], simpler: dict[str, Any] | None
) -> str:
    """How many combinations are as good as the best, and which of them is the simplest."""
    if tried == 1:
        return "Only one combination has a score: there was nothing to choose from."
    if near < 2:
        return f"No other combination is within one standard error ({error:.4f}) of the best score."
    said = (
        f"{near} of {tried} combinations are within one standard error ({error:.4f}) of the best "
        f"score: differences among them say little."
    )
    if simpler is None:
        return f"{said} The chosen one has the fewest support vectors of these."
    values = ", ".join(f"{k} = {v:.4g}" for k, v in simpler.items() if k in SEARCHED)
    return (
        f"{said} The simplest of them is {values}, with {_count(simpler)} support vectors in place "
        f"of {_count(chosen)} and score {simpler['score']:.4f}: --rule one_se takes it."
    )


def _count(cell: dict[str, Any]) -> str:
    return f"{np.rint(cell['support_vectors']):,.0f}"


def _with_options(sentence: str) -> str:
    """The lists of the search by the options that give them."""
    for name, option in _OPTIONS.items():
        sentence = sentence.replace(name, option)
    return sentence
