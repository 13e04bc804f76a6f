"""One BLAS thread for a while, safely for fits that overlap in several threads."""

from __future__ import annotations

import os
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
        if _limit is None:
            # Looking for the libraries takes milliseconds: once per process.
            _controller = _controller or ThreadpoolController()
            _limit = _controller.limit(limits=1, user_api="blas")
        _users += 1
    try:
        yield
    finally:
        with _lock:
            _users = max(_users - 1, 0)
            if _users == 0 and _limit is not None:
                # Since threadpoolctl 3.8 only the thread that set a limit of OpenBLAS may change
                # it, and the last to leave need not be the first that came.
                if hasattr(OpenBLASController, "clear_controlling_thread"):
                    OpenBLASController.clear_controlling_thread(force=True)
                _limit.restore_original_limits()
                _limit = None


def _begin_in_child() -> None:
    """The threads that were inside when a process forked are not in the child.

    The lock one of them held would never be released there. A limit stays for the next to leave.
    """
    global _lock, _users
    _lock, _users = Lock(), 0


if hasattr(os, "register_at_fork"):  # where processes fork
    os.register_at_fork(after_in_child=_begin_in_child)
