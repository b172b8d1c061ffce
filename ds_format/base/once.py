"""Values computed on access: attributes on the first access, entries of a mapping on each access."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any, Generic, Self, TypeVar, overload

T = TypeVar("T")


class once(Generic[T]):
    """A property that is computed on first access, and then stored as an attribute.

    Threads that access it at the same time may each compute a value, but all get the same object. With
    `functools.cached_property`, each thread could get its own.

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


class OnDemand(Mapping[str, T]):
    """A mapping that makes a value on each look-up, so that it needs no memory for values.

    Each look-up returns a new object. You can change it without an effect on others.

    Parameters
    ----------
    keys : collection of str
    make : callable
        Takes a key, returns the value.

    Examples
    --------
    >>> squares = OnDemand({"2", "3"}, lambda key: int(key) ** 2)
    >>> squares["3"], len(squares), squares.get("4")
    (9, 2, None)
    """

    def __init__(self, keys: Collection[str], make: Callable[[str], T]):
        self._keys, self._make = keys, make

    def __getitem__(self, key: str) -> T:
        if key not in self._keys:
            raise KeyError(key)
        return self._make(key)

    def __contains__(self, key: object) -> bool:
        return key in self._keys

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __len__(self) -> int:
        return len(self._keys)
