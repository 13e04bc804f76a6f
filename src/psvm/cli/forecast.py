"""What a fit will take, told before it begins where that is long."""

from __future__ import annotations

import math
import sys
import time
import warnings
from typing import Any

import numpy as np
from sklearn.base import clone

from psvm.cli.files.training_set import TrainingSet
from psvm.cli.fitted_model import innermost
from psvm.estimators.svc import PSVC
from psvm.estimators.svr import PSVR

# From so many rows on there is a forecast, from two fits of so many of them, whose seconds say how
# the time grows. Kernel machines, then linear ones.
_KERNEL = (20_000, (2_000, 4_000))
_LINEAR = (200_000, (10_000, 20_000))
# The time of a kernel machine grows by a power of the rows within these bounds; others are a busy
# machine's. There, 60,000 rows of 20 features took between a third of the forecast and all of it.
_POWERS = (1.9, 2.2)
# Seconds that a fit of a sample may take, and as a share of a limit.
_MOST, _MOST_SHARE = 5.0, 0.05
WORTH_SAYING = 20.0
"""Seconds from which the forecast is told."""


def forecast(model: Any, rows: TrainingSet, *, max_time: float | None) -> float | None:
    """Seconds that a fit will take; None if there are so few rows that nobody asks.

    Parameters
    ----------
    model : estimator
        Not fitted yet; it stays so.
    rows : TrainingSet
        What it will be fitted to.
    max_time : float or None
        Limit of seconds of the whole fit.
    """
    kernel = isinstance(_unfitted(model), PSVC | PSVR)
    least, sizes = _KERNEL if kernel else _LINEAR
    n = rows.shape[0]
    if n < least:
        return None
    limit = _MOST if max_time is None else min(_MOST, _MOST_SHARE * max_time)
    order = np.random.default_rng(0).permutation(n)
    seconds = []
    for size in sizes:
        chosen = np.sort(order[:size])
        y = rows.y[chosen]
        if np.unique(y).size < 2:
            return None
        sample = clone(model)
        _unfitted(sample).set_params(max_time=limit)
        began = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # they are told of the whole fit
            sample.fit(rows.X[chosen], y)
        seconds.append(time.perf_counter() - began)
    first, second = seconds
    if kernel:
        power = math.log(second / first) / math.log(sizes[1] / sizes[0])
        power = min(max(power, _POWERS[0]), _POWERS[1])
        return float(second * (n / sizes[1]) ** power)
    return float(second + max(second - first, 0.0) * (n - sizes[1]) / (sizes[1] - sizes[0]))


def _unfitted(model: Any) -> Any:
    """The estimator of psvm inside a pipeline and inside what will calibrate it."""
    last = innermost(model)
    return getattr(last, "estimator", last)


def tell(seconds: float, rows: int, model: Any, max_time: float | None) -> None:
    """Say what a fit will take, and what takes less."""
    kernel = isinstance(_unfitted(model), PSVC | PSVR)
    words = [f"psvm: the fit of {rows:,} rows will take about {duration(seconds)}"]
    words.append("(judged by a sample of them).")
    if kernel:
        words.append("Faster: --approximate 300 (an approximate kernel), --linear (no kernel).")
    if max_time is None:
        words.append("--max-time SECONDS bounds it.")
    elif max_time < seconds:
        words.append(f"--max-time {max_time:g} will end it before.")
    sys.stderr.write(" ".join(words) + "\n")


def duration(seconds: float) -> str:
    """Seconds as people say them."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    if seconds < 100 * 60:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.0f} h" if seconds < 100 * 3600 else f"{seconds / 86400:.0f} days"
