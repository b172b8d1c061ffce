"""What the stack machine asks of its surroundings while nothing is made: calls are written down.

Lists, tuples, dictionaries, sets and plain values are made as they are, since the kernel bounds them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from ...errors import DsError, FormatError
from ...kernels.pickle.machine import Global, run
from . import opcodes, registry
from .loading import LEAST, PER_BYTE


class Name:
    """What a pickle names."""

    def __init__(self, module: str, name: str) -> None:
        self.module, self.name = module, name

    @property
    def path(self) -> str:
        """Module and name with a colon, as tables have them."""
        return f"{self.module}:{self.name}"

    @property
    def is_known(self) -> bool:
        """Whether `load` may use it."""
        return registry.is_known(self.module, self.name)


class Call:
    """What a pickle calls, or what it gives a state or items though nothing is known of it."""

    def __init__(self, function: Any, args: tuple[Any, ...] = ()) -> None:
        self.function, self.args = function, args
        self.state: Any = None
        self.items: list[Any] = []
        """Of a list, or keys and values in turns."""
        self.is_map = False


class Buffer:
    """A buffer out of band."""

    def __init__(self, number: int, size: int) -> None:
        self.number, self.size = number, size


class Outline:
    """Serves one run that makes nothing."""

    def find(self, module: Any, name: Any) -> Name:
        """Return what stands for a name."""
        if type(module) is not str or type(name) is not str:
            raise FormatError("found a name that is no text")
        return Name(module, name)

    def call(self, function: Any, args: tuple[Any, ...]) -> Call:
        """Write down a call."""
        return Call(function, args)

    def build(self, target: Any, state: Any) -> Call:
        """Write down a state."""
        call = target if type(target) is Call and target.state is None else Call(target)
        call.state = state
        return call

    def extend(self, target: Any, items: list[Any]) -> None:
        """Write down items."""
        if type(target) is Call:
            target.items += items

    def update(self, target: Any, items: list[Any]) -> None:
        """Write down keys and values, in turns."""
        self.extend(target, items)
        if type(target) is Call:
            target.is_map = True

    def read_only(self, buffer: Any) -> Any:
        """Return the buffer."""
        return buffer

    def refused(self, value: Global) -> DsError:
        """Return the error for a name in a wrong place; there is none here, where names are plain objects."""
        return FormatError(f"found {value}")

    def unknown(self, op: int) -> DsError:
        """Return the error for an opcode that the machine does not have."""
        return opcodes.unknown(op)


def outline(pickle: Any, sizes: Iterable[int]) -> Any:
    """Return what a pickle says, made of plain containers and values, and the types of this module.

    Parameters
    ----------
    pickle : buffer
        The pickle.
    sizes : iterable of int
        Bytes of each buffer out of band.

    Raises
    ------
    FormatError
        If it is damaged.
    UnsafeError
        If it has an opcode of old protocols, or one that runs code.
    """
    buffers: Iterator[Buffer] = (Buffer(i, size) for i, size in enumerate(sizes))
    return run(pickle, buffers, {}, Outline(), LEAST + PER_BYTE * memoryview(pickle).nbytes)
