"""Searches with a preprocessor, the same by GridSearchCV, and one that notes what it sees."""

import time

import pytest
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.model_selection import GridSearchCV, check_cv
from sklearn.pipeline import Pipeline

from psvm import PSVCCV

PS, CS, GAMMAS = [1, 1.5], [0.3, 30.0], [0.01, 0.1]
GRID = {"p": PS, "C": CS, "gamma": GAMMAS}


def search_of(preprocessor, **options):
    return PSVCCV(PS, CS, GAMMAS, preprocessor=preprocessor, **options)


def grid_search(preprocessor, model, X, y, grid, **options):
    pipeline = Pipeline([("before", preprocessor), ("model", model)])
    grid = {f"model__{name}": values for name, values in grid.items()}
    return GridSearchCV(pipeline, grid, **options).fit(X, y)


def assert_same_cells(search, other, tolerance=1e-12):
    for split in range(search.n_splits_):
        key = f"split{split}_test_score"
        assert search.cv_results_[key] == pytest.approx(other.cv_results_[key], abs=tolerance)


def split_list(cv, X, y):
    return list(check_cv(cv, y, classifier=True).split(X, y))


class Spy(TransformerMixin, BaseEstimator):
    """Notes what it is fitted to; its clones note it in the same list."""

    seen = ()

    def __init__(self, slow=0.0):
        self.slow = slow

    def fit(self, X, y=None, sample_weight=None):
        Spy.seen.append((X, y, sample_weight))
        time.sleep(self.slow)
        self.width_ = X.shape[1]
        return self

    def transform(self, X):
        return X

    def __sklearn_is_fitted__(self):
        return True
