"""A pickle as a record of its calls, without making objects: the arrays that can be read later, and a tree.

Lists, tuples, dictionaries, sets and plain values are made, because the kernel limits them. An array can be read later
if it is only a part of containers. If a call uses it, the array is read first.

The tree of an object has dtypes and shapes, but no data. Its size is limited, however large the object is and however
often its parts are shared.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from ...errors import DsError, FormatError
from ...kernels.pickle.machine import Global, run
from . import loading, numpy_
from .allowed import shown
from .loading import LEAST, PER_BYTE
from .numpy_ import both


class Name:
    """A name in a pickle."""

    def __init__(self, module: str, name: str) -> None:
        self.module, self.name = module, name

    @property
    def path(self) -> str:
        """Module and name with a colon, as in the tables."""
        return f"{self.module}:{self.name}"

    @property
    def is_allowed(self) -> bool:
        """Whether `load` may use it."""
        return loading.is_allowed(self.module, self.name)


class Call:
    """A call in a pickle, with the state and the items that follow it."""

    def __init__(self, function: Any, args: tuple[Any, ...] = ()) -> None:
        self.function, self.args = function, args
        self.state: Any = None
        self.items: list[Any] = []
        """Items of a list, or alternating keys and values."""
        self.is_map = False


class Buffer:
    """A buffer out of band."""

    def __init__(self, number: int, size: int) -> None:
        self.number, self.size = number, size


class Outline:
    """Callbacks of one run of the machine that only records."""

    def find(self, module: Any, name: Any) -> Name:
        """Return the record of a name."""
        if type(module) is not str or type(name) is not str:
            raise FormatError("found a name that is not text")
        return Name(module, name)

    def call(self, function: Any, args: tuple[Any, ...]) -> Call:
        """Record a call."""
        return Call(function, args)

    def build(self, target: Any, state: Any) -> Call:
        """Record a state."""
        call = target if type(target) is Call and target.state is None else Call(target)
        call.state = state
        return call

    def extend(self, target: Any, items: list[Any]) -> None:
        """Record items."""
        if type(target) is Call:
            target.items += items

    def update(self, target: Any, items: list[Any]) -> None:
        """Record alternating keys and values."""
        self.extend(target, items)
        if type(target) is Call:
            target.is_map = True

    def read_only(self, buffer: Any) -> Any:
        """Return the buffer."""
        return buffer

    def refused(self, value: Global) -> DsError:
        """Return the error for a name in a wrong position. It does not happen here, where names are plain objects."""
        return FormatError(f"found {value}")

    def unknown(self, op: int) -> DsError:
        """Return the error for an opcode that the machine does not have."""
        return loading.unknown_opcode(op)


def outline(pickle: Any, sizes: Iterable[int]) -> Any:
    """Return the content of a pickle as plain containers and values, and the types of this module.

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


KINDS = frozenset("biufcSUV")
"""Kinds of dtypes whose arrays can be read later."""
FROM_BUFFER = frozenset(both("numeric:_frombuffer"))
MASKED = frozenset({"numpy.ma:MaskedArray", "numpy.ma.core:MaskedArray"})
METADATA = "."
"""The entry of a dataset whose arrays are attributes."""
WALKED_CONTAINERS = frozenset({dict, list, tuple, set, frozenset, Call})
WALKED = WALKED_CONTAINERS | {Buffer}


