"""Files made to do harm, used with little memory and without effect; pickles that are mutated or random."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from ds_format.binpickle import inspect, machine
from ds_format.errors import DsError, FormatError, IntegrityError, UnsafeError

from . import golden
from .pickles import again

PICKLES = sorted(name for name in golden.MANIFEST if "pickle" in name and "checksum" not in name)
LOADED = {"billion_laughs", "deep_nesting", "zoneinfo"}
"""What is harmless, and loads."""
ADDRESS_SPACE = 3 << 30
RUN = """
import builtins, io, os, resource, runpy, subprocess, sys
resource.setrlimit(resource.RLIMIT_AS, ({limit}, {limit}))
import numpy
try:
    import pandas
except ImportError:
    pandas = type(sys)("pandas")
from ds_format.binpickle import inspect, load
from ds_format.errors import DsError
done = []
def recorder(name):
    return lambda *args, **kwargs: done.append(name)
for owner, names in ((os, ["system", "popen", "execv", "remove", "mkdir"]), (subprocess, ["Popen", "run", "call"]),
                     (builtins, ["eval", "exec", "compile"]), (numpy, ["load"]), (pandas, ["eval"])):
    for name in names:
        setattr(owner, name, recorder(name))
import posix
posix.system = recorder("posix.system")
before = set(sys.modules)
for path in sys.argv[1:]:
    for use in (load, inspect):
        try:
            use(path)
            result = "done"
        except DsError as error:
            result = type(error).__name__
        print(os.path.basename(path), use.__name__, result)
