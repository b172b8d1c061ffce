"""What is made of an object when it is first asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, Self, TypeVar, overload

T = TypeVar("T")


class once(Generic[T]):
    """A property that is made when it is first asked for, and then is an attribute.

    Threads that ask at once may each make one, but all of them get the same; `functools.cached_property` gives each
    its own.

    Examples
    --------
    >>> class Circle:
    ...     @once
    ...     def points(self):
    ...         return [0, 1]
    >>> circle = Circle()
    >>> circle.points is circle.points
    True
    """

    def __init__(self, make: Callable[[Any], T]):
        self._make = make
        self.__doc__ = make.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, instance: None, owner: type) -> Self: ...

    @overload
    def __get__(self, instance: object, owner: type) -> T: ...

    def __get__(self, instance: object, owner: type) -> T | Self:
        if instance is None:
            return self
        made: T = vars(instance).setdefault(self._name, self._make(instance))
        return made
