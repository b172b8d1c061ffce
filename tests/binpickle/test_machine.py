"""The stack machine: each opcode, each bound, and what it refuses."""

from __future__ import annotations

import pickle
import pickletools
import struct
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ds_format.binpickle import machine
from ds_format.binpickle.machine import loading
from ds_format.errors import DsError, FormatError, TruncatedError, UnsafeError
from ds_format.kernels.pickle.machine import Global

from ..conftest import cases
from . import pickles
from .pickles import (
    DICT,
    LIST,
    MARK,
    MEMOIZE,
    NONE,
    PROTO,
    STOP,
    again,
    call,
    get,
    given,
    load,
    name,
    number,
    text,
    whole,
)

ROOT = Path(__file__).parents[2]
PLAIN: list[Any] = [
    None, True, False, 0, 255, 256, 65535, 65536, -1, 2**31 - 1, -(2**31), 2**31, 2**63, -(2**63), 2**70, -(2**2040),
    1 << 3000, 0.0, -0.0, 1.5, float("inf"), "", "a", "é", "\ud800", "x" * 300, b"", b"ab", b"x" * 300, [], {}, (),
    set(), frozenset(), [1, [2]], (1,), (1, 2), (1, 2, 3), (1, 2, 3, 4),
    {1: "a", (2, 3): [4]}, {1, "a", (2, 3)}, {(1, (2,))},
]  # fmt: skip


@pytest.mark.parametrize("protocol", [4, 5])
@cases("value", PLAIN)
def test_plain_values(value: Any, protocol: int) -> None:
    found = machine.load(pickle.dumps(value, protocol))
    assert found == value and type(found) is type(value)


def test_bytearrays() -> None:
    found = again([bytearray(b"ab"), bytearray(300)])
    assert found == [bytearray(b"ab"), bytearray(300)] and type(found[0]) is bytearray


def test_what_is_shared_stays_shared() -> None:
    one: list[Any] = [1]
    found = again({"a": one, "b": one, "t": (one, one)})
    assert found["a"] is found["b"] is found["t"][0]


def test_a_list_that_contains_itself() -> None:
    loop: list[Any] = [1]
    loop.append(loop)
    found = again(loop)
    assert found[1] is found


def test_opcodes_that_the_usual_pickler_does_not_use() -> None:
    assert load(NONE, b"K\x01", b"0") is None
    assert load(LIST, b"K\x01", b"2", b"0", b"a") == [1]
    assert load(NONE, MARK, b"K\x01K\x02", b"1") is None
    assert load(LIST, b"q\x00", b"h\x00", b"0") == []
    assert load(LIST, b"r\x00\0\0\0", b"0j\x00\0\0\0") == []
    assert load(DICT, b"K\x01K\x02s") == {1: 2}
    assert load(b"\x8b\x02\0\0\0\x00\x80") == -(2**15)
    assert load(b"B\x01\0\0\0a", b"0\x8e\x01" + bytes(7) + b"b") == b"b"
    assert load(b"\x8d\x01" + bytes(7) + b"b") == "b"


