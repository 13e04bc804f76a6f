"""Threads that the system refuses to start: said as what it is, with a way out."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def starting_threads() -> Iterator[None]:
    """Inside, threads are started and nothing else is done.

    Raises
    ------
    RuntimeError
        If one cannot start, with Python's own error as its cause.
    """
    try:
        yield
    except RuntimeError as error:
        raise RuntimeError(
            f"The system gives psvm no further thread ({error}). Lower `n_jobs`, or raise the "
            f"limits of this process (ulimit -u for threads, ulimit -v for memory)."
        ) from error
