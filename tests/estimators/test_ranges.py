"""Numbers at the ends of float64: a fit with honest numbers, or an error that says what to do.

Every case was once an error of Python, NumPy or SciPy, a RuntimeWarning, or NaN.
"""

import warnings

import numpy as np
import pytest
from estimators import CLASSES, each_class, each_way
from messages import X, Y, assert_mentions, error_of
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from small_data import noisy

from psvm import PSVC, PSVCCV, LinearPSVC, psvm_path


def fitted(estimator, X=X, y=Y, **parameters):
    """A fit of which nothing but its own ConvergenceWarning may be heard, with honest numbers."""
    model = clone(estimator).set_params(**parameters)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X, y)
        decision = model.decision_function(X)
    for name in ("dual_gap_", "primal_objective_", "dual_objective_"):
        assert not np.isnan(getattr(model, name)).any(), name
    assert np.isfinite(model.intercept_).all()
    assert np.isfinite(decision).all()
    for gap, status in zip(model.dual_gap_, model.status_, strict=True):
        assert gap <= model.tol or status.name != "CONVERGED"
    return model


@each_class
@pytest.mark.parametrize("p", [1e7, 1e308])
def test_p_of_which_no_digit_is_left_is_refused(Estimator, p):
    assert_mentions(error_of(Estimator, ValueError, p=p), "`p`", "at most 1e+06", f"{p!r}")


@each_way
@pytest.mark.parametrize("p", [1 + 1e-12, 200, 1e3, 1e6])
def test_every_other_p_is_solved(estimator, p):
    model = fitted(estimator, p=p)
    assert model.dual_gap_.max() <= model.tol


@each_class
@pytest.mark.parametrize(("C", "expected"), [(1e-320, "at least 2.2e-308"), (1e308, "1e+300")])
def test_C_beyond_the_range_is_refused(Estimator, C, expected):
    assert_mentions(error_of(Estimator, ValueError, C=C), expected, f"C = {C:g}")


@each_way
@pytest.mark.parametrize("p", [1, 1.25, 2, 3])
@pytest.mark.parametrize("C", [3e-308, 1e-200, 1.7e-6, 1e100, 1e290])
def test_every_other_C_has_an_honest_end(estimator, C, p):
    fitted(estimator, C=C, p=p, max_time=2.0)


@pytest.mark.parametrize("seed", range(5))
def test_a_small_C_of_squared_slacks(seed):
    """Steps on the face of the optimum divided by directions of 1e-310."""
    rows, y = noisy(n=50, d=4, seed=seed)
    for C in (1.7e-6, 1e-9):
        fitted(PSVC(p=2, C=C), rows, y)


@each_way
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("C", [1.0, np.inf])
@pytest.mark.parametrize("scale", [1e-69, 1e-50, 1e24, 1e77, 1e99])
def test_every_scale_of_separable_rows(estimator, scale, C, fit_intercept):
    """The margin squared, or its inverse, leaves the range where the rows are still inside."""
    rows = np.array([[1.0, 2.0], [2.0, 1.0], [-1.0, -1.0], [-2.0, 0.5]]) * scale
    parameters = {"C": C, "fit_intercept": fit_intercept, "max_time": 2.0}
    if isinstance(estimator, PSVC):
        parameters["kernel"] = "linear"
    try:
        fitted(estimator, rows, [1, 1, -1, -1], **parameters)
    except ValueError as error:
        assert_mentions(str(error), "range of float64", "scale X")


@pytest.mark.parametrize("Estimator", CLASSES)
def test_entries_too_small_to_multiply(Estimator):
    message = error_of(Estimator, ValueError, X=X * 1e-80)
    assert_mentions(message, "e-80 at most", "scale X")
    assert Estimator().fit(np.zeros_like(X), Y).dual_gap_.max() <= 1e-4


def test_a_small_block_among_others_is_fine():
    """Only where all entries are too small do the products vanish."""
    blocks = [(X, Y), (X * 1e-80, Y)]
    assert LinearPSVC().fit_blocks(blocks).dual_gap_.max() <= 1e-4
    with pytest.raises(ValueError, match="at most"):
        LinearPSVC().fit_blocks([(X * 1e-80, Y)])


@each_way
def test_a_warm_start_from_another_end_of_the_range(estimator):
    model = clone(estimator).set_params(warm_start=True, C=1e-200)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", ConvergenceWarning)
        for p, C in ((1.5, 1e-200), (2, 1e200), (2, 1e-300), (1.5, 1e290), (1.5, 1.0)):
            model.set_params(p=p, C=C, max_time=2.0).fit(X, Y)
            assert np.isfinite(model.decision_function(X)).all()
    assert model.dual_gap_.max() <= model.tol


@pytest.mark.parametrize("verbose", ["x", None, -1, 1.5])
def test_verbose_is_a_count(verbose):
    for Estimator in CLASSES:
        assert_mentions(error_of(Estimator, ValueError, verbose=verbose), "verbose", repr(verbose))
    with pytest.raises(ValueError, match="`verbose` must be an integer >= 0"):
        PSVCCV(verbose=verbose).fit(X, Y)
    with pytest.raises(ValueError, match="`verbose` must be an integer >= 0"):
        psvm_path(X, Y, verbose=verbose)


@pytest.mark.filterwarnings("ignore:.*with rounding:sklearn.exceptions.ConvergenceWarning")
def test_weights_that_only_one_class_has_can_be_calibrated():
    """Beside 1e20 a share of one minus the other is 0."""
    weight = np.where(np.arange(20) % 2 == 0, 1e20, 1.0)
    y = np.arange(20) % 2
    model = PSVCCV([1.5], [1e-20], [1.0], cv=2).fit(X, y, sample_weight=weight)
    assert np.isfinite(model.predict_proba(X)).all()
