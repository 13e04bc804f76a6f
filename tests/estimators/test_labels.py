"""Labels as numbers: classes, codes and costs."""

import numpy as np
import pytest

from psvm.estimators.labels import check_class_weight, class_codes, encode_labels


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
