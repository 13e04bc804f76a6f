"""Memory of PSVC: the cache of kernel rows is bounded, and prediction goes by blocks."""

from processes import LINUX, MEMORY, output

PEAK = f"""
    import sys
    import numpy as np
    from psvm import PSVC
    what, cache = sys.argv[1], float(sys.argv[2])
    rng = np.random.default_rng(0)
    X = rng.normal(size=(8000, 80))
    y = np.sign(X[:, 0] + rng.normal(size=8000))
    {MEMORY.strip()}
    if what == "fit":
        before = megabytes("VmHWM")
        PSVC(tol=1e-3, cache_size=cache).fit(X, y)
    else:
        few = PSVC(cache_size=cache).fit(X[:2000], y[:2000])
        before = megabytes("VmHWM")
        few.decision_function(np.tile(X, (12, 1)).astype(np.float32))
    print(megabytes("VmHWM") - before)
"""


@LINUX
def test_cache_size_bounds_the_memory_of_fit():
    """The full kernel takes 256 MB in float32; with a small cache a fit takes a fraction of it."""
    small = float(output(PEAK, "fit", 20))
    large = float(output(PEAK, "fit", 2000))
    assert small < 100
    assert small < large - 50


@LINUX
def test_prediction_is_blocked():
    """96,000 rows against about 2,000 support vectors: the kernel would take 1.5 GB."""
    assert float(output(PEAK, "predict", 100)) < 350
