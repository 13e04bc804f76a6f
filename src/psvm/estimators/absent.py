"""Attributes that a model does not have, with a word about what to use in their place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn


class Absent:
    """An attribute that is not there: ``hasattr`` is False, and the error says why.

    scikit-learn's meta-estimators, and others, ask ``hasattr`` what a model can do. A model may
    still be given the attribute: this has no ``__set__``, so the model's own is found first.

    Parameters
    ----------
    why : callable
        What the error says, given the model.
    """

    def __init__(self, why: Callable[[Any], str]) -> None:
        self._why = why

    def __set_name__(self, owner: type, name: str) -> None:
        """Remember the name of the attribute."""
        self._name = name

    def __get__(self, model: Any, owner: type) -> NoReturn:
        """Say that it is not there."""
        said = f"{owner.__name__} has no {self._name}"
        said += "." if model is None else f": {self._why(model)}"
        raise AttributeError(said, name=self._name, obj=model)


def no_probabilities() -> Absent:
    """A classifier whose decision values are not calibrated."""
    return Absent(
        lambda model: (
            "its decision values are not calibrated. Use PSVCCV, which fits probabilities to what "
            "its splits hold out, or "
            f"sklearn.calibration.CalibratedClassifierCV({type(model).__name__}(...))."
        )
    )
