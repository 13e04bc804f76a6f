"""The search behind ``psvm tune``."""

from __future__ import annotations

import math
import time
import warnings
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from psvm.cli.preprocessing import with_preprocessing
from psvm.cli.search_remarks import SEARCHED, remarks_of
from psvm.cli.show import show_note, show_table
from psvm.cli.tasks import Task
from psvm.cli.train_and_test import Fitted, Split, TimeLimit, facts_of
from psvm.search import PSVCCV, PSVRCV, GridEdgeWarning
from psvm.search.explore import COARSE
from psvm.search.watch import NothingFinished

# Share of a limit of seconds for the search and its final fit; the rest is for the scores.
_FOR_SEARCH = 0.9
# A gap that is no solution.
_FAR = 10.0 * COARSE


def new_search(task: Task, **parameters: Any) -> Any:
    """A search for a classifier or a regressor."""
    return PSVRCV(**parameters) if task is Task.regression else PSVCCV(**parameters)


def tune_model(
    search: Any, rows: Split, *, scale: bool | None, impute: bool, quiet: bool
) -> Fitted:
    """Search with preprocessing, and test the best model.

    Parameters
    ----------
    search : PSVCCV or PSVRCV
        Not fitted yet. Its ``max_time`` is that of all of this.
    rows : Split
        What to search on and to test with.
    scale, impute : bool
        As for :func:`with_preprocessing`; what is learned of the columns (means, medians,
        categories) is learned in every fold from its own training rows.
    quiet : bool
        Whether to show no progress.

    Returns
    -------
    Fitted
    """
    limit = TimeLimit(search.max_time, time.perf_counter())
    pipeline = with_preprocessing(search, rows.train, scale=scale, impute=impute)
    if pipeline is not search:
        search.set_params(preprocessor=pipeline[:-1])
    search.set_params(
        verbose=int(not quiet),
        max_time=None if limit.seconds is None else _FOR_SEARCH * limit.seconds,
    )
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", GridEdgeWarning)  # it is among the remarks
            warnings.filterwarnings("ignore", "PSV[CR]CV solved", ConvergenceWarning)  # see below
            search.fit(rows.train.X, rows.train.y)
    except NothingFinished:
        raise ValueError(
            f"--max-time {limit.seconds:g} was over before one combination was fitted to all "
            f"folds; nothing is written. Give more seconds, try fewer combinations (--ps, --Cs, "
            f"--gammas, --cv), or leave the kernel out (--linear)."
        ) from None
    _warn_of_gaps(search.cv_results_["max_dual_gap"])
    seconds = time.perf_counter() - limit.began
    search.set_params(verbose=0, max_time=limit.seconds)
    test = None if rows.test is None else limit.some_of(rows.test, search, share=0.25)
    train = limit.some_of(rows.train, search, share=0.75)
    facts = {
        **facts_of(search, rows.train, Split(train, test), seconds),
        "best_parameters": _in_order(search.best_params_),
        "best_score": float(search.best_score_),
        "combinations": len(search.cv_results_["params"]),
        **remarks_of(search),
        "search": _table(search.cv_results_, int(search.best_index_)),
    }
    return Fitted(search, facts)


def _warn_of_gaps(gaps: Any) -> None:
    """As the search does, in words of the command line."""
    far = int(np.sum(np.nan_to_num(gaps) > _FAR))
    if far:
        warnings.warn(
            f"{far} of {len(gaps)} combinations were solved only to a relative gap above {_FAR:g} "
            f"(worst {np.nanmax(gaps):.2g}), so that their scores may be off: try smaller --Cs, "
            f"and scaled columns",
            stacklevel=2,
        )


def _table(results: dict[str, Any], chosen: int) -> list[dict[str, Any]]:
    """What was tried to the end, the best first and of equals the chosen one."""
    ranks = results["rank_test_score"]
    finished = [i for i, score in enumerate(results["mean_test_score"]) if not math.isnan(score)]
    order = sorted(finished, key=lambda i: (ranks[i], i != chosen))
    return [
        {
            **_in_order(results["params"][i]),
            "score": float(results["mean_test_score"][i]),
            "deviation": float(results["std_test_score"][i]),
            "chosen": i == chosen,
        }
        for i in order
    ]


def _in_order(parameters: dict[str, Any]) -> dict[str, Any]:
    """Parameters as JSON has them, p and C first."""
    plain = {k: v.item() if hasattr(v, "item") else v for k, v in parameters.items()}
    return {name: plain[name] for name in sorted(plain, key=_rank)}


def _rank(name: str) -> int:
    return SEARCHED.index(name) if name in SEARCHED else len(SEARCHED)


def show_search(tuned: Fitted, top: int) -> None:
    """The best rows as a table, and the chosen one if it is not among them."""
    rows = tuned.facts["search"]
    names = [name for name in rows[0] if name not in ("score", "deviation", "chosen")]
    shown = rows[:top] + [row for row in rows[top:] if row["chosen"]]
    show_table(
        ("", *names, "score", "± over folds"),
        [
            [
                "→" if row["chosen"] else "",
                *(f"{row[name]:.4g}" for name in names),
                f"{row['score']:.4f}",
                f"{row['deviation']:.4f}",
            ]
            for row in shown
        ],
        title=f"{tried(tuned.facts)} tried, the best first",
    )
    for remark in tuned.facts["remarks"]:
        show_note(remark)


def tried(facts: dict[str, Any]) -> str:
    """How many combinations have a score, and of how many if that is not all."""
    tried, wanted = len(facts["search"]), facts["combinations"]
    what = f"combination{'' if wanted == 1 else 's'}"
    return f"{tried} {what}" if tried == wanted else f"{tried} of {wanted} {what}"
