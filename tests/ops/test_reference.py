"""The functions on datasets do what ds-format 5.0.2 does, but for the differences of the table."""

from __future__ import annotations

import inspect
import json
import subprocess
from collections.abc import Iterable
from pathlib import Path

import pytest

from ds_format import ops

from . import cases
from .differences import DIFFERENCES, Difference

GOLDEN = Path(__file__).parents[1] / "golden" / "ops" / "reference.json"
RUN = """
import json, runpy, sys
import ds_format
outcome = runpy.run_path(sys.argv[1])["outcome"]
json.dump([outcome(ds_format, mode, code) for mode, code in json.load(sys.stdin)], sys.stdout)
"""
SIGNATURES = """
import inspect, json, sys
import ds_format
json.dump({name: str(inspect.signature(getattr(ds_format, name))) for name in json.load(sys.stdin)}, sys.stdout)
"""
Call = tuple[str, str]


def shown_differences() -> list[Call]:
    return [call for row in DIFFERENCES for call in row.shown_by()]


def every_call() -> list[Call]:
    return [*dict.fromkeys([*cases.cases(), *shown_differences()])]


def golden() -> dict[Call, str]:
    """Return what the reference does; in the file the stricter modes stand where they differ from soft."""
    found = json.loads(GOLDEN.read_text())
    return {(mode, code): found[mode].get(code, found["soft"].get(code)) for mode, code in every_call()}


def run(python: str, script: str, value: object, *arguments: str) -> object:
    done = subprocess.run(
        [python, "-I", "-c", script, *arguments], input=json.dumps(value), capture_output=True, text=True
    )
    assert not done.returncode, done.stderr
    return json.loads(done.stdout)


def reference(python: str, calls: Iterable[Call]) -> dict[Call, str]:
    """Return what the reference does with calls."""
    calls = [*calls]
    outcomes = run(python, RUN, calls, cases.__file__)
    assert isinstance(outcomes, list)
    return dict(zip(calls, outcomes, strict=True))


def write_golden(python: str) -> None:
    """Rebuild the file: `python -c "from tests.ops.test_reference import *; write_golden('...')"`."""
    found = reference(python, every_call())
    soft = {code: outcome for (mode, code), outcome in found.items() if mode == "soft"}
    stricter = {
        mode: {code: out for (its, code), out in found.items() if its == mode and out != soft.get(code)}
        for mode in ("moderate", "strict")
    }
    GOLDEN.write_text(json.dumps({"soft": soft, **stricter}, indent=0, ensure_ascii=True) + "\n")


def test_the_golden_file_is_what_the_reference_does(reference_python: str) -> None:
    assert reference(reference_python, every_call()) == golden()


def test_calls_do_what_they_do_under_the_reference() -> None:
    on_purpose = {*shown_differences()}
    theirs = {call: outcome for call, outcome in golden().items() if call not in on_purpose}
    assert {call: cases.outcome(ops, *call) for call in theirs} == theirs


@pytest.mark.parametrize("row", DIFFERENCES, ids=lambda row: row.calls[0])
def test_differences_are_ones(row: Difference) -> None:
    theirs = golden()
    assert [call for call in row.shown_by() if cases.outcome(ops, *call) == theirs[call]] == []


def test_signatures_are_those_of_the_reference(reference_python: str) -> None:
    theirs = run(reference_python, SIGNATURES, ops.__all__)
    assert isinstance(theirs, dict)
    for name in ops.__all__:
        signature = inspect.signature(getattr(ops, name))
        bare = [
            parameter.replace(annotation=inspect.Parameter.empty)
            for parameter in signature.parameters.values()
            if name != "merge" or parameter.name not in ("stack", "attributes")  # ours
        ]
        assert str(inspect.Signature(bare)) == theirs[name], name
