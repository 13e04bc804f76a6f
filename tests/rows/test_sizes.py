"""The sizes are in an order that the modules which share them rely on."""

from psvm.rows import sizes


def test_a_small_problem_is_one_that_can_be_rescued():
    """Where everything is kept, Newton on the whole matrix is affordable, too."""
    assert 0 < sizes.SMALL < sizes.RESCUE
    assert sizes.RESCUE**2 * 8 <= 200e6  # bytes, as said there


def test_conversion_is_for_arrays_that_are_large_and_mostly_zero():
    assert 0.0 < sizes.MOSTLY_ZERO < 0.5
    assert sizes.WORTH_CONVERTING <= sizes.CHUNK_ENTRIES


def test_a_block_is_made_of_chunks():
    """A temporary copy is at most a part of the block that it is made of."""
    assert sizes.BLOCK_ENTRIES % sizes.CHUNK_ENTRIES == 0
    assert sizes.BLOCK_ENTRIES > sizes.CHUNK_ENTRIES


def test_counts_are_whole_numbers():
    """They are used as steps of ranges and numbers of rows."""
    for name in ("SMALL", "RESCUE", "FEW_STEPS", "MANY_FEATURES", "CHUNK_ENTRIES", "BLOCK_ENTRIES"):
        assert isinstance(getattr(sizes, name), int)
        assert getattr(sizes, name) > 0
