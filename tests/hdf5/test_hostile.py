"""Files that were made to harm: each check of a reader with a file that only this check refuses."""

from __future__ import annotations

import json
import os
import re
import struct
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from ..conftest import cases
from . import hostile_indexes, hostile_objects
from .hostile import CASES, SIGNATURES, _last, _names_of_structures, base, case
from .reference_heaps import lookup3

ROOT = Path(__file__).parents[2]
REGISTERED = hostile_objects, hostile_indexes
"""Modules that add to the table of cases."""

# 13. checksums


for _base, _signatures in SIGNATURES.items():
    for _signature in _signatures.split():
        case(
            _base,
            "FormatError",
            rf"(?i){_names_of_structures()[_signature]}.*checksum",
            f"checksum of {_signature} in {_base}",
        )(lambda a, signature=_signature: a.flipped(_last(a, signature.encode("latin-1"))))


# 14. and the reports about all of them


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Sequence[str]]:
    """Read all files in processes that have little memory, the next one after each that ends too early."""
    folder = tmp_path_factory.mktemp("hostile")
    paths = {}
    for i, (name, each) in enumerate(CASES.items()):
        paths[str(folder / f"{i}.nc")] = name
        (folder / f"{i}.nc").write_bytes(each.make())
    found: dict[str, Sequence[str]] = {}
    remaining = list(paths)
    while remaining:
        done = _read(remaining)
        found |= {paths[path]: told for path, told in done.items()}
        remaining = [path for path in remaining if path not in done]
        if remaining:
            found[paths[remaining.pop(0)]] = "crash", "the process ended"
    return found


def _read(paths: list[str]) -> dict[str, Sequence[str]]:
    words = [sys.executable, "-X", "faulthandler", "-m", "tests.hdf5.reading", *paths]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    try:
        output = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, env=environment, timeout=60).stdout
    except subprocess.TimeoutExpired as error:
        output = (error.stdout or b"").decode()
    return {path: told for path, *told in map(json.loads, output.splitlines())}


@cases("name", CASES)
def test_a_hostile_file(name: str, outcomes: dict[str, Sequence[str]]) -> None:
    kind, message = outcomes[name]
    assert kind in CASES[name].kinds, (kind, message)
    assert re.search(CASES[name].message, message), (kind, message)


def test_what_is_damaged_is_damaged_by_the_patch_alone() -> None:
    """The files are whole before, and of a patch of the same bytes nothing changes."""
    for name in ("netcdf4", "few", "earliest", "latest"):
        a = base(name)
        assert a.patched((0, a.data[:100]), (len(a.data) // 2, a.data[len(a.data) // 2 :])) == a.data
        structure = a.structures[0] if a.structures else None
        assert (
            structure is None
            or lookup3(a.data[structure.start : structure.end])
            == struct.unpack_from("<I", a.data, structure.checksum)[0]
        )
