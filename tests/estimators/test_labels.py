"""Labels as numbers: classes, codes and costs."""

import numpy as np
import pytest

from psvm.estimators.labels import (
    check_class_weight,
    class_codes,
    encode_labels,
    weights_for_all,
)


def test_classes_codes_and_costs():
    y = np.array(["b", "a", "c", "a"])
    labels = encode_labels(y, np.array([1.0, 2.0, 3.0, 0.5]), {"a": 10.0}, C=2.0)
    assert labels.classes.tolist() == ["a", "b", "c"]
    assert labels.codes.tolist() == [1, 0, 2, 0]
    assert labels.cost.tolist() == [2.0, 40.0, 6.0, 10.0]
    assert labels.class_weight.tolist() == [10.0, 1.0, 1.0]


def test_a_label_without_weight_is_no_class():
    labels = encode_labels(np.array([3, 1, 2, 1]), np.array([0.0, 1.0, 1.0, 1.0]), None, C=1.0)
    assert labels.classes.tolist() == [1, 2]
    assert labels.codes[1:].tolist() == [0, 1, 0]
    assert labels.cost.tolist() == [0.0, 1.0, 1.0, 1.0]


def test_an_infinite_cost_of_no_weight_is_none():
    labels = encode_labels(np.array([0, 1, 1]), np.array([1.0, 1.0, 0.0]), None, C=np.inf)
    assert labels.cost.tolist() == [np.inf, np.inf, 0.0]


def test_balanced_classes_cost_the_same_in_all():
    weight = np.array([1.0, 1.0, 2.0, 8.0])
    labels = encode_labels(np.array([0, 0, 0, 1]), weight, "balanced", C=3.0)
    totals = np.bincount(labels.codes, weights=labels.cost)
    np.testing.assert_allclose(totals, 3.0 * weight.sum() / 2)


def test_nothing_is_changed():
    y, weight = np.array([1, 0, 1]), np.array([1.0, 2.0, 3.0])
    y.flags.writeable = weight.flags.writeable = False
    encode_labels(y, weight, None, 1.0)


@pytest.mark.parametrize(
    ("y", "weight", "class_weight", "message"),
    [
        ([1, 1, 1], [1, 1, 1], None, "at least two classes with positive weight, got one class: "),
        ([1, 2, 1], [1, 0, 1], None, r"got one class: \[1\]"),
        ([1, 2, 1], [0, 0, 0], None, "`sample_weight` must be > 0 for some row"),
        ([0.5, 1.5, 2.25], [1, 1, 1], None, "continuous"),
        ([1, 2, 1], [1, 1, 1], {3: 1.0}, r"names no class of y: got \[3\], and y has \[1, 2\]"),
        ([1, 2, 1], [1, 1, 1], {1: -1.0}, "`class_weight` must be finite and > 0"),
    ],
)
def test_errors(y, weight, class_weight, message):
    with pytest.raises(ValueError, match=message):
        encode_labels(np.array(y), np.array(weight, dtype=float), class_weight, 1.0)


@pytest.mark.parametrize("wrong", ["uneven", 3, [1, 2], {1: "a"}, {1: np.inf}, {1: 0.0}, {1: None}])
def test_a_class_weight_is_refused_without_the_classes(wrong):
    with pytest.raises(ValueError, match="class_weight"):
        check_class_weight(wrong)


@pytest.mark.parametrize("at_once", [7, 1000, 2**20])
def test_codes_of_some_rows_at_a_time(at_once):
    y = np.random.default_rng(0).integers(5, size=1000)
    np.testing.assert_array_equal(class_codes(y, np.arange(5), at_once), y)


# --- costs at the ends of the range of float64 --------------------------------------------------


def test_an_infinite_product_of_a_finite_C_is_refused():
    weight = np.array([1.0, 1.0, 1e300, 1.0])
    with pytest.raises(ValueError, match=r"C = 1e\+10 and 4 rows of weight up to 1e\+300"):
        encode_labels(np.array([0, 1, 0, 1]), weight, None, C=1e10)


def test_an_infinite_sum_is_refused():
    """It is the loss at w = 0, and what equal rows are merged to."""
    with pytest.raises(ValueError, match=r"over the rows, got C = 1e\+308 and 4 rows"):
        encode_labels(np.array([0, 1, 0, 1]), np.ones(4), None, C=1e308)


def test_an_infinite_C_is_that_of_every_row_with_weight():
    weight = np.array([1e-320, 1.0, 1e308, 0.0])
    labels = encode_labels(np.array([0, 1, 0, 1]), weight, {0: 1e-300}, C=np.inf)
    assert labels.cost.tolist() == [np.inf, np.inf, np.inf, 0.0]


def test_a_product_that_underflows_is_a_weight_of_0():
    weight = np.array([1.0, 1e-200, 1.0, 1e-200, 1.0])
    labels = encode_labels(np.array([0, 0, 1, 1, 2]), weight, None, C=1e-150)
    assert labels.cost.tolist() == [1e-150, 0.0, 1e-150, 0.0, 1e-150]
    labels = encode_labels(np.array([0, 0, 1, 2, 1]), weight, None, C=1e-150)
    assert labels.classes.tolist() == [0, 1]


def test_balanced_weights_are_those_of_the_rows_that_are_left():
    y, weight = np.array([0, 0, 1, 1]), np.array([1.0, 1e-200, 1.0, 1.0])
    labels = encode_labels(y, weight, "balanced", C=1e-150)
    alone = encode_labels(y[[0, 2, 3]], np.ones(3), "balanced", C=1e-150)
    assert labels.cost[[0, 2, 3]].tolist() == alone.cost.tolist()


def test_a_C_that_underflows_for_all_rows_is_refused():
    with pytest.raises(ValueError, match=r"at least 2\.2e-308 for some row, got C = 9.99989e-321"):
        encode_labels(np.array([0, 1]), np.ones(2), None, C=1e-320)


def test_weights_for_all_costs_of_a_grid():
    y, weight = np.array([0, 1, 0, 1]), np.array([1.0, 1.0, 1e-200, 1.0])
    assert weights_for_all(y, weight, None, np.array([1.0, 10.0])).tolist() == weight.tolist()
    assert weights_for_all(y, weight, None, np.array([1e-150, 1.0])).tolist() == [1, 1, 0, 1]
    with pytest.raises(ValueError, match=r"C = 1e\+308"):
        weights_for_all(y, weight, None, np.array([1.0, 1e308]))
