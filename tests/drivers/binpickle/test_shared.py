"""Objects that hold their parts again and again, of which a small file makes more than any memory has."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ds_format as ds
from ds_format.drivers.binpickle_.foreign import Measure, variables
from tests.binpickle.golden import FOLDER

FOUND = FOLDER / "found" / "double.bpk"
USES = """
import resource, sys
resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))
resource.setrlimit(resource.RLIMIT_CPU, (60, 60))
import ds_format as ds
from ds_format import cli
path, target = sys.argv[1:]
def tell(use, *words):
    try:
        print(use.__name__, use(*words))
    except ds.DsError as error:
        print(use.__name__, type(error).__name__)
tell(ds.read, path)
tell(ds.verify, path)
tell(lambda path: list(ds.open(path)), path)
tell(ds.convert, path, target)
for words in (["ls"], ["ls", "-l"], ["cat", "data"], ["verify"], ["inspect"], ["meta"], ["stats", "data"]):
    print(*words, cli.main([*words, path]))
"""
"""All in a process that ends when it takes too much: a walk without end would take this one along."""


def double(value: Any, times: int = 60) -> Any:
    for _ in range(times):
        value = (value, value)
    return value


def listed(value: Any, times: int = 60) -> Any:
    for _ in range(times):
        value = [value, value]
    return value


def test_the_file_that_was_found(tmp_path: Path) -> None:
    words = [sys.executable, "-c", USES, str(FOUND), str(tmp_path / "a.ds")]
    done = subprocess.run(words, capture_output=True, text=True, cwd=Path(__file__).parents[3], timeout=100)
    assert done.returncode == 0, done.stderr
    told = done.stdout.splitlines()
    assert told[:4] == ["read UnsupportedError", "verify []", "<lambda> ['data']", "convert UnsupportedError"]
    assert [line for line in told if line[-1] in "01" and line.split()[0] in ("ls", "cat", "verify", "inspect")] == [
        "ls 0",
        "ls -l 0",
        "cat data 1",
        "verify 0",
        "inspect 0",
    ]
    assert "repeat their parts" in done.stderr


@pytest.mark.parametrize("make", [double, listed])
@pytest.mark.parametrize("leaf", [(), [], {}, 1, "a", None])
def test_data(make: Any, leaf: Any) -> None:
    for obj in ({"x": make(leaf)}, make(leaf), {".": {}, "x": make(leaf)}):
        found = variables(obj)
        assert [type(fault) for fault in found.faults.values()] == [ds.UnsupportedError]


@pytest.mark.parametrize("make", [double, listed])
@pytest.mark.parametrize("leaf", [(), {}, 1, np.arange(3)])
def test_attributes(make: Any, leaf: Any) -> None:
    objects = np.empty(2, object)
    objects[0] = make(leaf)
    for value in (make(leaf), {"a": make(leaf)}, objects, [objects]):
        for obj in ({"x": 1, ".": {"x": {"a": value}}}, {".": {".": {"a": value}}}):
            with pytest.raises(ds.UnsupportedError, match=r"repeat their parts|not possible"):
                variables(obj)


def frozen(times: int) -> frozenset[Any]:
    """Return a set whose hash is known at once, and whose text is 2^times as long as that of an empty one."""
    value: frozenset[Any] = frozenset()
    for _ in range(times):
        value = frozenset({(value, (value,))})
    return value


@pytest.mark.parametrize(
    "key", [frozen(60), (frozen(60),), 10**5000, (10**5000,)], ids=["a set", "a tuple", "a number", "numbers"]
)
def test_keys(key: Any) -> None:
    with pytest.raises(ds.UnsupportedError, match=r"repeat their parts|as key|a list holds frozenset"):
        variables({key: 1})
    plain = variables({5: 1, 1.5: 1, b"a": 1, ("a", 1): 1, None: 1})
    assert list(plain.arrays) == ["5", "1.5", "b'a'", "('a', 1)", "None"]


@pytest.mark.parametrize("part", [list(range(1000)), np.arange(1000.0), np.ma.MaskedArray(np.arange(1000.0), True)])
def test_parts_with_many_names(part: Any) -> None:
    """Twice is what people do; a million values come of a thousand only in a file made for it."""
    assert not variables({"a": part, "b": part, "c": part}).faults
    found = variables({str(i): part for i in range(3000)})
    assert 1000 < len(found.arrays) < 1100 and found.faults
    assert all("repeat their parts" in fault.message for fault in found.faults.values())
    views = {str(i): part[:] if isinstance(part, np.ndarray) else part for i in range(3000)}
    assert variables(views).faults


def test_attributes_of_many_variables() -> None:
    shared = {"a": list(range(1000))}
    with pytest.raises(ds.UnsupportedError, match="repeat their parts"):
        variables({str(i): 1 for i in range(3000)} | {".": {str(i): shared for i in range(3000)}})


def test_what_is_large_and_not_repeated() -> None:
    large = [[i] * 10 for i in range(100_000)]
    found = variables({"x": large, "y": [float(i) for i in range(1_000_000)], "z": np.zeros(3_000_000)})
    assert not found.faults and found.arrays["x"].shape == (100_000, 10)


def test_what_is_wrong_stays_wrong_and_is_looked_at_once() -> None:
    measure = Measure()
    bad = [1, object()]
    for _ in range(2):
        with pytest.raises(ds.UnsupportedError, match="a list holds object; expected plain values"):
            measure.check(bad, arrays=False)
    knot: list[Any] = []
    knot.append(knot)
    with pytest.raises(ds.UnsupportedError, match="a list that contains itself"):
        measure.check(knot, arrays=True)
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(ds.UnsupportedError, match="lists nested deeper than 100"):
        measure.check(deep, arrays=True)
