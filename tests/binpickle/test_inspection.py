"""The tree of an object: its text, its bounds, and that nothing is built for it."""

from __future__ import annotations

import json
import pickle
from collections import OrderedDict
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from ds_format import binpickle
from ds_format.binpickle import machine
from ds_format.binpickle.machine import outline
from ds_format.errors import FormatError, UnsafeError

from ..conftest import cases
from ..numpy_versions import NUMPY_2
from . import golden
from .pickles import DICT, MARK, NONE, Masked, call, get, given, name, plain, text, whole


class Entry(NamedTuple):
    """What the tree needs of an entry of the index."""

    dec_length: int


def tree(value: Any, **bounds: int) -> machine.Node:
    buffers: list[pickle.PickleBuffer] = []
    data = pickle.dumps(value, 5, buffer_callback=buffers.append)
    return machine.tree(data, [Entry(buffer.raw().nbytes) for buffer in buffers], **bounds)


MA: Any = np.ma
REC: Any = np.rec
RECORD = REC.array([(1, 2.0)], names="a,b")
MASKED = "MaskedArray int64 (2,), 16 bytes, buffer 0; mask: bool (2,), 2 bytes, buffer 1"
REFUSED = "(refused: register a handler, or trusted=True)"
TREES = {
    "None": (None, "NoneType None"),
    "array": (np.zeros((3, 4)), "ndarray float64 (3, 4), 96 bytes, buffer 0"),
    "big-endian": (np.zeros(2, ">i4"), "ndarray >i4 (2,), 8 bytes, buffer 0"),
    "times": (np.zeros(2, "M8[ns]"), "ndarray datetime64[ns] (2,), 16 bytes in the pickle"),
    "structure": (np.zeros(1, "i4,(2,)f8"), "ndarray {f0: int32, f1: float64 x (2,)} (1,), 20 bytes, buffer 0"),
    "record array": (RECORD, "recarray {a: int64, b: float64} (1,), 16 bytes in the pickle"),
    "masked": (MA.array([1, 2], mask=[0, 1]), "MaskedArray int64 (2,), 16 bytes in the pickle"),
    "masked, of arrays": (Masked(np.arange(2), np.array([True, False])), MASKED),
    "masked objects": (
        Masked(np.array([1, print], object), np.array([True, False])),
        f"MaskedArray object (2,); mask: bool (2,), 2 bytes, buffer 0\n  0: int 1\n  1: builtins.print  {REFUSED}",
    ),
    "scalar": (np.float32(1), "scalar float32"),
    "dtype": (np.dtype("f4"), "dtype float32"),
    "objects": (np.array([1, print], object), f"ndarray object (2,)\n  0: int 1\n  1: builtins.print  {REFUSED}"),
    "call": (range(3), "builtins.range(0, 3, 1)"),
    "state": (OrderedDict(a=1), "collections.OrderedDict\n  'a': int 1"),
    "keys": ({(1, 2): 3, 4: "x"}, "dict 2 entries\n  a tuple: int 3\n  4: str 'x'"),
    "long text": ("x" * 100, f"str '{'x' * 60}'... of 100 characters"),
    "long number": (1 << 10_000, "int of 10001 bits"),
    "set": ({1}, "set 1 item\n  0: int 1"),
}  # fmt: skip
if NUMPY_2:
    TREES["texts"] = np.array(["a"], np.dtypes.StringDType()), "ndarray StringDType (1,)\n  0: str 'a'"


@pytest.mark.parametrize("case", TREES)
def test_text(case: str) -> None:
    value, expected = TREES[case]
    assert str(tree(value)) == expected


def test_what_is_shared_is_shown_once() -> None:
    one = [1]
    assert str(tree([one, one])) == "list 2 items\n  0: list 1 item\n    0: int 1\n  1: list 1 item (as above)"


def test_bounds() -> None:
    assert str(tree(list(range(5)), width=2)) == "list 5 items\n  0: int 0\n  1: int 1\n  ... 3 more"
    assert str(tree([[1]], depth=1)) == "list 1 item\n  0: list 1 item\n    ... 1 more"
    wide = tree([[0] * 100 for _ in range(100)])
    assert len(str(wide).splitlines()) < 2 * outline.MOST
    laughs = plain(()) + b"\x94" + b"".join(get(i) + b"\x86\x94" for i in range(60))
    assert len(str(machine.tree(whole(laughs)))) < 10_000


