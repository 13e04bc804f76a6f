"""Learning from label proportions: every method against an answer that is known."""

from itertools import product

import cvxpy as cp
import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVR

from psvm import PSVC
from psvm.paper import claims, proportion_table
from psvm.paper.rivals import PROPORTION_METHODS, AlterPropSVM, ConvPropSVM, MeanMap
from psvm.paper.rivals.alter_propsvm import best_labels, labels_of_shares
from psvm.paper.rivals.conv_propsvm import worst_labels
from psvm.paper.rivals.invcal import InvCal
from psvm.paper.rivals.label_proportions import (
    BaggedRows,
    draw_bags,
    means_by_bag,
    rows_of_bags,
    share_error,
    take_bags,
)
from psvm.paper.rivals.meanmap import estimated_sum


def clouds(n=60, distance=1.0, seed=0):
    """Two overlapping clouds, labels -1 and +1."""
    random = np.random.default_rng(seed)
    y = np.where(random.random(n) < 0.4, 1.0, -1.0)
    return random.normal(size=(n, 3)) + distance * y[:, None] * [1.0, 0.5, 0.0], y


def one_row_bags(y):
    """Bags of one row each: the shares are the labels."""
    return BaggedRows(np.arange(len(y)), (y + 1) / 2)


# --- bags ----------------------------------------------------------------------------------------


def test_bags_keep_the_shares_of_the_labels():
    y = clouds(50)[1]
    bagged = draw_bags(y, 8, seed=3)
    assert np.bincount(bagged.bags).tolist() == [8] * 6 + [2]
    for rows, share in zip(rows_of_bags(bagged.bags), bagged.shares, strict=True):
        assert share == np.mean(y[rows] > 0)
    assert not np.array_equal(bagged.bags, draw_bags(y, 8, seed=4).bags)
    with pytest.raises(ValueError, match="at least 1"):
        draw_bags(y, 0, seed=0)


def test_some_bags_are_numbered_anew():
    X, y = clouds(50)
    bagged = draw_bags(y, 10, seed=0)
    rows, part = take_bags(X, bagged, [3, 1])
    np.testing.assert_array_equal(part.shares, bagged.shares[[3, 1]])
    np.testing.assert_allclose(
        means_by_bag(rows, part.bags), means_by_bag(X, bagged.bags)[[3, 1]], rtol=1e-14
    )


def test_the_error_of_the_shares_needs_no_label():
    class Positive:
        def predict(self, X):
            return np.ones(len(X))

    bagged = BaggedRows(np.array([0, 0, 1, 1]), np.array([0.5, 1.0]))
    assert share_error(Positive(), np.zeros((4, 1)), bagged) == 0.25


@pytest.mark.parametrize("method", PROPORTION_METHODS)
def test_wrong_input_is_refused(method):
    X, y = clouds(10)
    bagged = draw_bags(y, 2, seed=0)
    make = PROPORTION_METHODS[method]
    with pytest.raises(ValueError, match="one number per row"):
        make().fit(X, bagged.bags[1:], bagged.shares)
    with pytest.raises(ValueError, match="each of the 4 bags"):
        make().fit(X, bagged.bags, bagged.shares[1:])
    with pytest.raises(ValueError, match="lie in"):
        make().fit(X, bagged.bags, bagged.shares + 1)
    with pytest.raises(ValueError, match="kernel"):
        make(kernel="poly").fit(X, *bagged)
    with pytest.raises(ValueError, match="`C` must be > 0"):
        make(C=0).fit(X, *bagged)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("method", PROPORTION_METHODS)
def test_every_method_tells_distant_clouds_apart(method, kernel):
    """It never sees a label, and yet labels new rows right."""
    X, y = clouds(120, distance=4.0)
    new, truth = clouds(40, distance=4.0, seed=1)
    bagged = draw_bags(y, 8, seed=0)
    model = PROPORTION_METHODS[method](kernel=kernel).fit(X, *bagged)
    assert np.mean(model.predict(new) == truth) == 1.0


# --- MeanMap -------------------------------------------------------------------------------------


def test_class_means_are_recovered_from_the_means_of_bags():
    """Rows that are their class's mean: every bag mixes the two, and the sum is exact."""
    y = clouds(30)[1]
    means = np.array([[1.0, 2.0], [-3.0, 0.5]])
    rows = np.where(y[:, None] > 0, means[0], means[1])
    expected = np.append(y @ rows, y.sum())
    np.testing.assert_allclose(estimated_sum(rows, draw_bags(y, 7, seed=0)), expected, rtol=1e-10)


@pytest.mark.parametrize("C", [0.1, 3.0])
def test_meanmap_with_bags_of_one_row_is_logistic_regression(C):
    X, y = clouds()
    model = MeanMap(C).fit(X, *one_row_bags(y))
    known = LogisticRegression(C=C, tol=1e-10, max_iter=10_000).fit(X, y)
    np.testing.assert_allclose(
        model.decision_function(X), known.decision_function(X), rtol=1e-4, atol=1e-4
    )


