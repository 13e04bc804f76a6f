"""C times weight at the ends of the range of float64: refused before anything is computed, or 0."""

import numpy as np
import pytest
from estimators import each_way
from sklearn.base import clone
from small_data import noisy

from psvm import PSVC, PSVCCV, LinearPSVC, psvm_path

X, Y = noisy(n=40, d=2, seed=3)


def fits(kind, C, weight):
    """A fit by one of the ways to state costs."""
    if kind == "blocks":
        blocks = [(X[:20], Y[:20], weight[:20]), (X[20:], Y[20:], weight[20:])]
        return LinearPSVC(C=C).fit_blocks(blocks)
    if kind == "search":
        return PSVCCV(ps=[1.5], Cs=[C, 1.0], cv=2, gammas=[1.0]).fit(X, Y, sample_weight=weight)
    if kind == "linear search":
        return PSVCCV(ps=[1.5], Cs=[C, 1.0], cv=2, kernel="linear").fit(X, Y, sample_weight=weight)
    if kind == "path":
        return psvm_path(X, Y, ps=[1.5], Cs=[C, 1.0], sample_weight=weight)
    if kind == "linear path":
        return psvm_path(X, Y, ps=[1.5], Cs=[C, 1.0], kernel="linear", sample_weight=weight)
    return (PSVC(C=C) if kind == "kernel" else LinearPSVC(C=C)).fit(X, Y, sample_weight=weight)


each_kind = pytest.mark.parametrize(
    "kind", ["kernel", "linear", "blocks", "search", "linear search", "path", "linear path"]
)


@each_kind
def test_an_infinite_product_is_refused_before_anything_is_computed(kind, monkeypatch):
    """The message names C and the weight."""

    def never(*args, **kwargs):
        raise AssertionError("solved")

    for solver in ("svc.solve_together", "linear_svc.solve_linear"):
        monkeypatch.setattr(f"psvm.estimators.{solver}", never)
    monkeypatch.setattr("psvm.search.explore.Explorer.search", never)
    weight = np.ones(40)
    weight[7] = 1e300
    with pytest.raises(ValueError, match=r"sum to more.*C = 1e\+20 .* weight up to 1e\+300"):
        fits(kind, 1e20, weight)


@each_kind
def test_weights_have_a_finite_sum(kind):
    with pytest.raises(ValueError, match=r"`sample_weight` must have a finite sum.* 1e\+308"):
        fits(kind, 1e-20, np.full(40, 1e308))


@each_way
def test_a_row_whose_product_underflows_is_as_if_absent(estimator):
    weight = np.ones(40)
    weight[[0, 5]] = 1e-300
    C = 1e-12
    model = clone(estimator).set_params(C=C).fit(X, Y, sample_weight=weight)
    alone = clone(estimator).set_params(C=C).fit(X[weight == 1.0], Y[weight == 1.0])
    np.testing.assert_allclose(
        model.decision_function(X), alone.decision_function(X), rtol=1e-10, atol=1e-20
    )
    assert model.n_support_.sum() == alone.n_support_.sum()


def test_a_path_leaves_out_what_its_smallest_C_does():
    weight = np.ones(40)
    weight[[0, 5]] = 1e-300
    path = psvm_path(X, Y, ps=[1.5, 2.0], Cs=[1e-12, 1.0], sample_weight=weight)
    assert not path.dual_coef[..., [0, 5]].any()
    assert np.nanmax(path.dual_gap) <= path.tol


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_a_search_leaves_out_what_its_smallest_C_does(kernel):
    weight = np.ones(40)
    weight[[0, 5]] = 1e-300
    parameters = {"ps": [1.5], "Cs": [1e-12, 1.0], "gammas": [1.0], "cv": 2, "kernel": kernel}
    model = PSVCCV(**parameters).fit(X, Y, sample_weight=weight)
    alone = PSVCCV(**parameters).fit(X, Y, sample_weight=(weight == 1.0).astype(float))
    np.testing.assert_array_equal(
        model.cv_results_["mean_test_score"], alone.cv_results_["mean_test_score"]
    )


@each_way
def test_a_hard_margin_does_not_look_at_the_first_row_alone(estimator):
    """Its weight is 0, and the others' cost is infinite all the same."""
    rows = np.array([[-9.0, 0.0], [-2.0, 0.0], [2.0, 1.0], [-3.0, 1.0], [4.0, 0.0]])
    weight = np.array([0.0, 1.0, 1e-320, 3.0, 1.0])
    model = clone(estimator).set_params(C=np.inf)
    model.fit(rows, [1, -1, 1, -1, 1], sample_weight=weight)
    assert model.dual_gap_.max() <= model.tol
    assert np.min([-1, 1, -1, 1] * model.decision_function(rows[1:])) >= 1 - 1e-4
