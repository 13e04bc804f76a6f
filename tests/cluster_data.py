"""Data for the estimators on a cluster, and how a fit there is compared with one here."""

import numpy as np
import pytest


def noisy_classes(n, d=6, k=2, seed=0):
    """Classes that overlap, each with a direction of its own."""
    rng = np.random.default_rng(seed)
    X, W = rng.normal(size=(n, d)), rng.normal(size=(d, k))
    return X, (X @ W + 2.0 * rng.normal(size=(n, k))).argmax(axis=1)


def assert_same_fit(model, local, within=1e-6, gap=0.0):
    """The same classes, coefficients and objective, each with a certificate of its own."""
    assert np.array_equal(model.classes_, local.classes_)
    assert model.class_weight_ == pytest.approx(local.class_weight_, rel=1e-14)
    # A gap leaves |w - w*|^2 / 2 <= gap P open.
    open_ = sum(np.sqrt(2.0 * one.dual_gap_ * one.primal_objective_) for one in (model, local))
    for name in local._weight_names:
        off = np.abs(getattr(model, name) - getattr(local, name))
        assert (off.reshape(open_.size, -1).max(axis=1) <= within + open_).all()
    assert model.primal_objective_ == pytest.approx(local.primal_objective_, rel=1e-8)
    assert model.n_features_in_ == local.n_features_in_
    # Rows at the margin may be on either side of it.
    assert model.n_support_ == pytest.approx(local.n_support_, rel=2e-3, abs=2)
    assert (model.dual_gap_ <= max(model.tol, gap)).all()


def noisy_targets(n, d=6, seed=0):
    """A linear rule far from the origin, and noise with long tails."""
    rng = np.random.default_rng(seed)
    X, w = rng.normal(size=(n, d)), rng.normal(size=d)
    return X, 5.0 + X @ w + 0.5 * rng.standard_t(4, size=n)


def assert_same_regression(model, local, within=1e-6, gap=1e-9):
    """The same coefficients and objective, each with a certificate of its own."""
    assert model.coef_.shape == local.coef_.shape
    assert model.intercept_.shape == local.intercept_.shape == (1,)
    size = max(np.abs(local.coef_).max(), abs(local.intercept_[0]), 1e-300)
    assert np.abs(model.coef_ - local.coef_).max() <= within * size
    assert np.abs(model.intercept_ - local.intercept_).max() <= within * size
    assert model.primal_objective_ == pytest.approx(local.primal_objective_, rel=1e-9)
    assert model.n_features_in_ == local.n_features_in_
    assert model.n_support_ == pytest.approx(local.n_support_, rel=2e-3, abs=2)
    assert (model.dual_gap_ <= max(model.tol, gap)).all()
    # The certificate is in the user's units, and so is what was told on the way.
    assert (model.dual_objective_ <= local.primal_objective_ * (1.0 + 1e-12)).all()
    assert model.history_[0][-1]["primal"] == pytest.approx(model.primal_objective_[0], rel=1e-6)
