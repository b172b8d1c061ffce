"""Anything to anything: what both formats can hold is kept, and what the target cannot hold is said."""

from __future__ import annotations

import contextlib
import functools
import itertools
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings, strategies as st

import ds_format as ds
from ds_format.dataset import attrs, dims
from ds_format.drivers import FORMATS, json_ as json_sink
from ds_format.drivers.binpickle_ import sink
from ds_format.drivers.csv_ import sink as csv_sink, source as csv_source
from ds_format.drivers.hdf5 import sink as hdf5_sink
from ds_format.drivers.library import sink as library_sink
from ds_format.drivers.netcdf.format import RESERVED
from ds_format.many import merging
from ds_format.views.subset import Subset

from .holdings import HOLDINGS, Passage
from .same import same_data, same_value
from .strategies import datasets, usual_datasets

SUFFIX = {name: driver.suffixes[0] for name, driver in FORMATS.items()}
PAIRS = list(itertools.product(SUFFIX, repeat=2))
EXAMPLES = settings().max_examples
BUDGET = 16
"""Bytes of a tiny block."""

NANS = np.array([0x7FF8000000000000, 0xFFF8000000000000, 0x7FF8000000000001, 0xFFF0000000000002], "u8").view("f8")
ODD = {"x": NANS, "y": np.ma.MaskedArray(NANS, True), ".": {".": {}, "x": {}, "y": {}}}

SPECIAL = {*RESERVED, "ds_format", "dtype", "_Encoding", "_FillValue", "missing_value"}
"""Attributes with a meaning of their own, which have tests of their own."""


def is_plain(dataset: dict[str, Any]) -> bool:
    return not any(SPECIAL & attrs(entry).keys() for entry in dataset["."].values())


CLASH: dict[str, Any] = {
    "x": np.ma.MaskedArray(np.array([9.969209968386869e36, 1.0], ">f8"), [False, True]),
    ".": {".": {}, "x": {}},
}

any_dataset = st.one_of(usual_datasets(), usual_datasets(), datasets().filter(is_plain))


def test_every_format_says_what_it_holds() -> None:
    assert HOLDINGS.keys() == FORMATS.keys()


def pass_on(path: Path, format: str, dataset: dict[str, Any], act: Callable[[], None]) -> dict[str, Any] | None:
    """Check what becomes of a dataset that `act` writes to a file; return it as it comes back, None if it cannot."""
    passage = HOLDINGS[format](dataset)
    refused = ""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            act()
        except ds.UnsupportedError as error:
            refused = str(error)
    if refused:
        assert any(loss.is_said_in(refused) for loss in passage.errors), refused
        assert not path.exists()
        return None
    assert not passage.errors
    check_warnings(passage, caught)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = ds.read(path, unpack=False)
    check(passage.dataset, found)
    return found


def check_warnings(passage: Passage, caught: list[warnings.WarningMessage]) -> None:
    texts = [str(warning.message) for warning in caught]
    assert all(issubclass(warning.category, ds.LossWarning) for warning in caught), texts
    for loss in passage.warnings:
        assert any(loss.is_said_in(text) for text in texts), (loss, texts)
    for text in texts:
        assert any(loss.is_said_in(text) for loss in passage.warnings + passage.notes), text


def check(expected: dict[str, Any], found: dict[str, Any]) -> None:
    assert set(expected) == set(found)
    for key, data in expected.items():
        if key == ".":
            continue
        assert same_data(data, found[key]), key
        ours, theirs = expected["."][key], found["."][key]
        assert ours.get(".time") == theirs.get(".time"), key
        ndim = 0 if data is None else np.ndim(data)
        assert dims(key, ours, ndim) == dims(key, theirs, ndim), key
        check_attributes(ours, theirs)
    check_attributes(expected["."].get(".", {}), found["."]["."])


def check_attributes(expected: dict[str, Any], found: dict[str, Any]) -> None:
    ours, theirs = attrs(expected), attrs(found)
    assert ours.keys() == theirs.keys()
    for name, value in ours.items():
        assert value is ... or same_value(value, theirs[name]), name


@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_pairs(first: str, second: str) -> None:
    @settings(max_examples=EXAMPLES // 4)
    @given(any_dataset)
    @example(ODD)
    @example(CLASH)
    def run(dataset: dict[str, Any]) -> None:
        with tempfile.TemporaryDirectory() as folder:
            chain(Path(folder), dataset, [first, second, "ds"])

    run()


def chain(folder: Path, dataset: dict[str, Any], formats: list[str]) -> None:
    """Write a dataset to a file of the first format, and convert it to the others one after the other."""
    paths = [folder / f"{i}{SUFFIX[format]}" for i, format in enumerate(formats)]
    current = pass_on(paths[0], formats[0], dataset, functools.partial(ds.write, paths[0], dataset))
    for (source, path), format in zip(itertools.pairwise(paths), formats[1:], strict=True):
        if current is None:
            return
        if FORMATS[format].unpack is None:  # it cannot keep a scale: it gets what `read` returns
            current = ds.read(source)
        current = pass_on(path, format, current, functools.partial(ds.convert, source, path))


@settings(max_examples=EXAMPLES // 2)
@given(usual_datasets(), st.lists(st.sampled_from(sorted(SUFFIX)), min_size=3, max_size=5))
def test_chains(dataset: dict[str, Any], formats: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        chain(Path(folder), dataset, [*formats, "ds"])


@contextlib.contextmanager
def tiny_blocks() -> Iterator[None]:
    """Let data flow in blocks of few values."""
    whole = Subset.blocks
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Subset, "blocks", lambda self, name, budget=0: whole(self, name, BUDGET))
        for module in (library_sink, sink, hdf5_sink, csv_sink, merging):
            patch.setattr(module, "BLOCK_SIZE", BUDGET)
        patch.setattr(csv_source, "HELD_SIZE", BUDGET)
        for module in (csv_sink, json_sink):
            patch.setattr(module, "STEP", 2)
        yield


@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_blocks(first: str, second: str) -> None:
    """However short the blocks are, the file has the same content."""

    @settings(max_examples=EXAMPLES // 10)
    @given(usual_datasets())
    def run(dataset: dict[str, Any]) -> None:
        with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            source, one, other = (
                Path(folder) / name for name in ("a" + SUFFIX[first], "b" + SUFFIX[second], "c" + SUFFIX[second])
            )
            try:
                ds.write(source, dataset)
                caught.clear()
                ds.convert(source, one)
            except ds.UnsupportedError:
                return
            said = [str(warning.message).replace(str(one), "") for warning in caught]
            caught.clear()
            with tiny_blocks():
                ds.convert(source, other)
            assert said == [str(warning.message).replace(str(other), "") for warning in caught]
            check(ds.read(one, unpack=False), ds.read(other, unpack=False))

    run()
