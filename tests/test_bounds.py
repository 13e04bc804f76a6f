"""The margin loss has the properties the paper uses, and every term of the bounds is right."""

import dataclasses
import math

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics.pairwise import (
    laplacian_kernel,
    linear_kernel,
    polynomial_kernel,
    rbf_kernel,
)
from sklearn.preprocessing import normalize
from small_data import blobs, noisy
from strategies import exponents

from psvm import PSVC, LinearPSVC
from psvm.bounds import (
    empirical_margin_loss,
    generalization_bound,
    hinge_bound,
    kernel_radius,
    lipschitz_constant,
    margin_bound,
    margin_loss,
    rademacher_bound,
)

margins = st.floats(-50.0, 50.0)
levels = st.floats(-2, 2).map(lambda exponent: 10.0**exponent)
samples = st.lists(st.floats(-3.0, 3.0), min_size=1, max_size=30)
# Rounding of 1 - x / rho, raised to a power of at most 50.
ROUNDING = 1e-12


# --- the margin loss -----------------------------------------------------------------------------


@pytest.mark.parametrize("p", [1.0, 1.5, 3.0])
@pytest.mark.parametrize("rho", [0.5, 2.0])
def test_margin_loss_has_the_three_pieces_of_definition_1(p, rho):
    x = np.array([-3.0, 0.0, 0.25 * rho, rho, 4.0 * rho])
    expected = [1.0, 1.0, 0.75**p, 0.0, 0.0]
    np.testing.assert_allclose(margin_loss(x, p, rho), expected, rtol=1e-15)


@given(margins, exponents(), levels)
def test_margin_loss_lies_between_the_error_and_the_hinge(x, p, rho):
    """[x <= 0] <= Phi <= max(0, 1 - x / rho) ** p, and Phi <= 1: what makes the bounds bounds."""
    loss = float(margin_loss(x, p, rho))
    assert float(x <= 0.0) <= loss <= 1.0
    assert loss <= max(0.0, 1.0 - x / rho) ** p


@given(margins, margins, exponents(), levels)
def test_margin_loss_is_lipschitz(x, z, p, rho):
    """Lemma 1."""
    change = abs(float(margin_loss(x, p, rho) - margin_loss(z, p, rho)))
    assert change <= lipschitz_constant(p, rho) * abs(x - z) + ROUNDING


@given(exponents(), levels)
def test_no_smaller_lipschitz_constant_will_do(p, rho):
    """The slope right of 0 comes as near to p / rho as one likes."""
    step = 1e-6 * rho
    slope = float(margin_loss(0.0, p, rho) - margin_loss(step, p, rho)) / step
    assert slope == pytest.approx(lipschitz_constant(p, rho), rel=1e-4)


@given(margins, exponents(), st.floats(0.0, 5.0), levels)
def test_margin_loss_falls_with_p(x, p, more, rho):
    """What the paper says of the first term is true of Phi, for every margin."""
    assert float(margin_loss(x, p + more, rho)) <= float(margin_loss(x, p, rho)) + ROUNDING


@given(samples, exponents(), st.floats(0.01, 5.0))
def test_hinge_falls_with_p_only_without_wrong_answers(sample, p, more):
    """What the paper says of Corollary 1 is false as soon as a slack exceeds 1."""
    right, wrong = np.abs(sample), -0.1 - np.abs(sample)
    terms = {"rho": 0.5, "r": 1.0}
    low, high = (
        [hinge_bound(x, p=exponent, **terms).empirical_loss for x in (right, wrong)]
        for exponent in (p, p + more)
    )
    assert high[0] <= low[0] + ROUNDING
    assert high[1] > low[1]


@given(margins, exponents(), levels, st.floats(1.0, 10.0))
def test_margin_loss_grows_with_rho(x, p, rho, factor):
    """The step of the proof that goes from countably many margins to all of them."""
    assert float(margin_loss(x, p, rho)) <= float(margin_loss(x, p, factor * rho)) + ROUNDING


def test_empirical_margin_loss_is_the_mean():
    assert empirical_margin_loss([-1.0, 0.5, 1.0, 3.0], 2.0, 2.0) == pytest.approx(
        (1.0 + 0.75**2 + 0.5**2 + 0.0) / 4
    )


# --- the Rademacher term -------------------------------------------------------------------------


def test_rademacher_bound_is_theorem_2():
    assert rademacher_bound(3.0, 0.5, 16) == pytest.approx(math.sqrt(3.0**2 * 0.5**2 / 16))