loaded = sorted(name for name in set(sys.modules) - before if name.partition(".")[0] not in ("encodings", "zoneinfo"))
print("side effects", done, loaded)
"""


@pytest.fixture(scope="module")
def outcomes() -> dict[tuple[str, str], str]:
    """Return what each use of each file has come to; all in one process, which has to survive them."""
    files = [str(golden.CORRUPT / name) for name in PICKLES]
    command = [sys.executable, "-c", RUN.format(limit=ADDRESS_SPACE), *files]
    done = subprocess.run(command, capture_output=True, text=True, cwd=Path(__file__).parents[2])
    assert done.returncode == 0, done.stderr[-2000:]
    *lines, last = done.stdout.splitlines()
    assert last == "side effects [] []"
    return {(name, use): result for name, use, result in map(str.split, lines)}


@pytest.mark.parametrize("name", PICKLES)
def test_hostile_pickles_do_nothing(name: str, outcomes: dict[tuple[str, str], str]) -> None:
    case = name.partition("_pickle_")[2].removesuffix(".bpk")
    result = outcomes[name, "load"]
    if case in LOADED:
        assert result == "done"
    else:
        assert result in ("FormatError", "TruncatedError", "UnsafeError", "IntegrityError")
    assert golden.MANIFEST[name]["expect"] in ("any", "accept" if result == "done" else "reject")
    assert outcomes[name, "inspect"] in ("done", result)


@pytest.mark.parametrize("name", PICKLES)
def test_what_a_hostile_pickle_names_is_in_the_error(name: str) -> None:
    pickle, buffers = golden.parts(golden.CORRUPT / name)
    try:
        machine.load(pickle, buffers)
    except UnsafeError as error:
        message = str(error)
    except DsError:
        return
    else:
        return
    assert "trusted=True" in message or "gives a state to" in message


def test_looking_at_a_hostile_file_shows_what_it_would_call() -> None:
    node = inspect(golden.CORRUPT / "v1_pickle_os_system.bpk")
    assert node.refused and node.refusals() == ["posix.system"]
    assert str(node).startswith("posix.system('touch") and "refused" in str(node)


STORED = [name for name in golden.FILES if golden.is_stored(name)]
SMALL = [golden.parts(golden.FOLDER / name) for name in STORED]


def survive(data: bytes, buffers: list[bytearray]) -> None:
    for use in (lambda: machine.load(data, buffers), lambda: machine.tree(data)):
        with contextlib.suppress(FormatError, UnsafeError, IntegrityError):
            use()


@given(st.data())
def test_mutated_pickles_are_loaded_or_refused(data: Any) -> None:
    pickle, buffers = data.draw(st.sampled_from(SMALL))
    changed = bytearray(pickle)
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(changed) - 1))
        kind = data.draw(st.sampled_from(["byte", "cut", "insert", "move"]))
        if kind == "byte":
            changed[at] = data.draw(st.integers(0, 255))
        elif kind == "cut":
            del changed[at : at + data.draw(st.integers(1, 8))]
        elif kind == "insert":
            changed[at:at] = data.draw(st.binary(min_size=1, max_size=6))
        else:
            other = data.draw(st.sampled_from(SMALL))[0]
            start = data.draw(st.integers(0, len(other) - 1))
            changed[at:at] = other[start : start + 40]
        if not changed:
            return
    survive(bytes(changed), buffers)


WORDS = [
    "C", "|", "f8", "O8", "numpy", "dtype", "ndarray", "numpy._core.numeric", "_frombuffer", "numpy._core.multiarray",
    "_reconstruct", "scalar", "collections", "OrderedDict", "Counter", "deque", "builtins", "slice", "datetime",
    "timedelta", "uuid", "UUID", "pandas", "DataFrame", "_new_Index", "pandas.core.indexes.base",
]  # fmt: skip
OPCODES = [bytes([op]) for op in b"()]}.012NRabestu\x81\x85\x86\x87\x88\x89\x8f\x90\x91\x93\x94\x97\x98"]
ARGUMENTS = [
    b"K\x01",
    b"K\xff",
    b"h\x00",
    b"h\x01",
    b"h\x05",
    b"q\x00",
    b"J\xff\xff\xff\xff",
    b"C\x01b",
    b"G" + bytes(8),
]
PIECES = [*OPCODES, *ARGUMENTS, *[b"\x8c" + bytes([len(word)]) + word.encode() for word in WORDS]]


@given(st.lists(st.sampled_from(PIECES), max_size=60), st.integers(0, 3))
def test_random_opcodes_are_loaded_or_refused(pieces: list[bytes], n: int) -> None:
    survive(b"\x80\x05" + b"".join(pieces) + b".", [bytearray(8)] * n)


PLAIN = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text(), st.binary(),
    st.complex_numbers(allow_nan=False), st.dates(), st.datetimes(), st.times(), st.timedeltas(),
    st.uuids(), st.decimals(allow_nan=False), st.fractions(),
)  # fmt: skip
DTYPES = st.sampled_from(["f8", ">i4", "u1", "?", "c8", "S3", "U2", "M8[s]", "O", "f4,i2", ">f8,O"])
ARRAYS = st.builds(
    lambda dtype, shape, order: np.zeros(shape, dtype, order=order),
    DTYPES, st.lists(st.integers(0, 3), max_size=3).map(tuple), st.sampled_from("CF"),
)  # fmt: skip
NESTED = st.recursive(
    PLAIN | ARRAYS,
    lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.integers(), inner) | st.tuples(inner, inner),
    max_leaves=20,
)


def assert_equal(found: Any, value: Any) -> None:
    assert type(found) is type(value)
    if isinstance(value, np.ndarray):
        assert found.dtype == value.dtype and np.array_equal(found, value)
        assert found.flags.c_contiguous is value.flags.c_contiguous
        assert found.flags.f_contiguous is value.flags.f_contiguous
    elif isinstance(value, (list, tuple)):
        assert len(found) == len(value)
        for one, other in zip(found, value, strict=True):
            assert_equal(one, other)
    elif isinstance(value, dict):
        assert list(found) == list(value)
        for key in value:
            assert_equal(found[key], value[key])
    else:
        assert found == value


@given(NESTED)
def test_nested_objects_come_back(value: Any) -> None:
    assert_equal(again(value), value)
