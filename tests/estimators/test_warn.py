"""Warnings point at the user's line, whatever lies between it and where they arise."""

import warnings
from concurrent.futures import ThreadPoolExecutor
from itertools import chain, repeat

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from small_data import noisy

from psvm import PSVC, PSVCCV, LinearPSVC, psvm_path
from psvm.estimators.warn import warn_user

X, Y = noisy(n=60, d=3, seed=0, noise=3.0)
HARD = {"C": 1e6, "tol": 1e-15, "max_iter": 1}


def linear():
    return LinearPSVC(solver="semismooth_newton", **HARD)


def odd_at_first():
    """A scorer that has no number for its first rows."""
    answers = chain([np.nan], repeat(1.0))
    return lambda model, X, y: next(answers)


CALLS = {
    "PSVC.fit": lambda: PSVC(kernel="linear", p=3.0, **HARD).fit(X, Y),
    "PSVC.fit, three classes": lambda: PSVC(p=3.0, **HARD).fit(X, np.arange(60) % 3),
    "LinearPSVC.fit": lambda: linear().fit(X, Y),
    "LinearPSVC.fit_blocks": lambda: linear().fit_blocks([(X, Y)]),
    "psvm_path": lambda: psvm_path(X, Y, ps=[3.0], Cs=[1e6], tol=1e-15, max_iter=1),
    "PSVCCV.fit": lambda: PSVCCV([1.5, 2.0], [1.0], [1.0], scoring=odd_at_first(), cv=2).fit(X, Y),
    "pipeline": lambda: make_pipeline(StandardScaler(), linear()).fit(X, Y),
    "grid search": lambda: GridSearchCV(linear(), {"p": [1.5]}, cv=2).fit(X, Y),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS.keys())
def test_a_warning_points_at_the_callers_line(call):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    assert caught
    for warning in caught:
        assert warning.filename == __file__, f"{warning.filename}: {warning.message}"
        assert warning.lineno == call.__code__.co_firstlineno


def test_a_refit_of_a_search_warns_at_the_callers_line():
    model = PSVCCV(ps=[3.0], Cs=[1e6], gammas=[1.0], cv=2, tol=1e-15)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, Y)
    assert {warning.filename for warning in caught} <= {__file__}


def test_in_a_thread_the_outermost_line_will_do():
    """Where nobody's own line is on the stack, the warning comes all the same."""
    with pytest.warns(ConvergenceWarning, match="told"), ThreadPoolExecutor(1) as pool:
        pool.submit(warn_user, "told", ConvergenceWarning).result()