def test_rademacher_bound_holds():
    """Against the complexity itself: Lambda / m times the mean norm of sum sigma_i x_i."""
    rng = np.random.default_rng(0)
    X = normalize(rng.normal(size=(12, 3)))
    signs = np.array([[1 if k >> i & 1 else -1 for i in range(12)] for k in range(2**12)])
    complexity = 2.0 / 12 * np.mean(np.linalg.norm(signs @ X, axis=1))
    r = kernel_radius(np.sum(X**2, axis=1))
    # For rows of one length the bound is too large by sqrt(2) at most (Khintchine).
    assert math.sqrt(0.5) <= complexity / rademacher_bound(r, 2.0, 12) <= 1.0


def test_kernel_radius():
    X = np.array([[3.0, 4.0], [1.0, 0.0]])
    assert kernel_radius(np.diag(X @ X.T)) == 5.0
    with pytest.raises(ValueError, match=r"K\(x, x\) >= 0, got -2"):
        kernel_radius([1.0, -2.0])


# --- the bounds of given margins -----------------------------------------------------------------


@pytest.mark.parametrize("bound", [margin_bound, hinge_bound])
def test_terms_by_hand(bound):
    """m = 4, p = 1.5, r = 2, rho = 0.5, delta = 0.1; log2(2 r / rho) = 3."""
    margin = np.array([-0.5, 0.125, 0.25, 2.0])
    terms = bound(margin, p=1.5, rho=0.5, r=2.0, delta=0.1)
    by_hand = {
        margin_bound: (1.0 + 0.75**1.5 + 0.5**1.5 + 0.0) / 4,
        hinge_bound: (1.5**1.5 + 0.875**1.5 + 0.75**1.5 + 0.0) / 4,
    }
    assert terms.empirical_loss == pytest.approx(by_hand[bound])
    assert terms.complexity == pytest.approx(4 * 1.5 * math.sqrt((2.0 / 0.5) ** 2 / 4))
    assert terms.uniformity == pytest.approx(math.sqrt(math.log(3.0) / 4))
    assert terms.confidence == pytest.approx(math.sqrt(math.log(20.0) / 8))
    assert terms.total == pytest.approx(
        terms.empirical_loss + terms.complexity + terms.uniformity + terms.confidence
    )
    assert (terms.p, terms.rho, terms.r, terms.delta, terms.m) == (1.5, 0.5, 2.0, 0.1, 4)


@given(samples, st.floats(0.01, 1.0), st.floats(0.001, 0.5))
def test_theorem_3_at_p_1_is_the_bound_of_mohri_and_others(sample, rho, delta):
    """Corollary 5.11 of Foundations of Machine Learning, written out, for r = 1."""
    m = len(sample)
    ramp = np.clip(1.0 - np.asarray(sample) / rho, 0.0, 1.0)
    expected = (
        ramp.mean()
        + 4.0 * math.sqrt(1.0 / rho**2 / m)
        + math.sqrt(math.log(math.log2(2.0 / rho)) / m)
        + math.sqrt(math.log(2.0 / delta) / (2.0 * m))
    )
    total = margin_bound(sample, p=1.0, rho=rho, r=1.0, delta=delta).total
    assert total == pytest.approx(expected, rel=1e-10)


@given(samples, exponents(), levels, st.floats(1.0, 100.0))
def test_corollary_1_is_never_below_theorem_3(sample, p, rho, factor):
    """The same function, scaled by rho so that its weights have norm 1."""
    x, r = np.asarray(sample), factor * rho
    scaled = margin_bound(rho * x, p=p, rho=rho, r=r)
    assert hinge_bound(x, p=p, rho=rho, r=r).total >= scaled.total * (1 - ROUNDING)


@given(samples, exponents(), st.floats(0.01, 5.0), st.floats(0.01, 1.0))
def test_p_above_1_never_helps_where_the_complexity_is_not_small(sample, p, more, rho):
    """From 4 r / (rho sqrt(m)) = 1 / e on the complexity grows faster than any loss can fall."""
    assert 4.0 / (rho * math.sqrt(len(sample))) > 1.0 / math.e
    low = margin_bound(sample, p=p, rho=rho, r=1.0)
    assert low.total < margin_bound(sample, p=p + more, rho=rho, r=1.0).total


def test_p_above_1_can_help_where_the_complexity_is_small():
    sample = np.full(100_000, 0.5)
    low, high = (margin_bound(sample, p=p, rho=1.0, r=1.0) for p in (1.0, 3.0))
    assert high.total < low.total < 1.0
    assert not low.vacuous


