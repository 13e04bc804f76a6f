"""Ctrl-C: whether it came, and what the user is told was kept."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import current_thread, main_thread
from typing import Any


@contextmanager
def telling_what_is_kept(path: Path | None) -> Iterator[None]:
    """On Ctrl-C in the block, say that nothing is written, and what of an older file there is.

    Parameters
    ----------
    path : Path or None
        The file that the block works for; None or ``-`` is standard output.
    """
    try:
        yield
    except KeyboardInterrupt:
        if path is None or str(path) == "-":
            kept = "what is on standard output is not all of it"
        elif path.exists():
            kept = f"{path} is as it was before"
        else:
            kept = f"{path} is not written"
        sys.stderr.write(f"psvm: stopped by Ctrl-C; {kept}\n")
        raise


class CtrlC:
    """Notes that Ctrl-C came while its block ran, where code inside goes on after it."""

    came = False

    def __enter__(self) -> CtrlC:
        self._before: Any = None
        if current_thread() is main_thread():
            self._before = signal.signal(signal.SIGINT, self._note)
        return self

    def _note(self, *_: Any) -> None:
        self.came = True
        raise KeyboardInterrupt

    def __exit__(self, *_: object) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)
