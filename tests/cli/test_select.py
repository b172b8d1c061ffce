"""`ds select`: what it selects and writes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from ds_format.cli import selecting

if TYPE_CHECKING:
    from .conftest import Run

META: dict[str, dict[str, Any]] = {
    ".": {},
    "temp": {".dims": ["time", "lat"], ".size": [3, 2], ".type": "float32"},
    "time": {".dims": ["time"], ".size": [3], ".type": "float64"},
    "\\.hidden": {".size": [2], ".type": "int8"},
}

Call = tuple[str, str, list[str] | None, dict[str, Any] | None]


class Whole:
    """A file of which no more than the metadata is known."""

    def __init__(self, path: str, *, skip_unsupported: bool):
        self.path = path
        self.meta = META

    def __enter__(self) -> Whole:
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def part(self, variables: list[str] | None, *, sel: dict[str, Any], jd: bool) -> tuple[str, Any, Any]:
        return self.path, variables, sel


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[Call]:
    """Collects what is written."""
    found: list[Call] = []

    def record(part: tuple[str, Any, Any], target: str, progress: object) -> None:
        source, variables, sel = part
        found.append((source, target, variables, sel or None))

    monkeypatch.setattr(selecting, "open_subset", Whole)
    monkeypatch.setattr(selecting, "write_subset", record)
    return found


@pytest.mark.parametrize(
    ("line", "variables", "sel"),
    [
        ("select i o", None, None),
        ("i select o", None, None),
        ("select temp i o", ["temp"], None),
        ("select t* time i o", ["temp", "time"], None),
        ("select -tF t* time i o", ["time"], None),
        ("select .hidden i o", [".hidden"], None),
        ("select time: 0 i o", None, {"time": 0}),
        ("select time: -1 lat: { 0 1 } i o", None, {"time": -1, "lat": [0, 1]}),
        ("select temp time: { true false true } time i o", ["temp", "time"], {"time": [True, False, True]}),
        ("select t*: 0 i o", None, {"time": 0}),
        ("select time: { } i o", None, {"time": []}),
        ("select time: 0 time: 1 i o", None, {"time": 1}),
        ("select .hidden_1: 1 i o", None, {".hidden_1": 1}),
        ("select i o sel: { time: 0 }", None, {"time": 0}),
        ("select i o sel: {{ time: 0 }}", None, {"time": 0}),
        ("sel: { time: 0 } select lat: 1 i o", None, {"time": 0, "lat": 1}),
        ("select i o sel: { }", None, None),
        ("select i o sel: none", None, None),
        ("select -- i o", None, None),
    ],
)
def test_arguments(
    line: str, variables: list[str] | None, sel: dict[str, Any] | None, ds: Run, calls: list[Call]
) -> None:
    Path("i").touch()
    assert ds(*line.split()) == (0, "", "")
    assert calls == [("i", "o", variables, sel)]


def test_files_may_look_like_numbers(ds: Run, calls: list[Call]) -> None:
    assert ds("select", "2020", "nan").status == 0
    assert calls == [("2020", "nan", None, None)]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("select time: a i o", "time: expected an index or an array of indexes, found a"),
        ("select time: 1.5 i o", "found 1.5"),
        ("select time: none i o", "found"),
        ("select time: true i o", "found true"),
        ("select time: { 0 true } i o", "found { 0 true }"),
        ("select time: { { 0 } } i o", "found { { 0 } }"),
        ("select time: {{ a: 1 }} i o", "found a: 1"),
        ("select { temp time } i o", "invalid type: expected a name, found { temp time }"),
        ("select i o sel: 5", "sel: invalid type"),
        ("select i o sel: { time: 0 5 }", "sel: invalid type"),
    ],
)
def test_other_words_are_refused(line: str, message: str, ds: Run, calls: list[Call]) -> None:
    result = ds(*line.split())
    assert (result.status, result.out, calls) == (1, "", [])
    assert message in result.err
    assert result.err.count("\n") == 1


@pytest.mark.parametrize("line", ["select", "select i", "select time: 0 i", "select i o time: 0", "select -x i o"])
def test_usage_errors(line: str, ds: Run, calls: list[Call]) -> None:
    result = ds(*line.split())
    assert (result.status, calls) == (1, [])
    assert "\nUsage: ds [OPTIONS] select " in result.err


@pytest.mark.parametrize(("line", "what"), [("temp nope", 'variable "nope"'), ("-F temp t*", 'variable "t*"')])
@pytest.mark.filterwarnings("default")
def test_missing_names_by_mode(line: str, what: str, ds: Run, calls: list[Call]) -> None:
    words = line.split()
    assert ds("-t", "select", *words, "i", "o") == (0, "", "")
    for mode in ([], ["-m"]):
        assert ds(*mode, "select", *words, "i", "o") == (0, "", f"ds select: warning: {what} not found\n")
    assert len(calls) == 3
    assert ds("-s", "select", *words, "i", "o") == (1, "", f"ds select: i: {what} not found\n")
    assert ds("select", "-s", *words, "i", "o").status == 1
    assert len(calls) == 3


def test_skip_unsupported(ds: Run, calls: list[Call], monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[bool] = []

    def opened(path: str, *, skip_unsupported: bool) -> Whole:
        seen.append(skip_unsupported)
        return Whole(path, skip_unsupported=skip_unsupported)

    monkeypatch.setattr(selecting, "open_subset", opened)
    for flags in ([], ["--skip-unsupported"]):
        assert ds("select", *flags, "i", "o").status == 0
        assert ds(*flags, "select", "i", "o").status == 0
    assert seen == [False, False, True, True]


def test_nobody_watches_without_a_terminal(ds: Run, calls: list[Call], monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[object] = []
    monkeypatch.setattr(selecting, "write_subset", lambda part, target, progress: seen.append(progress))
    assert ds("select", "i", "o").status == 0
    assert seen == [None]
