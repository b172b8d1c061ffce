"""The program that reads mutated headers: a few of them here; millions by hand."""

from __future__ import annotations

import random
from typing import Any

import pytest

from ds_format.codec import line
from ds_format.drivers.ds import whole

from .. import fuzz_headers as fuzz

COUNT = 500
ENTRY = b'{".dims": ["t"], ".size": [2], ".offset": 0, ".type": "float64", ".missing": false, ".endian": "l"}'
OTHER = line.parse_usual(b'ds-1.0\n{"other": %b}\n' % ENTRY)


def test_mutated_headers_are_read_as_they_are_explained() -> None:
    *_, tally = fuzz.run(COUNT, "a")
    assert tally.mutated == COUNT
    assert COUNT // 10 < tally.accepted < COUNT
    assert tally.others > COUNT // 2


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda header, meta: (header, {**meta, "x": {}}), "metadata: found"),
        (lambda header, meta: (header, dict(reversed(meta.items()))), "metadata: found"),
        (lambda header, meta: (OTHER[0] if OTHER else None, meta), "header: found"),
    ],
)
def test_a_kernel_that_is_wrong_is_found_out(wrong: Any, message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    right = line.parse_usual

    def kernel(data: bytes, keys: Any = None) -> Any:
        found = right(data, keys)
        return None if found is None else wrong(*found)

    monkeypatch.setattr(line, "parse_usual", kernel)
    with pytest.raises(fuzz.DifferenceError, match=message):
        list(fuzz.run(COUNT, "a"))


def test_metadata_that_somebody_else_holds_are_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    right = line.parse_usual
    held: dict[bytes, Any] = {}

    def kernel(data: bytes, keys: Any = None) -> Any:
        if keys is not None:
            return right(data, keys)
        return held.get(data) or held.setdefault(data, right(data))

    monkeypatch.setattr(line, "parse_usual", kernel)
    with pytest.raises(fuzz.DifferenceError, match="damaged"):
        list(fuzz.run(COUNT, "a"))


def test_a_file_that_is_read_wrongly_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    right = whole.from_held

    def wrong(*given: Any) -> Any:
        dataset = right(*given)
        dataset.popitem()
        return dataset

    monkeypatch.setattr(whole, "from_held", wrong)
    with pytest.raises(fuzz.DifferenceError, match="file: found"):
        list(fuzz.run(COUNT, "a"))


def test_what_is_refused_must_not_be_accepted() -> None:
    reader = fuzz.Reader(random.Random(1), lambda *_: OTHER)
    with pytest.raises(fuzz.DifferenceError, match="the kernel accepts what is refused: TruncatedError"):
        reader.accepts(b"ds-1.0\n{", None, b"")


def test_the_program(capsys: pytest.CaptureFixture[str]) -> None:
    assert fuzz.main(["--count", "100", "--jobs", "2"]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("100 mutated headers, ")
    assert printed.endswith("no difference\n")
