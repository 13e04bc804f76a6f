"""Labels block by block are those of one machine: classes, costs, refusals."""

import numpy as np
import pytest

pytest.importorskip("distributed")

from psvm.dask.blocks import Expected, check_partition, describe
from psvm.dask.targets import Labels, all_labels
from psvm.estimators.labels import encode_labels

EXPECTED = Expected(None, "DaskLinearPSVC", Labels())


def described(y, weight, cuts=(0, 7, 7, 30)):
    X = np.ones((len(y), 2))
    parts = [
        check_partition(k, EXPECTED, X[a:b], y[a:b], weight[a:b])
        for k, (a, b) in enumerate(zip(cuts, (*cuts[1:], len(y)), strict=True))
    ]
    return parts, [describe(part, EXPECTED, len(parts)) for part in parts]


@pytest.mark.parametrize("class_weight", [None, "balanced", {"b": 3.0}])
@pytest.mark.parametrize("C", [0.7, np.inf])
def test_classes_and_costs(class_weight, C):
    rng = np.random.default_rng(0)
    y, weight = rng.choice(["a", "b", "ccc"], size=50), rng.uniform(0.0, 2.0, 50)
    weight[y == "ccc"] = 0.0
    parts, told = described(y, weight)
    found = all_labels(told, class_weight, C)
    local = encode_labels(y, weight, class_weight, C)
    assert list(found.encoder.classes) == list(local.classes) == ["a", "b"]
    rows = [found.encoder.rows(part.y, part.weight) for part in parts]
    cost = np.concatenate([one.cost for one in rows])
    assert cost == pytest.approx(local.cost, rel=1e-14)
    present = cost > 0
    codes = np.concatenate([one.codes for one in rows])
    assert np.array_equal(codes[present], local.codes[present])
    assert np.array_equal(found.rows, np.bincount(codes[present]))
    assert found.total == pytest.approx(np.bincount(codes[present], cost[present]))


@pytest.mark.parametrize(
    ("y", "weight", "C", "message"),
    [
        (["a"] * 40, 1.0, 1.0, "at least two classes"),
        (["a", "b"] * 20, 0.0, 1.0, "zeros only"),
        (["a", "b"] * 20, 1.0, 1e305, "must not sum to more"),
        (["a", "b"] * 20, 1.0, 1e-310, "at least 2.2e-308"),
    ],
)
def test_refusals(y, weight, C, message):
    with pytest.raises(ValueError, match=message):
        all_labels(described(np.array(y), np.full(40, weight))[1], None, C)


def test_labels_of_two_kinds_name_the_partition():
    parts = [np.array([0, 1]), np.array(["u", "v"])]
    told = [
        describe(check_partition(k, EXPECTED, np.ones((2, 1)), y), EXPECTED, 2)
        for k, y in enumerate(parts)
    ]
    with pytest.raises(ValueError, match="partition 1: y has labels of type"):
        all_labels(told, None, 1.0)


@pytest.mark.parametrize(
    ("y", "message"),
    [([0.5, 1.25], "Unknown label type"), ([np.nan, 1.0], "NaN"), ([[1, 2], [2, 1]], "1d array")],
)
def test_what_is_no_label(y, message):
    with pytest.raises(ValueError, match=rf"partition 3: .*{message}"):
        check_partition(3, EXPECTED, np.ones((2, 1)), np.array(y))
