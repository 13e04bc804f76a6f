"""A model of time: from what was measured on one or two workers to many.

    seconds = client + (loading and passes * n d + grams * n d^2) / workers   as measured, scaled
              + round trips * (latency + more tasks * cost of a task)         the scheduler
              + bytes of w to every worker, of sums up the tree, of the sample

The round trips are those measured: from the solution of a sample they hardly grow with the rows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

# Bytes per second of 10 Gbit/s, at nine tenths.
NETWORK = 0.9 * 10e9 / 8
# Seconds that the scheduler spends on a task (Dask's documentation says 0.1 to 1 ms: the upper
# end), and how many sums a task of the tree adds up.
TASK, FAN_IN = 1e-3, 8
# Of the sample that the client solves, at most.
SAMPLE_BYTES = 32e6


@dataclass(frozen=True)
class Measured:
    """A fit on a cluster, taken apart."""

    rows: int
    features: int
    workers: int
    round_trips: int
    gram_round_trips: int
    passes: float  # seconds of work of the slowest worker
    grams: float
    loading: float  # in which blocks were read and sampled
    waiting: float
    seconds: float
    tasks: int

    @classmethod
    def of(cls, record: dict[str, Any], rows: int, features: int) -> Measured:
        """From a record of ``measure.on_cluster``."""
        traffic = record["traffic"]
        return cls(
            rows=rows,
            features=features,
            workers=record["workers"],
            round_trips=traffic["round_trips"],
            gram_round_trips=traffic["gram_round_trips"],
            passes=traffic["seconds_of_passes"],
            grams=traffic["seconds_of_grams"],
            loading=traffic["seconds_loading"],
            waiting=traffic["seconds_waiting"],
            seconds=record["seconds"],
            tasks=traffic["tasks"],
        )

    @property
    def client(self) -> float:
        """Seconds of the client: the sample, the systems."""
        return self.seconds - self.waiting

    @property
    def latency(self) -> float:
        """Seconds of a round beside its work."""
        spare = self.waiting - self.loading - self.passes - self.grams
        return max(spare, 0.0) / self.round_trips


def predicted(
    measured: Measured, rows: float, features: int, workers: int, threads: int = 1
) -> float:
    """Seconds of a fit of so many rows on so many workers."""
    hands = workers * threads
    entries = rows * features / (measured.rows * measured.features)
    products = entries * features / measured.features
    share = measured.workers / hands
    work = share * (measured.passes * entries + measured.grams * products)
    # Reading and checking are work in proportion to the entries, too.
    loading = share * entries * measured.loading
    trips = measured.round_trips
    more = hands - measured.workers + (workers - measured.workers) * (1 + 1 / FAN_IN)
    scheduler = trips * (measured.latency + TASK * max(more, 0.0))
    levels = max(1, math.ceil(math.log(max(workers, 2), FAN_IN)))
    w = 8 * features
    sums = trips * 4 * w + measured.gram_round_trips * 8 * (features + 1) ** 2
    network = (trips * w * workers + levels * FAN_IN * sums + SAMPLE_BYTES) / NETWORK
    return measured.client + work + loading + scheduler + network


ROWS, FEATURES, WORKERS = (1e8, 1e9), 100, (16, 64, 256)


def table(measured: Measured, threads: int = 1) -> list[tuple[float, int, float]]:
    """Rows, workers and seconds of the sizes in docs/scale.md."""
    return [
        (rows, workers, predicted(measured, rows, FEATURES, workers, threads))
        for rows in ROWS
        for workers in WORKERS
    ]
