"""Anything to anything: what both formats can hold is kept, and what the target cannot hold is said."""

from __future__ import annotations

import functools
import itertools
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

import ds_format as ds
from ds_format.datasets import attrs
from ds_format.drivers import FORMATS
from ds_format.drivers.netcdf.format import RESERVED
from ds_format.testing import examples
from ds_format.testing.contract import put
from ds_format.testing.examples import pieces

from .formats import SUFFIX
from .holdings import HOLDINGS
from .strategies import datasets, usual_datasets

PAIRS = list(itertools.product(SUFFIX, repeat=2))
N_CHAINS = settings().max_examples // 2
EXAMPLES = examples()

SPECIAL = {*RESERVED, "ds_format", "dtype", "_Encoding", "_FillValue", "missing_value"}
"""Attributes with a meaning of their own, which have tests of their own."""


def is_plain(dataset: dict[str, Any]) -> bool:
    return not any(SPECIAL & attrs(entry).keys() for entry in dataset["."].values())


any_dataset = st.one_of(usual_datasets(), usual_datasets(), datasets().filter(is_plain))


@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_pairs(first: str, second: str, tmp_path: Path) -> None:
    for name in ("plain", "masked", "attributes", "packed"):
        for part in pieces(EXAMPLES[name], HOLDINGS[first]):
            for piece in pieces(part, HOLDINGS[second]):
                chain(tmp_path, piece, [first, second, "ds"])


def chain(folder: Path, dataset: dict[str, Any], formats: list[str]) -> None:
    """Write a dataset to a file of the first format, and convert it to the others one after the other."""
    paths = [folder / f"{i}{SUFFIX[format]}" for i, format in enumerate(formats)]
    current = put(paths[0], HOLDINGS[formats[0]](dataset), functools.partial(ds.write, d=dataset))
    for (source, path), format in zip(itertools.pairwise(paths), formats[1:], strict=True):
        if current is None:
            return
        if FORMATS[format].unpack is None:  # it cannot keep a scale: it gets what `read` returns
            current = ds.read(source)
        current = put(path, HOLDINGS[format](current), functools.partial(ds.convert, source))


@settings(max_examples=N_CHAINS)
@given(any_dataset, st.lists(st.sampled_from(sorted(SUFFIX)), min_size=3, max_size=5))
def test_chains(dataset: dict[str, Any], formats: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        chain(Path(folder), dataset, [*formats, "ds"])
