"""All that a pickle may name: the tables of the handlers, and what users have registered."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import Any, NamedTuple

from ...base.forks import renew_lock
from ...errors import UnsafeError
from ...kernels.pickle.machine import Global
from . import containers, numpy_, pandas_, pandas_arrays, scipy_, stdlib_
from .known import Known, shown


class Own(NamedTuple):
    """What a user has registered."""

    handler: Callable[..., Any]
    setstate: Callable[[Any, Any], Any] | None


TABLE: dict[str, Known] = {
    **containers.TABLE,
    **stdlib_.TABLE,
    **numpy_.TABLE,
    **scipy_.TABLE,
    **pandas_arrays.TABLE,
    **pandas_.TABLE,
}
"""`module:name` → what stands for it."""


def _symbol(known: Known, module: str, name: str) -> Any:
    return Global(module, name) if known.value is None else known.value


SYMBOLS: dict[tuple[str, str], Any] = {
    (module, name): _symbol(known, module, name)
    for path, known in TABLE.items()
    for module, _, name in [path.partition(":")]
}
"""Module and name → what comes on the stack: a name to be called, or a class or object that is safe to have."""
CALLS: dict[Any, Callable[..., Any]] = {
    SYMBOLS[module, name]: known.make
    for path, known in TABLE.items()
    if known.make is not None
    for module, _, name in [path.partition(":")]
}
CALLS[stdlib_.FROM_KEY] = stdlib_.zone_of
"""What comes on the stack → what is called in its place."""

FETCHED: dict[Any, Callable[[], Any]] = {
    SYMBOLS[module, name]: known.fetch
    for path, known in TABLE.items()
    if known.fetch is not None
    for module, _, name in [path.partition(":")]
}
"""What is no name, but stands for an object that a library may not have → what returns that."""

_lock = threading.Lock()
renew_lock(sys.modules[__name__], threading.Lock)
_own: dict[tuple[str, str], tuple[Global, Own]] = {}


def own() -> dict[tuple[str, str], tuple[Global, Own]]:
    """Return what users have registered; it is never changed, but replaced."""
    return _own


def register(
    module: str,
    name: str,
    handler: Callable[..., Any],
    *,
    setstate: Callable[[Any, Any], Any] | None = None,
    override: bool = False,
) -> None:
    """Say what loads objects of a type of your own, in this process.

    The handler decides what it makes of its arguments, which come from the file: it should check them.

    Parameters
    ----------
    module, name : str
        What pickles call the type, or the function that makes it: the error of `load` says it.
    handler : callable
        Called with the arguments that `__reduce__` or `__getnewargs__` of the type had given, often none.
    setstate : callable, optional
        Called with the object and its state, if it has one; most often the `__dict__` of the object.
    override : bool
        Replace what was registered before, or what this package does itself.

    Raises
    ------
    ValueError
        If there is a handler already, and `override` is not set.

    Examples
    --------
    >>> import pickle
    >>> from ds_format.binpickle import machine
    >>> class Point:
    ...     def __init__(self, x):
    ...         self.x = x
    ...
    ...     def __reduce__(self):
    ...         return Point, (self.x,)
    >>> Point.__module__ = "shapes"
    >>> machine.register("shapes", "Point", Point)
    >>> from ds_format.binpickle.machine.registry import own
    >>> ("shapes", "Point") in own()
    True
    """
    global _own
    key = (module, name)
    with _lock:
        if not override and (key in SYMBOLS or key in _own):
            raise ValueError(f"{module}.{name} has a handler already; set override=True to replace it")
        _own = {**_own, key: (Global(module, name), Own(handler, setstate))}


def is_known(module: str, name: str) -> bool:
    """Return whether a pickle may name this."""
    return (module, name) in SYMBOLS or (module, name) in _own


def refused(module: str, name: str) -> UnsafeError:
    """Return the error for something that a pickle must not name."""
    return UnsafeError(
        f"{shown(module)}.{shown(name)} is not loaded, since it could run code that the file chooses; "
        "register a handler for it, or load with trusted=True if you trust who wrote the file"
    )