def postponable(pickle: Any, sizes: Iterable[int]) -> set[int]:
    """Return the numbers of buffers that are only arrays in dictionaries and lists, so that they can be read later.

    Parameters
    ----------
    pickle : buffer
    sizes : iterable of int
        Bytes of each buffer. Empty buffers are not in the result.

    Raises
    ------
    FormatError, UnsafeError
        As from `outline`.
    """
    sizes = list(sizes)
    if not sizes:
        return set()
    found: set[int] = set()
    needed: set[int] = set()
    seen: set[tuple[int, bool]] = set()
    todo: list[tuple[Any, bool]] = [(outline(pickle, sizes), True)]
    while todo:
        value, is_open = todo.pop()
        kind = type(value)
        if kind is Buffer:
            needed.add(value.number)
        if kind not in WALKED_CONTAINERS or (id(value), is_open) in seen:
            continue
        seen.add((id(value), is_open))
        if kind is Call and is_open and (numbers := _numbers(value)):
            found.update(numbers)
        elif kind is Call:
            todo += [(part, False) for part in (value.function, *value.args, value.state, *value.items)]
        elif kind is dict:
            todo += [(key, False) for key in value if type(key) in WALKED]
            todo += [(part, is_open and key != METADATA) for key, part in value.items() if type(part) in WALKED]
        else:
            is_open = is_open and kind in (list, tuple)
            todo += [(part, is_open) for part in value if type(part) in WALKED]
    return {number for number in found - needed if sizes[number]}


def _numbers(call: Call) -> list[int]:
    """Return the buffers of a call that makes an array or a masked array, else an empty list."""
    path = call.function.path if type(call.function) is Name else ""
    if call.state is not None or call.items:
        return []
    if path in MASKED and len(call.args) == 2:
        both = [_numbers(arg) if type(arg) is Call and arg.function is not call.function else [] for arg in call.args]
        return both[0] + both[1] if all(len(one) == 1 for one in both) else []
    if path in FROM_BUFFER and len(call.args) in (4, 5) and type(call.args[0]) is Buffer:
        return [call.args[0].number] if _kind(call.args[1]) in KINDS else []
    return []


def _kind(dtype: Any) -> str:
    """Return the kind of a dtype, or an empty string if it is not one."""
    if type(dtype) is not Call or type(dtype.function) is not Name or dtype.function.path != "numpy:dtype":
        return ""
    text = dtype.args[0] if dtype.args else ""
    return text[:1] if type(text) is str else ""


DEPTH, WIDTH, MOST = 16, 100, 2000
"""Levels of a tree, children of a node, and nodes in all."""
TEXT = 60
"""Characters of a value."""
INLINE = 4
"""Arguments of a call that are shown in its own line, if they are plain values."""
CONTAINERS = (dict, list, tuple, set, frozenset)
PARENTS = (*CONTAINERS, Name, Call, Buffer)


class Node(NamedTuple):
    """An object and its parts."""

    kind: str
    """Its type; `module.name` unless it is a builtin type or an array."""
    text: str = ""
    """Its value, or its dtype, shape, and the position of its values."""
    children: tuple[tuple[str, Node], ...] = ()
    """Names, keys or numbers, and objects."""
    n: int = 0
    """Number of all children, of which `children` has the first ones."""
    refused: bool = False
    """Whether `load` refuses it, unless it is registered or the file is trusted."""

    def lines(self, label: str = "", indent: str = "") -> Iterator[str]:
        """Iterate over the lines of the tree as text."""
        note = "  (refused: register a handler, or trusted=True)" if self.refused else ""
        gap = " " if self.text and not self.text.startswith("(") else ""
        yield f"{indent}{label}{': ' if label else ''}{self.kind}{gap}{self.text}{note}"
        for name, child in self.children:
            yield from child.lines(name, indent + "  ")
        if self.n > len(self.children):
            yield f"{indent}  ... {self.n - len(self.children)} more"

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def as_json(self) -> dict[str, Any]:
        """Return the tree as plain dictionaries and lists, without empty entries."""
        children = [[name, child.as_json()] for name, child in self.children]
        parts = {"kind": self.kind, "text": self.text, "n": self.n, "refused": self.refused, "children": children}
        return {key: value for key, value in parts.items() if value}

    def refusals(self) -> list[str]:
        """Return the distinct names in this tree that `load` refuses."""
        own = [self.kind] if self.refused else []
        return list(dict.fromkeys(own + [kind for _, child in self.children for kind in child.refusals()]))