def test_the_whole_radius_as_margin_costs_nothing_for_uniformity():
    """rho = r is the edge of log log: log2(2) = 1, and rounding must not carry it below."""
    for r in (1.0, math.sqrt(2.0), 20.5):
        assert margin_bound([1.0], p=1.0, rho=r, r=r).uniformity == 0.0
        assert margin_bound([1.0], p=1.0, rho=math.nextafter(r, 9e9), r=r).uniformity == 0.0


def test_a_bound_is_vacuous_from_1_on():
    bound = margin_bound(np.ones(10**6), p=1.0, rho=1.0, r=1.0)
    assert not bound.vacuous
    assert not dataclasses.replace(bound, empirical_loss=0.99 - bound.total).vacuous
    assert dataclasses.replace(bound, empirical_loss=1.0).vacuous
    with pytest.raises(dataclasses.FrozenInstanceError):
        bound.m = 3


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"p": 0.5}, "`p` must be"),
        ({"p": math.inf}, "`p` must be"),
        ({"rho": 0.0}, "`rho` must be"),
        ({"rho": 1.5}, r"`rho` must lie in \(0, r\]"),
        ({"delta": 0.0}, "`delta` must lie"),
        ({"delta": 1.0}, "`delta` must lie"),
    ],
)
@pytest.mark.parametrize("bound", [margin_bound, hinge_bound])
def test_terms_outside_their_domain_are_refused(bound, changed, message):
    with pytest.raises(ValueError, match=message):
        bound([0.5], **{"p": 1.5, "rho": 0.5, "r": 1.0, "delta": 0.05, **changed})


def test_rademacher_terms_outside_their_domain_are_refused():
    for terms in ((-1.0, 1.0, 5), (1.0, -1.0, 5), (1.0, 1.0, 0)):
        with pytest.raises(ValueError, match="`m` >= 1"):
            rademacher_bound(*terms)


# --- the bounds of fitted models -----------------------------------------------------------------

X, Y = noisy(n=60, d=3, seed=1, shift=0.5)


def expected_bound(K, model, *, count_intercept, loss="margin"):
    """The bound written out from a kernel matrix."""
    dual = np.zeros(len(Y))
    dual[model.support_] = model.dual_coef_[0]
    b = model.intercept_[0]
    r, norm = math.sqrt(np.diag(K).max()), math.sqrt(dual @ K @ dual)
    if count_intercept:
        norm, r = math.hypot(norm, b / r), math.sqrt(2.0) * r
    rho = min(1.0 / norm, r)
    xi = np.maximum(0.0, 1.0 - Y * (K @ dual + b)) ** model.p
    empirical = np.mean(np.minimum(1.0, xi) if loss == "margin" else xi)
    m = len(Y)
    return (
        empirical,
        4.0 * model.p * r / rho / math.sqrt(m),
        math.sqrt(math.log(math.log2(2.0 * r / rho)) / m),
        math.sqrt(math.log(2.0 / 0.1) / (2.0 * m)),
        rho,
        r,
    )


def terms_of(bound):
    return (
        bound.empirical_loss,
        bound.complexity,
        bound.uniformity,
        bound.confidence,
        bound.rho,
        bound.r,
    )


MATRICES = {
    "linear": linear_kernel(X),
    "rbf": rbf_kernel(X, gamma=0.3),
    "laplacian": laplacian_kernel(X, gamma=0.3),
    "poly": polynomial_kernel(X, gamma=0.3, coef0=1.0, degree=2),
}
PARAMETERS = {"gamma": 0.3, "coef0": 1.0, "degree": 2}


@pytest.mark.parametrize("count_intercept", [True, False])
@pytest.mark.parametrize("loss", ["margin", "hinge"])
@pytest.mark.parametrize("kernel", MATRICES)
def test_bound_of_a_kernel_model(kernel, loss, count_intercept):
    model = PSVC(p=1.5, kernel=kernel, **PARAMETERS).fit(X, Y)
    options = {"count_intercept": count_intercept, "loss": loss}
    bound = generalization_bound(model, X, Y, 0.1, **options)
    expected = expected_bound(MATRICES[kernel], model, **options)
    assert terms_of(bound) == pytest.approx(expected, rel=1e-9)
    assert (bound.p, bound.m, bound.delta) == (1.5, 60, 0.1)