WRONG = {
    "empty": (b"", TruncatedError, "ends at byte 0"),
    "no stop": (PROTO + NONE, TruncatedError, "ends at byte 3"),
    "after stop": (PROTO + NONE + STOP + b"x", FormatError, "found 1 bytes after the end"),
    "nothing": (PROTO + STOP, FormatError, "found 0 values"),
    "two values": (PROTO + NONE + NONE + STOP, FormatError, "found 2 values and 0 marks"),
    "an open mark": (PROTO + NONE + MARK + STOP, FormatError, "found 1 values and 1 marks"),
    "protocol 6": (b"\x80\x06N.", FormatError, "another protocol"),
    "protocol 1": (b"\x80\x01N.", FormatError, "another protocol"),
    "frame": (PROTO + b"\x95" + struct.pack("<Q", 3) + NONE + STOP, TruncatedError, "a frame that is longer"),
    "frame of 2^64": (PROTO + b"\x95" + b"\xff" * 8 + NONE + STOP, TruncatedError, "a frame that is longer"),
    "long bytes": (whole(b"\x8e" + struct.pack("<Q", 1 << 40)), TruncatedError, "ends at byte"),
    "bytes of 2^64": (whole(b"\x8e" + b"\xff" * 8), TruncatedError, "ends at byte"),
    "long text": (whole(b"\x8d" + b"\xff" * 8), TruncatedError, "ends at byte"),
    "long bytearray": (whole(b"\x96" + struct.pack("<Q", 1 << 36)), TruncatedError, "ends at byte"),
    "long number": (whole(b"\x8b\xff\xff\xff\x7f"), TruncatedError, "ends at byte"),
    "negative number of bytes": (whole(b"\x8b\xff\xff\xff\xff"), TruncatedError, "ends at byte"),
    "memo too far": (whole(LIST + b"q\x01"), FormatError, "found slot 1 of the memo, expected at most 0"),
    "memo of 2^31": (whole(LIST + b"r\xff\xff\xff\x7f"), FormatError, "found slot 2147483647"),
    "memo missing": (whole(b"h\x00"), FormatError, "found slot 0 of the memo, which has 0"),
    "memoize nothing": (whole(MEMOIZE), FormatError, "empty stack"),
    "pop nothing": (whole(b"0"), FormatError, "empty stack"),
    "pop below a mark": (whole(NONE + MARK + b"0"), FormatError, "empty stack"),
    "tuple below a mark": (whole(NONE + NONE + MARK + NONE + b"\x86"), FormatError, "empty stack"),
    "no mark": (whole(NONE + b"t"), FormatError, "needs a mark"),
    "duplicate nothing": (whole(b"2"), FormatError, "empty stack"),
    "odd items": (whole(DICT + MARK + NONE + b"u"), FormatError, "found 1 keys and values"),
    "append to nothing": (whole(MARK + NONE + b"e"), FormatError, "empty stack"),
    "add to a list": (whole(LIST + MARK + NONE + b"\x90"), FormatError, "adds to list, expected a set"),
    "append to a dict": (whole(DICT + NONE + b"a"), UnsafeError, "gives items to dict"),
    "set in a list": (whole(LIST + NONE + NONE + b"s"), UnsafeError, "gives keys and values to list"),
    "append to a tuple": (whole(b")" + NONE + b"a"), UnsafeError, "gives items to tuple"),
    "build a list": (whole(LIST + DICT + b"b"), UnsafeError, "gives a state to list"),
    "an unhashable key": (whole(DICT + LIST + NONE + b"s"), FormatError, "unhashable type"),
    "text not UTF-8": (whole(b"\x8c\x01\xff"), FormatError, "not UTF-8"),
    "no such opcode": (whole(b"\xfe"), FormatError, "the byte 0xfe, expected an opcode"),
    "a name of numbers": (whole(NONE + NONE + b"\x93"), FormatError, "a name that is not text"),
    "buffers missing": (whole(b"\x97"), FormatError, "more buffers than there are"),
    "call of None": (whole(NONE + b")R"), FormatError, "found NoneType, expected the name of a function"),
    "call of a tuple": (whole(b"))R"), FormatError, "found tuple, expected the name of a function"),
    "arguments in a list": (whole(name("collections:OrderedDict") + LIST + b"R"), FormatError, "expected a tuple"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong(case: str) -> None:
    data, kind, reason = WRONG[case]
    with pytest.raises(kind, match=f"^pickle, byte [0-9]+: .*{reason}"):
        machine.load(data)


def test_every_opcode_is_known_or_named_in_its_refusal() -> None:
    executed = bytes(ord(op.code) for op in pickletools.opcodes if ord(op.code) not in loading.RUN_CODE | loading.OLD)
    for op in range(256):
        with pytest.raises(DsError) as caught:
            machine.load(bytes([op]))
        refused = {**loading.RUN_CODE, **loading.OLD}.get(op, "expected an opcode")
        assert (refused in str(caught.value)) is (op not in executed)


@pytest.mark.parametrize(
    "path",
    [
        "posix:system",
        "builtins:eval",
        "uuid:os.system",
        "collections:Counter.update",
        "numpy:load",
        "pandas:eval",
        "os:path",
    ],
)
def test_a_refusal_names_what_it_refuses_and_a_way_on(path: str) -> None:
    with pytest.raises(UnsafeError) as caught:
        load(name(path))
    message = str(caught.value)
    assert path.replace(":", ".") in message and "register" in message and "trusted=True" in message


@pytest.mark.parametrize("path", ["builtins:bytearray", "builtins:set", "numpy:ndarray", "builtins:object"])
def test_plain_types_are_values_but_are_not_called(path: str) -> None:
    assert isinstance(load(name(path)), type)
    with pytest.raises(UnsafeError, match=path.replace(":", r"\.") + r"\(\.\.\.\)"):
        load(call(path, 10))


FUNCTION = name("numpy._core.numeric:_frombuffer")


@pytest.mark.parametrize(
    "opcodes_",
    [FUNCTION, LIST + FUNCTION + b"a", DICT + FUNCTION + NONE + b"s", DICT + NONE + FUNCTION + b"s",
     LIST + FUNCTION + b"\x85a", b"\x8f(" + FUNCTION + b"\x90", FUNCTION + b"\x85"],
)  # fmt: skip
def test_a_function_is_no_part_of_a_result(opcodes_: bytes) -> None:
    with pytest.raises(DsError, match=r"is part of the object|a name of a function in place of a value"):
        load(opcodes_)


UUID = name("uuid:UUID") + b")\x81"


def test_an_object_needs_its_state_before_it_is_used() -> None:
    with pytest.raises(FormatError, match="without its state"):
        load(UUID)
    with pytest.raises(FormatError, match="without its state"):
        load(LIST, UUID, b"a")
    with pytest.raises(FormatError, match="before its state is known"):
        load(UUID, MEMOIZE, get(0))
    with pytest.raises(FormatError, match="before its state is known"):
        load(UUID, b"2")
    with pytest.raises(FormatError, match="cannot be a key"):
        load(DICT, UUID, NONE, b"s")


def test_the_memo_has_the_finished_object() -> None:
    made = given(name("uuid:UUID") + b")\x81" + MEMOIZE, {"int": 5})
    found = load(LIST, MARK, made, get(0), b"e")
    assert found[0] is found[1] and found[0].int == 5


def test_buffers_are_used_in_order_all_of_them_and_only_once() -> None:
    assert load(b"\x97\x97\x86", buffers=[b"a", b"b"]) == (b"a", b"b")
    with pytest.raises(FormatError, match="does not use all buffers"):
        load(b"\x97", buffers=[b"a", b"b"])
    found = load(b"\x97\x98", buffers=[bytearray(b"a")])
    assert type(found) is memoryview and found.readonly


def laughs(first: bytes, levels: int) -> bytes:
    """Return the opcodes of a tuple that has the one before twice, and so on."""
    return first + MEMOIZE + b"".join(get(i) + b"\x86" + MEMOIZE for i in range(levels))


def test_a_billion_laughs_are_loaded_but_never_hashed() -> None:
    load(laughs(text("ha"), 60))
    for key in (DICT + laughs(text("ha"), 60) + NONE + b"s", MARK + laughs(text("ha"), 60) + b"\x91"):
        with pytest.raises(FormatError, match=r"more memory|nested too deeply"):
            load(key)
    with pytest.raises(FormatError, match="more memory"):
        load(DICT, laughs(text("ha"), 30), NONE, b"s")


def test_deep_nesting_needs_no_c_stack() -> None:
    n = 10 * sys.getrecursionlimit()
    assert len(load(LIST * n, b"a" * (n - 1))) == 1
    load(b")" + b"\x85" * n)
    with pytest.raises(FormatError, match="nested too deeply"):
        load(DICT, b")" + b"\x85" * n, NONE, b"s")


@pytest.mark.parametrize("opcode", [b"]", b"}", b"\x8f", b")", b"N2", b"K\x01", b"(", b"](", b"}K\x01K\x01s", b"(\x91"])
def test_memory_is_in_proportion_to_the_pickle(opcode: bytes) -> None:
    """What is on the stack at the end is too much, but no more memory than the budget was needed for it."""
    with pytest.raises(FormatError, match="found"):
        load(opcode * 20_000)
    with pytest.raises(FormatError, match="more memory"):
        machine.load(whole(opcode * 2_000), budget=20_000)


def test_copies_count() -> None:
    array = call("numpy._core.multiarray:_reconstruct", name("numpy:ndarray"), (0,), b"C\x01b")
    values = pickles.raw(bytes(100_000)) + MEMOIZE + b"0"
    kind = pickles.dtype("i1", "|") + MEMOIZE + b"0"
    state = MARK + b"K\x01" + number(100_000) + b"\x85" + get(1) + b"\x89" + get(0) + b"t"
    once = array + state + b"b"
    assert len(load(values, kind, LIST, MARK, once * 10, b"e")) == 10
    with pytest.raises(FormatError, match="more memory"):
        load(values, kind, LIST, MARK, once * 500, b"e")


class Shape:
    """A type of a user."""

    def __init__(self, *args: Any) -> None:
        self.args = args


@pytest.fixture
def own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loading, "_registered", {})


@pytest.mark.usefixtures("own")
def test_a_registered_type_is_called_with_its_arguments() -> None:
    machine.register("mine", "Shape", Shape)
    found = load(call("mine:Shape", 1, "a"))
    assert type(found) is Shape and found.args == (1, "a")
    assert load(name("mine:Shape") + b")\x81").args == ()
    with pytest.raises(UnsafeError, match=r"mine\.Shape has a state; register its handler with setstate"):
        load(given(call("mine:Shape"), {"a": 1}))
    with pytest.raises(UnsafeError, match=r"mine\.Shape is part of the object"):
        load(name("mine:Shape"))


@pytest.mark.usefixtures("own")
def test_a_registered_type_may_have_a_state_and_refer_to_itself() -> None:
    machine.register("mine", "Shape", Shape, setstate=lambda shape, state: shape.__dict__.update(state))
    made = call("mine:Shape", 1) + MEMOIZE
    found = load(made, plain_state := DICT + text("self") + get(0) + b"s", b"b")
    assert plain_state and found.self is found
    with pytest.raises(UnsafeError, match="gives a state to list"):
        load(call("mine:Shape"), b"0", LIST, DICT, b"b")


@pytest.mark.usefixtures("own")
def test_a_registered_container_gets_its_items() -> None:
    machine.register("mine", "List", lambda: type("List", (list,), {})())
    machine.register("mine", "Dict", lambda: type("Dict", (dict,), {})())
    assert load(call("mine:List"), MARK, b"K\x01K\x02e") == [1, 2]
    assert load(call("mine:Dict"), b"K\x01K\x02s") == {1: 2}
    assert load(call("mine:Dict"), MARK, b"K\x01K\x02K\x03K\x04u") == {1: 2, 3: 4}


@pytest.mark.usefixtures("own")
def test_nothing_is_replaced_without_saying_so() -> None:
    machine.register("mine", "Shape", Shape)
    for path in (("mine", "Shape"), ("numpy", "dtype"), ("pandas", "NA")):
        with pytest.raises(ValueError, match="has a handler already; set override=True"):
            machine.register(*path, Shape)
    machine.register("collections", "OrderedDict", Shape, override=True)
    assert type(load(call("collections:OrderedDict"))) is Shape


@pytest.mark.usefixtures("own")
def test_what_a_handler_raises_is_the_cause() -> None:
    def fail() -> None:
        raise KeyError("none")

    machine.register("mine", "fail", fail)
    with pytest.raises(FormatError, match="pickle, byte 23: KeyError: none") as caught:
        load(call("mine:fail"))
    assert type(caught.value.__cause__) is KeyError


@pytest.mark.usefixtures("own")
def test_registering_from_many_threads_loses_none() -> None:
    threads = [threading.Thread(target=machine.register, args=("mine", str(i), Shape)) for i in range(50)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(loading.registered()) == 50


def test_the_table_has_no_dotted_names_and_nothing_that_runs_code() -> None:
    for (module, own_name), symbol in loading.SYMBOLS.items():
        assert "." not in own_name and own_name not in ("eval", "exec", "system", "load", "open", "import")
        assert isinstance(symbol, (type, Global)) or symbol in (Ellipsis, NotImplemented)
        assert module.partition(".")[0] not in (
            "os",
            "posix",
            "nt",
            "subprocess",
            "sys",
            "importlib",
            "pickle",
            "copyreg",
        )


def test_no_library_is_imported_for_a_file_without_its_objects() -> None:
    code = "import sys; from ds_format.binpickle import machine; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, cwd=ROOT)
    assert not {"pandas", "scipy", "pyarrow"} & set(done.stdout.split())


def test_arrays_share_memory_with_buffers() -> None:
    buffer = bytearray(24)
    array = load(pickles.call("numpy._core.numeric:_frombuffer", b"\x97", pickles.dtype(), (3,), "C"), buffers=[buffer])
    buffer[:8] = np.float64(2).tobytes()
    assert array.tolist() == [2, 0, 0] and array.flags.writeable