def tree(pickle: Any, entries: Iterable[Any] = (), *, depth: int = DEPTH, width: int = WIDTH) -> Node:
    """Return the tree of the object of a pickle. Nothing is built, imported or called.

    Parameters
    ----------
    pickle : buffer
        The pickle.
    entries : iterable
        Entries of the index for the buffers. Only `dec_length` is used.
    depth, width : int
        Levels of the tree, and children of each node.

    Returns
    -------
    Node
        The root of at most 2000 nodes.

    Raises
    ------
    FormatError
        If the pickle is damaged.
    UnsafeError
        If it has an opcode that cannot be read without running code.

    Examples
    --------
    >>> import pickle
    >>> from ds_format.binpickle import machine
    >>> print(machine.tree(pickle.dumps({"a": [1, 2.5], "b": print}, 5)))
    dict 2 entries
      'a': list 2 items
        0: int 1
        1: float 2.5
      'b': builtins.print  (refused: register a handler, or trusted=True)
    """
    return _Describer(depth, width).node(outline(pickle, [entry.dec_length for entry in entries]), 0)


class _Describer:
    """Builds the nodes of one tree."""

    def __init__(self, depth: int, width: int) -> None:
        self.depth, self.width, self.left = min(depth, DEPTH), width, MOST
        self.seen: set[int] = set()

    def node(self, value: Any, level: int) -> Node:
        """Return the node of anything in an outline."""
        self.left -= 1
        if type(value) is Name:
            return Node(_name(value), refused=not value.is_allowed)
        if type(value) is Buffer:
            return Node("buffer", _place(value))
        if type(value) is Call:
            return self._call(value, level)
        if type(value) in CONTAINERS:
            unit = "entries" if type(value) is dict else "items"
            text = f"{len(value)} {unit if len(value) != 1 else 'entry' if type(value) is dict else 'item'}"
            return self._parent(value, type(value).__name__, text, _children(value), len(value), level)
        return Node(type(value).__name__, _value(value))

    def _call(self, call: Call, level: int) -> Node:
        function, n = call.function, _n_parts(call)
        if type(function) is not Name:
            return self._parent(call, "call", "", _parts(call), n, level)
        described = _array(call)
        if described is not None:
            state = call.args[0].state if function.path in MASKED else call.state
            items = state[-1] if type(state) is tuple and state and type(state[-1]) is list else []
            return self._parent(call, *described, _children(items), len(items), level)
        if n == len(call.args) <= INLINE and not any(isinstance(arg, PARENTS) for arg in call.args):
            node = Node(_name(function), f"({', '.join(map(_value, call.args))})")
        else:
            node = self._parent(call, _name(function), "", _parts(call), n, level)
        return node._replace(refused=not function.is_allowed)

    def _parent(
        self, value: Any, kind: str, text: str, children: Iterator[tuple[str, Any]], n: int, level: int
    ) -> Node:
        """Return a node with as many children as the limits allow, or none if they are shown elsewhere."""
        if n and id(value) in self.seen:
            return Node(kind, f"{text} (as above)".strip())
        self.seen.add(id(value))
        nodes: list[tuple[str, Node]] = []
        if level < self.depth:
            for label, child in children:
                if len(nodes) == self.width or self.left <= 0:
                    break
                nodes.append((label, self.node(child, level + 1)))
        return Node(kind, text, tuple(nodes), n)


def _children(value: Any) -> Iterator[tuple[str, Any]]:
    if type(value) is dict:
        return ((_label(key), entry) for key, entry in value.items())
    return ((str(i), entry) for i, entry in enumerate(value))


def _parts(call: Call) -> Iterator[tuple[str, Any]]:
    """Iterate over the parts of a call, with labels."""
    yield from ((f"argument {i}", arg) for i, arg in enumerate(call.args))
    if type(call.state) is dict:
        yield from _children(call.state)
    elif call.state is not None:
        yield "state", call.state
    if call.is_map:
        pairs = zip(call.items[::2], call.items[1::2], strict=True)
        yield from ((_label(key), entry) for key, entry in pairs)
    else:
        yield from ((str(i), entry) for i, entry in enumerate(call.items))


