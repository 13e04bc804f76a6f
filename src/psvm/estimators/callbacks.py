"""scikit-learn's callbacks (1.9 and later), or nothing in older versions.

Every outer iteration of a solver is a task ``"round"`` of the fit, with the gap and the objective
values in its metadata; a callback that answers True at the end of a round stops the fit there.
Every cell of a search is a task ``"cell"`` with its parameters and mean score.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

try:
    from sklearn.callback import CallbackSupportMixin
    from sklearn.callback import with_callbacks as _with_callbacks
except ImportError:  # scikit-learn < 1.9
    # Either this class or the imported one, which a type checker cannot see as one name.
    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Stands in for scikit-learn's mixin."""

    _with_callbacks = None

_Method = TypeVar("_Method", bound=Callable[..., Any])


def with_callbacks(method: _Method) -> _Method:
    """A fit that ends its callbacks however it ends, of the type that it has without them.

    scikit-learn's decorator has no types: by itself it would make every ``fit`` one of anything.
    """
    decorated: _Method = method if _with_callbacks is None else _with_callbacks(method)
    return decorated


__all__ = ["CallbackSupportMixin", "FitReporter", "with_callbacks"]


class FitReporter:
    """Tells the callbacks of an estimator about its fit and the rounds in it."""

    def __init__(self, estimator: Any, X: Any, y: Any) -> None:
        self.active = bool(getattr(estimator, "_skl_callbacks", None))
        if not self.active:
            return
        self._estimator, self._data = estimator, {"X": X, "y": y}
        self._context = estimator._init_callback_context(max_subtasks=None)
        self._context.call_on_fit_task_begin(estimator=estimator, **self._data)

    def round(self, problem: int, record: dict[str, Any]) -> bool:
        """Tell of one outer iteration; a true answer stops the solve of this binary problem."""
        return self.task("round", {**record, "problem": problem})

    def task(self, name: str, metadata: dict[str, Any]) -> bool:
        """Tell of one finished part of the fit; a true answer asks to stop."""
        if not self.active:
            return False
        context = self._context.subcontext(task_name=name)
        told = {"estimator": self._estimator, **self._data, "metadata": metadata}
        context.call_on_fit_task_begin(**told)
        return bool(context.call_on_fit_task_end(**told))

    def end(self) -> None:
        """The fit is over."""
        if self.active:
            self._context.call_on_fit_task_end(estimator=self._estimator, **self._data)
