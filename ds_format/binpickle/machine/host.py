"""What the stack machine asks of its surroundings: names, calls that the table does not have, containers, errors."""

from __future__ import annotations

from typing import Any

from ...errors import DsError, FormatError, UnsafeError
from ...kernels.pickle.machine import Global
from . import containers, opcodes, pandas_arrays, registry
from .known import check_buffer, wrong
from .postponed import Postponed


def _uncalled(function: Any) -> DsError:
    if isinstance(function, type):
        return registry.refused(function.__module__, f"{function.__qualname__}(...)")
    if type(function) is Global:
        return registry.refused(function.module, f"{function.name}(...)")
    return wrong("call", function, "the name of a function or type")


class Host:
    """Serves one run that makes objects."""

    def __init__(self) -> None:
        self._own = registry.own()
        self._handlers = dict(self._own.values())
        self._made: dict[int, tuple[Any, Global]] = {}
        """Objects that handlers of the user have made, by their identity, and their types."""

    def find(self, module: Any, name: Any) -> Any:
        """Return what stands for a name; nothing is imported."""
        if type(module) is not str or type(name) is not str:
            raise FormatError("found a name that is no text")
        if self._own and (found := self._own.get((module, name))) is not None:
            return found[0]
        symbol = registry.SYMBOLS.get((module, name))
        if symbol is None:
            raise registry.refused(module, name)
        fetch = registry.FETCHED.get(symbol) if type(symbol) is Global else None
        return symbol if fetch is None else fetch()

    def call(self, function: Any, args: tuple[Any, ...]) -> Any:
        """Call a handler of the user; what the table knows has been called without this."""
        handler = self._handlers.get(function) if type(function) is Global else None
        if handler is None:
            raise _uncalled(function)
        value = handler.handler(*args)
        self._made[id(value)] = value, function
        return value

    def build(self, target: Any, state: Any) -> Any:
        """Give a state to an object that a handler of the user has made."""
        if pandas_arrays.has_cache(target):
            return target
        own = self._origin(target, "a state")
        setstate = self._handlers[own].setstate
        if setstate is None:
            raise UnsafeError(f"{own} has a state; register its handler with setstate, too")
        setstate(target, state)
        return target

    def extend(self, target: Any, items: list[Any]) -> None:
        """Add items to what is no list."""
        if not containers.extend(target, items):
            self._origin(target, "items")
            for item in items:
                target.append(item)

    def update(self, target: Any, items: list[Any]) -> None:
        """Put keys and values, in turns, into what is no plain dictionary."""
        if not containers.update(target, items):
            self._origin(target, "keys and values")
            for i in range(0, len(items), 2):
                target[items[i]] = items[i + 1]

    def _origin(self, target: Any, what: str) -> Global:
        """Return the type of an object of the user; nothing else may be changed: classes are shared by all."""
        made = self._made.get(id(target))
        if made is None:
            raise UnsafeError(f"gives {what} to {type(target).__name__}, which would change more than it has made")
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
        return opcodes.unknown(op)
