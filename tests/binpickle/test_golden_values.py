"""What the reference has written is loaded, without its code, and is what was saved."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ds_format import binpickle
from ds_format.binpickle import machine
from ds_format.errors import DsError, FormatError

from ..conftest import cases
from . import golden
from .tagged import assert_same, tag

STORED = [name for name in golden.FILES if golden.is_stored(name)]
CODEC_OBJECT = {"f8": (64,), "i4": (100,), "u1": (128,)}
"""Shapes of the arrays of the object that the files of the codecs have, by dtype."""


def need(entry: dict[str, Any]) -> None:
    """Skip what needs a library that is not installed."""
    for module in {module.partition(".")[0] for module, _ in entry.get("pickle_globals") or []}:
        if module in ("pandas", "pyarrow", "scipy"):
            pytest.importorskip(module)


def check(value: Any, entry: dict[str, Any]) -> None:
    if "value" in entry:
        assert_same(tag(value), entry["value"])
    else:
        arrays = [part for part in value.values() if isinstance(part, np.ndarray)]
        assert {part.dtype.str[1:]: part.shape for part in arrays} == CODEC_OBJECT


@pytest.mark.parametrize("name", golden.FILES)
def test_a_golden_file_has_its_value(name: str) -> None:
    entry = golden.expected(name)
    path = golden.FOLDER / name
    need(entry)
    if not entry["entries"]:
        with pytest.raises(FormatError, match="has no object"):
            binpickle.load(path)
        return
    check(binpickle.load(path), entry)


@pytest.mark.parametrize("name", STORED)
def test_the_machine_alone_loads_it(name: str) -> None:
    entry = golden.expected(name)
    need(entry)
    pickle, buffers = golden.parts(golden.FOLDER / name)
    check(machine.load(pickle, buffers), entry)


@cases("name", STORED)
def test_a_cut_pickle_is_refused(name: str) -> None:
    pickle, buffers = golden.parts(golden.FOLDER / name)
    for size in range(0, len(pickle), 1 + len(pickle) // 100):
        with pytest.raises(DsError):
            machine.load(pickle[:size], buffers)
