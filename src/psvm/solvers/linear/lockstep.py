"""Many generators of orders, answered together."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from typing import Any

import numpy as np

from psvm.solvers.linear.passes import Order

Orders = Generator[Order, Any, Any]


def in_lockstep(
    answer: Callable[[Mapping[int, Order]], dict[int, Any]], runs: Mapping[int, Orders]
) -> dict[int, Any]:
    """Run generators to their end, answering the orders of all of them together.

    An answer that is an exception (``RowsLost``, ``OutOfTime``) is raised where the order was
    given.
    """
    outcomes: dict[int, Any] = {}
    answers: dict[int, Any] = dict.fromkeys(runs)
    # Far from the solution a large power may overflow: such points are never the best. (Here, as
    # generators would leave it to others at every order.)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        while answers:
            orders: dict[int, Order] = {}
            for t, value in answers.items():
                try:
                    run = runs[t]
                    orders[t] = (
                        run.throw(value) if isinstance(value, Exception) else run.send(value)
                    )
                except StopIteration as end:
                    outcomes[t] = end.value
            answers = answer(orders) if orders else {}
    return outcomes
