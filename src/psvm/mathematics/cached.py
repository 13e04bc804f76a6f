"""Properties that are computed once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, Self, TypeVar, overload

T = TypeVar("T")


class cached_property(Generic[T]):
    """A property that is computed at its first use, and then an attribute of the object.

    As in functools, but in Python 3.11 that one takes a lock, one for all objects of a class: fits
    in several threads would wait for each other, a process forked meanwhile would wait forever.
    """

    def __init__(self, compute: Callable[[Any], T]) -> None:
        self._compute, self.__doc__ = compute, compute.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, instance: None, owner: type) -> Self: ...

    @overload
    def __get__(self, instance: object, owner: type) -> T: ...

    def __get__(self, instance: object | None, owner: type) -> Self | T:
        """The value, which from now on hides this."""
        if instance is None:
            return self
        value = instance.__dict__[self._name] = self._compute(instance)
        return value
