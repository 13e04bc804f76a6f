"""One BLAS thread for a while, safely for fits that overlap in several threads."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Any

from threadpoolctl import OpenBLASController, ThreadpoolController

_lock = Lock()
_users = 0
_controller: ThreadpoolController | None = None
_limit: Any = None


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit BLAS to one thread while any thread is inside.

    The limit is one of the whole process: the first to enter sets it, the last to leave restores
    what was there. Small systems and problems solved in parallel are slowed down by BLAS threads.
    """
    global _users, _controller, _limit
    with _lock:
        if _users == 0:
            # Looking for the libraries takes milliseconds: once per process.
            _controller = _controller or ThreadpoolController()
            _limit = _controller.limit(limits=1, user_api="blas")
        _users += 1
    try:
        yield
    finally:
        with _lock:
            _users -= 1
            if _users == 0:
                # Since threadpoolctl 3.8 only the thread that set a limit of OpenBLAS may change
                # it, and the last to leave need not be the first that came.
                if hasattr(OpenBLASController, "clear_controlling_thread"):
                    OpenBLASController.clear_controlling_thread(force=True)
                _limit.restore_original_limits()