def _n_parts(call: Call) -> int:
    states = len(call.state) if type(call.state) is dict else call.state is not None
    return len(call.args) + states + len(call.items) // (1 + call.is_map)


def _name(name: Name) -> str:
    return f"{shown(name.module)}.{shown(name.name)}"


def _label(key: Any) -> str:
    return _value(key) if not isinstance(key, PARENTS) else f"a {type(key).__name__.lower()}"


def _value(value: Any) -> str:
    """Return a plain value as text, truncated if it is long. Huge numbers would take long."""
    if type(value) is int and value.bit_length() > 256:
        return f"of {value.bit_length()} bits"
    if isinstance(value, (str, bytes, bytearray)) and len(value) > TEXT:
        return f"{value[:TEXT]!r}... of {len(value)} {'characters' if type(value) is str else 'bytes'}"
    return repr(value)


def _place(buffer: Any) -> str:
    if type(buffer) is Buffer:
        return f"{buffer.size} bytes, buffer {buffer.number}"
    return f"{len(buffer)} bytes in the pickle" if isinstance(buffer, (bytes, bytearray)) else ""


RECONSTRUCT = {*both("multiarray:_reconstruct"), "numpy.ma.core:_mareconstruct"}
SCALAR = set(both("multiarray:scalar"))


def _array(call: Call) -> tuple[str, str] | None:
    """Return kind and text of an array, a scalar or a dtype; None if it is none of these, or not as NumPy writes it."""
    path, args, state = call.function.path, call.args, call.state
    if path in FROM_BUFFER and len(args) >= 4:
        return _array_text("ndarray", args[1], args[2], args[0])
    if path in RECONSTRUCT and args and type(args[0]) is Name and type(state) is tuple and len(state) in (4, 5, 7):
        shape, dtype, _, values = state[1:5] if len(state) > 4 else state
        return _array_text(shown(args[0].name, TEXT), dtype, shape, values)
    if path in MASKED and len(args) == 2 and all(type(arg) is Call and type(arg.function) is Name for arg in args):
        parts = [_array(arg) for arg in args if arg.function.path not in MASKED]
        if len(parts) == 2 and parts[0] is not None and parts[1] is not None:
            return "MaskedArray", f"{parts[0][1]}; mask: {parts[1][1]}"
    if path in SCALAR and len(args) == 2:
        return "scalar", _dtype(args[0])
    return ("dtype", _dtype(call)) if path == "numpy:dtype" else None


def _array_text(kind: str, dtype: Any, shape: Any, values: Any) -> tuple[str, str] | None:
    if type(shape) is not tuple or len(shape) > 64 or not all(type(n) is int and n.bit_length() < 64 for n in shape):
        return None
    place = _place(values)
    return kind, f"{_dtype(dtype):.300} {shape}{', ' if place else ''}{place}"


def _dtype(call: Any, level: int = 0) -> str:
    """Return a dtype as text, with the first names of a structure."""
    path = call.function.path if type(call) is Call and type(call.function) is Name else ""
    if path in both("_internal:_convert_to_stringdtype_kwargs"):
        return "StringDType"
    if path != "numpy:dtype" or not call.args or type(call.state) is not tuple or len(call.state) < 8 or level > 3:
        return "dtype"
    subarray, names, fields = call.state[2:5]
    if type(names) is tuple and type(fields) is dict:
        first = [name for name in names[:10] if type(name) is str and type(fields.get(name)) is tuple and fields[name]]
        texts = [f"{shown(name, TEXT)}: {_dtype(fields[name][0], level + 1)}" for name in first]
        return f"{{{', '.join(texts)}{', ...' if len(names) > len(first) else ''}}}"
    if type(subarray) is tuple and len(subarray) == 2 and type(subarray[1]) is tuple and len(subarray[1]) <= 64:
        return f"{_dtype(subarray[0], level + 1)} x {tuple(n for n in subarray[1] if type(n) is int)}"
    if names is not None or subarray is not None:
        return "dtype"
    try:
        return str(numpy_.rebuild(call.args[0], call.state))
    except (ValueError, TypeError):
        return "dtype"
