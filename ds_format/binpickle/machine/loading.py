"""Pickle and buffers → object: all allowed names, and the callbacks of the stack machine.

A pickle may contain names from the tables of the handlers, and registered names. Nothing is imported.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from ...base.threads import renew_lock
from ...errors import DsError, FormatError, UnsafeError
from ...kernels.pickle.machine import Global, run
from . import numpy_, pandas_, stdlib_
from .allowed import AllowedName, Postponed, check_buffer, shown, wrong

RUN_CODE = {
    0x63: "GLOBAL",
    0x69: "INST",
    0x6F: "OBJ",
    0x50: "PERSID",
    0x51: "BINPERSID",
    0x82: "EXT1",
    0x83: "EXT2",
    0x84: "EXT4",
    0x92: "NEWOBJ_EX",
}
"""Opcodes that import or call names of the file. Writers since protocol 4 use STACK_GLOBAL, REDUCE and NEWOBJ."""
OLD = {
    0x46: "FLOAT",
    0x49: "INT",
    0x4C: "LONG",
    0x53: "STRING",
    0x54: "BINSTRING",
    0x55: "SHORT_BINSTRING",
    0x56: "UNICODE",
    0x64: "DICT",
    0x67: "GET",
    0x6C: "LIST",
    0x70: "PUT",
}
"""Opcodes of protocols 0 and 1."""
ADVICE = "; load it with trusted=True if you trust who wrote the file"


def unknown_opcode(op: int) -> DsError:
    """Return the error for an opcode that the machine does not have.

    Parameters
    ----------
    op : int
        The byte.
    """
    if op in RUN_CODE:
        return UnsafeError(f"found the opcode {RUN_CODE[op]}, which runs code that the file names{ADVICE}")
    if op in OLD:
        return UnsafeError(f"found the opcode {OLD[op]} of pickle protocol 0 or 1, which no writer uses{ADVICE}")
    return FormatError(f"found the byte {op:#04x}, expected an opcode")


class Handler(NamedTuple):
    """The functions that a user registered for a type."""

    handler: Callable[..., Any]
    setstate: Callable[[Any, Any], Any] | None


TABLE: dict[str, AllowedName] = {
    **stdlib_.TABLE,
    **numpy_.TABLE,
    **pandas_.TABLE,
}
"""`module:name` → its row."""


def _symbol(row: AllowedName, module: str, name: str) -> Any:
    return Global(module, name) if row.value is None else row.value


SYMBOLS: dict[tuple[str, str], Any] = {
    (module, name): _symbol(row, module, name)
    for path, row in TABLE.items()
    for module, _, name in [path.partition(":")]
}
"""Module and name → the object pushed on the stack: a name to be called, or a class or object that is safe to have."""
CALLS: dict[Any, Callable[..., Any]] = {
    SYMBOLS[module, name]: row.make
    for path, row in TABLE.items()
    if row.make is not None
    for module, _, name in [path.partition(":")]
}
CALLS[stdlib_.FROM_KEY] = stdlib_.zone_of
"""Object on the stack → the function that is called in its place."""

FETCHED: dict[Any, Callable[[], Any]] = {
    SYMBOLS[module, name]: row.fetch
    for path, row in TABLE.items()
    if row.fetch is not None
    for module, _, name in [path.partition(":")]
}
"""Placeholder of an object that a library may not have → the function that returns the object."""

_lock = threading.Lock()
renew_lock(sys.modules[__name__], threading.Lock)
_registered: dict[tuple[str, str], tuple[Global, Handler]] = {}


def registered() -> dict[tuple[str, str], tuple[Global, Handler]]:
    """Return the registered handlers. The dict is never changed, only replaced."""
    return _registered


def register(
    module: str,
    name: str,
    handler: Callable[..., Any],
    *,
    setstate: Callable[[Any, Any], Any] | None = None,
    override: bool = False,
) -> None:
    """Register a handler that loads objects of a type of your own, in this process.

    The arguments of the handler come from the file, so it should check them.

    Parameters
    ----------
    module, name : str
        Name in pickles of the type, or of the function that makes it. The error of `load` shows it.
    handler : callable
        Called with the arguments that `__reduce__` or `__getnewargs__` of the type returned, often none.
    setstate : callable, optional
        Called with the object and its state, if it has one. Usually this is the `__dict__` of the object.
    override : bool
        Replace an earlier handler, or one of this package.

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
    >>> from ds_format.binpickle.machine.loading import registered
    >>> ("shapes", "Point") in registered()
    True
    """
    global _registered
    key = (module, name)
    with _lock:
        if not override and (key in SYMBOLS or key in _registered):
            raise ValueError(f"{module}.{name} has a handler already; set override=True to replace it")
        _registered = {**_registered, key: (Global(module, name), Handler(handler, setstate))}


def is_allowed(module: str, name: str) -> bool:
    """Return whether a pickle may contain this name."""
    return (module, name) in SYMBOLS or (module, name) in _registered


def refused(module: str, name: str) -> UnsafeError:
    """Return the error for a name that is not allowed in a pickle."""
    return UnsafeError(
        f"{shown(module)}.{shown(name)} is not loaded, since it could run code that the file chooses; "
        "register a handler for it, or load with trusted=True if you trust who wrote the file"
    )


def _uncalled(function: Any) -> DsError:
    if isinstance(function, type):
        return refused(function.__module__, f"{function.__qualname__}(...)")
    if type(function) is Global:
        return refused(function.module, f"{function.name}(...)")
    return wrong("call", function, "the name of a function or type")


class Host:
    """Callbacks of one run of the machine that makes objects."""

    def __init__(self) -> None:
        self._own = registered()
        self._handlers = dict(self._own.values())
        self._made: dict[int, tuple[Any, Global]] = {}
        """Objects that handlers of the user have made, by their identity, and their types."""

    def find(self, module: Any, name: Any) -> Any:
        """Return the object for a name. Nothing is imported."""
        if type(module) is not str or type(name) is not str:
            raise FormatError("found a name that is not text")
        if self._own and (found := self._own.get((module, name))) is not None:
            return found[0]
        symbol = SYMBOLS.get((module, name))
        if symbol is None:
            raise refused(module, name)
        fetch = FETCHED.get(symbol) if type(symbol) is Global else None
        return symbol if fetch is None else fetch()

    def call(self, function: Any, args: tuple[Any, ...]) -> Any:
        """Call a handler of the user. The machine calls those of the table itself."""
        handler = self._handlers.get(function) if type(function) is Global else None
        if handler is None:
            raise _uncalled(function)
        value = handler.handler(*args)
        self._made[id(value)] = value, function
        return value

    def build(self, target: Any, state: Any) -> Any:
        """Set the state of an object that a handler of the user made."""
        if pandas_.has_cache(target):
            return target
        own = self._origin(target, "a state")
        setstate = self._handlers[own].setstate
        if setstate is None:
            raise UnsafeError(f"{own} has a state; register its handler with setstate, too")
        setstate(target, state)
        return target

    def extend(self, target: Any, items: list[Any]) -> None:
        """Add items to an object that is not a list."""
        if not stdlib_.extend_deque(target, items):
            self._origin(target, "items")
            for item in items:
                target.append(item)

    def update(self, target: Any, items: list[Any]) -> None:
        """Put alternating keys and values into an object that is not a plain dictionary."""
        if not stdlib_.update_map(target, items):
            self._origin(target, "keys and values")
            for i in range(0, len(items), 2):
                target[items[i]] = items[i + 1]

    def _origin(self, target: Any, what: str) -> Global:
        """Return the type of an object that a handler of the user made. No other object may be changed."""
        made = self._made.get(id(target))
        if made is None:
            raise UnsafeError(f"gives {what} to {type(target).__name__}, which the pickle did not make")
        return made[1]

    def read_only(self, buffer: Any) -> Any:
        """Return a view that cannot be written to."""
        if type(buffer) is Postponed:
            return buffer
        return memoryview(check_buffer("READONLY_BUFFER", buffer)).toreadonly()

    def refused(self, value: Global) -> DsError:
        """Return the error for the name of a function, or of a type, in place of a value."""
        return UnsafeError(f"{value} is part of the object; only trusted=True loads functions and types")

    def unknown(self, op: int) -> DsError:
        """Return the error for an opcode that the machine does not have."""
        return unknown_opcode(op)


PER_BYTE = 256
"""Bytes of memory that one byte of a pickle may need: the opcode of an empty set makes 216."""
LEAST = 1 << 20
"""Bytes that any pickle may need."""


def load(pickle: Any, buffers: Iterable[Any] = (), *, budget: int | None = None) -> Any:
    """Return the object of a pickle, without running code that the pickle names.

    Parameters
    ----------
    pickle : buffer
        The pickle, of protocol 4 or 5.
    buffers : iterable of bytes, bytearray, memoryview, PickleBuffer or Postponed
        The out-of-band buffers, in order. Arrays share memory with them, and are read-only if they are. A buffer that
        `postponable` allows may be a placeholder. Its array is then a placeholder, too.
    budget : int, optional
        Bytes that objects may take, without buffers. It is limited in proportion to the size of the pickle.

    Returns
    -------
    object
        The pickled object. In-band arrays keep their byte order.

    Raises
    ------
    UnsafeError
        If anything in it has no handler; the message names it, and the ways to load it.
    FormatError
        If it is damaged; the message has the offset of the byte.

    Examples
    --------
    >>> import pickle
    >>> import numpy as np
    >>> from ds_format.binpickle import machine
    >>> buffers = []
    >>> data = pickle.dumps({"x": np.arange(3)}, 5, buffer_callback=buffers.append)
    >>> machine.load(data, buffers)
    {'x': array([0, 1, 2])}
    >>> machine.load(pickle.dumps(print))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    ds_format.errors.UnsafeError: pickle, byte 30: builtins.print is not loaded, since it could run code that ...
    """
    size = memoryview(pickle).nbytes
    most = LEAST + PER_BYTE * size
    return run(pickle, iter(buffers), CALLS, Host(), most if budget is None else min(budget, most))