# --- InvCal --------------------------------------------------------------------------------------


def test_invcal_is_the_flattest_line_through_the_tube_of_two_bags():
    X = np.array([[0.0], [2.0], [3.0], [7.0]])  # means 1 and 5
    bagged = BaggedRows(np.array([0, 0, 1, 1]), np.array([0.25, 0.75]))
    model = InvCal(1e4, epsilon=0.1).fit(X, *bagged)
    slope = (2 * np.log(3) - 0.2) / 4
    expected = slope * (np.array([0.0, 3.0, 10.0]) - 3.0)
    np.testing.assert_allclose(model.decision_function([[0.0], [3.0], [10.0]]), expected, atol=1e-3)


def test_invcal_is_support_vector_regression_on_the_means():
    X, y = clouds(80)
    bagged = draw_bags(y, 5, seed=2)
    target = np.clip(bagged.shares, 0.02, 0.98)
    known = SVR(kernel="linear", C=0.7, epsilon=0.05, tol=1e-8)
    known.fit(means_by_bag(X, bagged.bags), -np.log(1 / target - 1))
    model = InvCal(0.7, epsilon=0.05, clip=0.02).fit(X, *bagged)
    np.testing.assert_allclose(model.decision_function(X), known.predict(X), atol=0.02)
    with pytest.raises(ValueError, match="clip"):
        InvCal(clip=0.5).fit(X, *bagged)


# --- alter-∝SVM ----------------------------------------------------------------------------------


def share_costs(labels, members, shares):
    return sum(abs(np.mean(labels[rows] > 0) - s) for rows, s in zip(members, shares, strict=True))


@pytest.mark.parametrize("share_cost", [0.1, 1.0, 30.0])
def test_the_labels_of_given_scores_are_the_cheapest_of_all(share_cost):
    random = np.random.default_rng(5)
    scores = 2 * random.normal(size=9)
    bags = np.array([0, 1, 0, 1, 2, 2, 0, 1, 0])
    members, shares = rows_of_bags(bags), np.array([0.5, 1 / 3, 0.0])

    def cost(labels):
        slack = np.maximum(0, 1 - labels * scores).sum()
        return 0.7 * slack + share_cost * share_costs(labels, members, shares)

    found = best_labels(scores, members, shares, 0.7, share_cost)
    least = min(cost(np.array(labels)) for labels in product((-1.0, 1.0), repeat=9))
    assert cost(found) == pytest.approx(least, rel=1e-12)


def test_alter_with_bags_of_one_row_is_the_svm_of_the_labels():
    X, y = clouds()
    model = AlterPropSVM(0.8, share_cost=1e4, starts=1).fit(X, *one_row_bags(y))
    np.testing.assert_array_equal(model.labels_, y)
    known = PSVC(p=1, C=0.8, kernel="linear", tol=1e-8).fit(X, y)
    assert model.objective_ == pytest.approx(known.primal_objective_[0], rel=2e-3)


def test_alter_comes_near_the_best_labelling_of_all():
    """Eight rows, every labelling tried: the best of ten starts is the optimum here."""
    X, y = clouds(8, distance=1.5, seed=4)
    bagged = draw_bags(y, 4, seed=0)
    members = rows_of_bags(bagged.bags)
    lowest = np.inf
    for labels in map(np.array, product((-1.0, 1.0), repeat=8)):
        value = 10.0 * share_costs(labels, members, bagged.shares)
        if len(set(labels)) == 2:
            value += PSVC(p=1, C=1, kernel="linear").fit(X, labels).primal_objective_[0]
        lowest = min(lowest, value)
    model = AlterPropSVM(1.0, share_cost=10.0).fit(X, *bagged)
    assert model.objective_ == pytest.approx(lowest, rel=2e-3)


def test_more_starts_are_no_worse():
    X, y = clouds(40)
    bagged = draw_bags(y, 8, seed=0)
    few, many = (AlterPropSVM(starts=n).fit(X, *bagged).objective_ for n in (1, 6))
    assert many <= few
    with pytest.raises(ValueError, match="starts"):
        AlterPropSVM(starts=0).fit(X, *bagged)


# --- conv-∝SVM -----------------------------------------------------------------------------------


def test_labels_of_shares_take_the_largest_values_of_each_bag():
    bagged = BaggedRows(np.array([0, 1, 0, 1, 1]), np.array([0.5, 2 / 3]))
    labels = labels_of_shares(np.array([1.0, 5.0, 2.0, -1.0, 0.0]), bagged)
    np.testing.assert_array_equal(labels, [-1, 1, 1, -1, 1])


def feasible(bagged):
    """All labellings of the right shares."""
    n = len(bagged.bags)
    every = (np.array(labels) for labels in product((-1.0, 1.0), repeat=n))
    members = rows_of_bags(bagged.bags)
    return [labels for labels in every if share_costs(labels, members, bagged.shares) < 1e-9]


