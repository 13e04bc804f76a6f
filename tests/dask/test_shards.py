"""Blocks are dealt out evenly, and stay where they are if they can."""

import pytest

pytest.importorskip("distributed")

from psvm.dask.shards import dealt, evened, shards_of


def test_hands_are_even():
    parts = dealt([5, 1, 1, 1, 1, 1], 2)
    assert sorted(map(len, parts)) == [1, 5]
    assert sorted(k for part in parts for k in part) == list(range(6))
    assert len(dealt([3, 3], 5)) == 2


def test_a_shard_for_each_thread_unless_that_were_too_large():
    sizes, holders = [10] * 8, ["a"] * 4 + ["b"] * 4
    assert len(shards_of(sizes, holders, {"a": 1, "b": 2}, float("inf"))) == 3
    # A seventh of a thread's memory is the most.
    shards = shards_of(sizes, holders, {"a": 1, "b": 2}, 140.0)
    assert len(shards) > 3
    assert max(sum(sizes[k] for k in one.blocks) for one in shards) <= 21
    assert sorted(k for one in shards for k in one.blocks) == list(range(8))
    assert {one.worker for one in shards if 0 in one.blocks} == {"a"}


def test_blocks_stay_or_go_to_those_that_have_less():
    holders = ["a", "a", "b", "b"]
    assert evened([1] * 4, holders, {"a": 1, "b": 1}) == holders
    moved = evened([1] * 4, holders, {"a": 1, "b": 1, "c": 2})
    assert sorted(moved) == ["a", "b", "c", "c"]
    assert evened([1] * 4, holders, {"b": 1}) == ["b"] * 4  # a is gone
    assert sorted(evened([1] * 4, [None] * 4, {"a": 1, "b": 1})) == ["a", "a", "b", "b"]
    assert evened([1], ["a"], {}) == ["a"]