@pytest.mark.parametrize("kind", ["precomputed", "callable", "sparse"])
def test_bound_does_not_depend_on_how_the_kernel_is_given(kind):
    K = MATRICES["rbf"]
    rows = {"precomputed": K, "callable": X, "sparse": sp.csr_matrix(X)}[kind]
    kernel = {"precomputed": "precomputed", "callable": lambda A, B: rbf_kernel(A, B, gamma=0.3)}
    model = PSVC(p=2.0, kernel=kernel.get(kind, "rbf"), gamma=0.3, tol=1e-9).fit(rows, Y)
    bound = generalization_bound(model, rows, Y, 0.1)
    assert terms_of(bound) == pytest.approx(
        expected_bound(K, model, count_intercept=True), rel=1e-9
    )


def test_linear_models_agree_however_they_are_fitted():
    kernel = PSVC(p=1.5, kernel="linear", tol=1e-10).fit(X, Y)
    linear = LinearPSVC(p=1.5, tol=1e-10).fit(X, Y)
    first, second = (generalization_bound(model, X, Y) for model in (kernel, linear))
    assert terms_of(first) == pytest.approx(terms_of(second), rel=1e-4)
    w = linear.coef_[0]
    r = np.linalg.norm(X, axis=1).max()
    assert second.r == pytest.approx(math.sqrt(2.0) * r)
    assert second.rho == pytest.approx(
        1.0 / math.hypot(np.linalg.norm(w), linear.intercept_[0] / r)
    )


def test_without_an_intercept_there_is_nothing_to_count():
    model = LinearPSVC(fit_intercept=False).fit(X, Y)
    counted, not_counted = (
        generalization_bound(model, X, Y, count_intercept=flag) for flag in (True, False)
    )
    assert counted == not_counted


def test_a_tiny_weight_vector_has_the_margin_r():
    model = LinearPSVC(C=1e-9, fit_intercept=False).fit(X, Y)
    bound = generalization_bound(model, X, Y)
    assert np.linalg.norm(model.coef_) < 1.0 / bound.r
    assert bound.rho == bound.r
    assert bound.uniformity == 0.0


def test_labels_may_be_anything():
    names = np.where(Y > 0, "yes", "no")
    first = generalization_bound(LinearPSVC().fit(X, Y), X, Y)
    assert generalization_bound(LinearPSVC().fit(X, names), X, names) == first


def test_the_bound_holds_where_it_says_something():
    """Well separated classes and many rows: the error on new rows stays below the bound."""
    rng = np.random.default_rng(0)

    def draw(n):
        y = np.where(rng.random(n) < 0.5, 1.0, -1.0)
        direction = np.array([1.0, 0.0])
        return y[:, None] * direction + 0.1 * rng.uniform(-1, 1, size=(n, 2)), y

    rows, y = draw(20_000)
    model = LinearPSVC(p=1.0, C=1e-3).fit(rows, y)
    bound = generalization_bound(model, rows, y)
    assert not bound.vacuous
    new, answers = draw(20_000)
    assert 1.0 - model.score(new, answers) <= bound.total


def test_more_classes_are_refused():
    rows, y = blobs(classes=3)
    with pytest.raises(ValueError, match="two classes, got a model of 3"):
        generalization_bound(LinearPSVC().fit(rows, y), rows, y)


def test_indefinite_kernels_are_refused():
    model = PSVC(kernel="sigmoid", gamma=0.1).fit(X, Y)
    with pytest.raises(ValueError, match="not positive semidefinite"):
        generalization_bound(model, X, Y)


def test_a_matrix_that_is_not_square_is_refused():
    model = PSVC(kernel="precomputed").fit(MATRICES["rbf"], Y)
    with pytest.raises(ValueError, match=r"square kernel matrix .* got shape \(5, 60\)"):
        generalization_bound(model, MATRICES["rbf"][:5], Y[:5])


def test_an_unknown_loss_is_refused():
    with pytest.raises(ValueError, match="'margin' or 'hinge', got 'ramp'"):
        generalization_bound(LinearPSVC().fit(X, Y), X, Y, loss="ramp")


def test_a_kernel_of_texts_has_the_bound_of_its_matrix():
    texts, y = ["aa", "ab", "ba", "bb", "aab", "bba"], np.array([0, 0, 1, 1, 0, 1])

    def kernel(A, B):
        return np.array([[sum(a.count(c) * b.count(c) for c in "ab") for b in B] for a in A]) * 1.0

    K = kernel(texts, texts)
    own = generalization_bound(PSVC(kernel=kernel).fit(texts, y), texts, y)
    matrix = generalization_bound(PSVC(kernel="precomputed").fit(K, y), K, y)
    assert own.total == pytest.approx(matrix.total)