def test_the_worst_labelling_is_found_on_small_data():
    X, y = clouds(9, seed=2)
    bagged = draw_bags(y, 3, seed=0)
    gram = X @ X.T + 1
    values, vectors = np.linalg.eigh(gram)
    directions = vectors[:, values > 1e-9] * np.sqrt(values[values > 1e-9])
    alpha = np.random.default_rng(0).random(9)
    energy = max((alpha * t) @ gram @ (alpha * t) for t in feasible(bagged))
    found = worst_labels(alpha, gram, directions, bagged)
    assert (alpha * found) @ gram @ (alpha * found) == pytest.approx(energy, rel=1e-12)


@pytest.mark.parametrize("C", [0.3, 3.0])
def test_conv_reaches_the_value_of_the_relaxation(C):
    """All feasible labellings at once, by CVXPY."""
    X, y = clouds(9, seed=2)
    bagged = draw_bags(y, 3, seed=0)
    root = np.hstack([X, np.ones((9, 1))])
    alpha, highest = cp.Variable(9), cp.Variable()
    limits = [alpha >= 0, alpha <= C]
    limits += [cp.sum_squares((root * t[:, None]).T @ alpha) <= highest for t in feasible(bagged)]
    problem = cp.Problem(cp.Maximize(cp.sum(alpha) - highest / 2), limits)
    problem.solve(solver="CLARABEL")
    model = ConvPropSVM(C, tol=1e-4).fit(X, *bagged)
    assert model.objective_ == pytest.approx(problem.value, rel=1e-3)
    assert model.weights_.sum() == pytest.approx(1.0)
    with pytest.raises(ValueError, match="max_labellings"):
        ConvPropSVM(max_labellings=0).fit(X, *bagged)


def test_conv_with_bags_of_one_row_is_the_svm_with_a_penalised_intercept():
    X, y = clouds()
    model = ConvPropSVM(0.8).fit(X, *one_row_bags(y))
    assert len(model.labellings_) == 1
    known = PSVC(p=1, C=0.8, kernel="linear", fit_intercept=False, tol=1e-6)
    rows = np.hstack([X, np.ones((len(X), 1))])
    known.fit(rows, y)
    np.testing.assert_allclose(model.decision_function(X), known.decision_function(rows), atol=0.02)


@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_conv_takes_bags_of_one_class(sign):
    X = clouds(10)[0]
    model = ConvPropSVM().fit(X, *one_row_bags(np.full(10, sign)))
    assert np.mean(model.predict(X) == sign) > 0.8


# --- the rerun -----------------------------------------------------------------------------------


def test_the_table_of_a_method(monkeypatch):
    """Few bags, few draws: the shape of the result, and that it can be repeated."""
    monkeypatch.setattr(proportion_table, "split", lambda name: two_parts())
    result = proportion_table.compute("InvCal", "heart", quick=True)
    assert result["method"] == "InvCal"
    assert [line["bag_size"] for line in result["lines"]] == list(proportion_table.QUICK_SIZES)
    for line in result["lines"]:
        assert line["lowest"] <= line["accuracy_percent"] <= line["highest"]
        assert line["draws"] == proportion_table.QUICK_DRAWS
    assert result == proportion_table.compute("InvCal", "heart", quick=True)
    with pytest.raises(ValueError, match="MeanMap, InvCal"):
        proportion_table.compute("MeanMop", "heart")


def two_parts():
    from psvm.paper.recipe import Split

    X, y = clouds(90, distance=2.0)
    return Split(X[:60], X[60:], y[:60], y[60:])


def test_no_test_label_has_a_say_in_the_parameters():
    X, y = clouds(60)
    bagged = draw_bags(y, 4, seed=0)
    chosen = proportion_table.choose("InvCal", X, bagged)
    assert chosen in proportion_table.grid()


@pytest.mark.parametrize(
    ("ours", "words"),
    [(90.0, "above 2 of 2"), (84.0, "above 1 of 2"), (70.0, "above 0 of 2")],
)
def test_the_sentence_about_label_proportions_is_judged_by_its_numbers(ours, words):
    rows = [
        {"dataset": "heart", "method": "pSVM", "variant": "published", "kernel": "exponential"}
        | {"p": p, "accuracy_percent": ours - (p == 1), "published_accuracy_percent": 85.19}
        for p in (1.0, 1.5)
    ]
    line = {"bag_size": 2, "accuracy_percent": 85.0, "lowest": 80.0, "highest": 88.0, "draws": 5}
    lines = [line, line | {"bag_size": 64, "accuracy_percent": 75.0}]
    judged = claims.proportion_claim(rows, [{"method": "MeanMap", "lines": lines}])
    assert words in judged.findings[0]
    assert "MeanMap with bags of 2" in judged.findings[0]
    assert claims.proportion_claim(rows, []).findings == []
    assert claims.proportion_claim([], [{"method": "MeanMap", "lines": lines}]).findings == []