def test_parts_of_a_call_are_counted() -> None:
    """Arguments, entries of the state, and items or pairs; those beyond the limit, too."""
    made = given(call("a:b", 1, 2), {"p": 3, "q": 4, "r": 5})
    map_ = whole(made + MARK + text("k") + NONE + text("m") + NONE + b"u")
    list_ = whole(given(call("a:b", 1), 2) + MARK + NONE + NONE + NONE + b"e")
    assert (machine.tree(map_).n, machine.tree(list_).n) == (7, 5)
    assert str(machine.tree(map_, width=6)).endswith("\n  'r': int 5\n  'k': NoneType None\n  ... 1 more")
    assert str(machine.tree(list_, width=3)).endswith("\n  state: int 2\n  0: NoneType None\n  ... 2 more")


def test_json() -> None:
    found = tree({"a": np.zeros(2), "b": print}).as_json()
    assert json.loads(json.dumps(found)) == {
        "kind": "dict",
        "text": "2 entries",
        "n": 2,
        "children": [
            ["'a'", {"kind": "ndarray", "text": "float64 (2,), 16 bytes, buffer 0"}],
            ["'b'", {"kind": "builtins.print", "refused": True}],
        ],
    }


def test_nothing_of_a_file_controls_the_terminal() -> None:
    data = whole(name("a\x1b[2J:b\n") + MARK + text("\x1b") + b"tR")
    assert str(machine.tree(data)) == "a?[2J.b?('\\x1b')  (refused: register a handler, or trusted=True)"
    with pytest.raises(UnsafeError, match=r"byte 19: a\?\[2J\.b\? is not loaded"):
        machine.load(data)


def test_refusals_are_named_once() -> None:
    assert tree([print, {"a": (print, len)}]).refusals() == ["builtins.print", "builtins.len"]


STRANGE = {
    "a state of a list": whole(b"]" + DICT + b"b"),
    "a call of a call": whole(call("a:b") + b")R"),
    "a function as key": whole(DICT + name("a:b") + NONE + b"s"),
    "a dtype of lies": whole(call("numpy:dtype", "f8", [1], {2: 3})),
    "an array of lies": whole(call("numpy._core.numeric:_frombuffer", 1, 2, "x", 4)),
    "a shape of 2^9999": whole(call("numpy._core.numeric:_frombuffer", 1, 2, (1 << 9999,), 4)),
    "a scalar of lies": whole(call("numpy._core.multiarray:scalar", 1, [2])),
    "items for a call": whole(call("a:b") + MARK + text("k") + NONE + b"u"),
}


@pytest.mark.parametrize("case", STRANGE)
def test_what_is_strange_is_shown(case: str) -> None:
    node = machine.tree(STRANGE[case])
    assert str(node) and json.dumps(node.as_json())


@cases("path", [*golden.FILES, *(f"corrupt/{name}" for name in golden.MANIFEST if "pickle" in name)])
def test_all_golden_files_can_be_looked_at(path: str) -> None:
    if "no_entries" in path:
        with pytest.raises(FormatError, match="has no object"):
            binpickle.inspect(golden.FOLDER / path)
        return
    try:
        node = binpickle.inspect(golden.FOLDER / path)
    except ValueError:
        assert path.startswith("corrupt/")
        return
    assert len(str(node)) < 100_000
    assert not node.refusals() or path.startswith("corrupt/")


def test_a_pickle_that_cannot_be_read_says_why() -> None:
    node = binpickle.inspect(golden.CORRUPT / "v2_pickle_os_system_obj.bpk")
    assert node.kind == "unreadable" and "opcode GLOBAL" in node.text


def test_a_pickle_that_is_too_large_is_not_read(tmp_path: Path) -> None:
    binpickle.dump("x" * 1000, tmp_path / "x.bpk")
    with pytest.raises(FormatError, match="pass a larger max_size"):
        binpickle.inspect(tmp_path / "x.bpk", max_size=100)
