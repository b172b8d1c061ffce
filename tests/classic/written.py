"""Datasets that fit into classic files, and the files that this package writes of them."""

from __future__ import annotations

import functools
from random import Random
from typing import Any

import numpy as np

import ds_format as ds

from .files import drawn, encode

FORMATS = ("NETCDF3_CLASSIC", "NETCDF3_64BIT_OFFSET", "NETCDF3_64BIT_DATA")


def dims(*names: str, **more: Any) -> dict[str, Any]:
    return {".dims": [*names], **more}


def dataset(unlimited: tuple[str, ...] = (), **variables: tuple[Any, dict[str, Any]]) -> dict[str, Any]:
    meta: dict[str, Any] = {name: entry for name, (_, entry) in variables.items()}
    meta["."] = {"title": "Höhe", "empty": "", "list": [1.5, 2.5], "none": [], ".netcdf": {"unlimited": [*unlimited]}}
    return {**{name: values for name, (values, _) in variables.items()}, ".": meta}


TIME = np.arange(3.0), dims("time", units="days since 2000-01-01")
BYTES = np.arange(3, dtype="i1"), dims("time")
SHORTS = np.arange(15, dtype="i2").reshape(3, 5), dims("time", "x", _FillValue=np.int16(-9), scale_factor=0.5)
GAPS = np.ma.masked_array(np.arange(5, dtype="f4"), np.array([0, 1, 0, 0, 1], bool)), dims("x")
TEXT = np.array(["a", "", "søren"], object), dims("time")
FIXED = np.arange(5, dtype="i1"), dims("x", _FillValue=np.int8(7))
SCALAR = np.int16(-3), dims()
WORD = "Wien", dims()

DATASETS: dict[str, dict[str, Any]] = {
    "no variable": {".": {".": {"a": np.int16(1)}}},
    "fixed": dataset(a=FIXED, b=GAPS, c=SCALAR, d=WORD),
    "fixed and records": dataset(("time",), a=BYTES, b=FIXED, c=SHORTS, d=TIME, e=SCALAR, f=TEXT),
    "one variable of records without padding": dataset(("time",), a=FIXED, b=BYTES),
    "one variable of records of odd size": dataset(("time",), b=SHORTS, c=SCALAR),
    "no records": dataset(("none",), a=(np.zeros((0, 3)), dims("none", "y")), b=(np.zeros(0, "i1"), dims("none"))),
    "a dimension that no variable has": dataset((), a=FIXED) | {},
    "text": dataset((), a=TEXT, b=(np.array([b"ab", b"c"], object), dims("n")), c=WORD),
}
DATASETS["a dimension that no variable has"]["."]["."] = {
    ".netcdf": {"dimensions": {"u": 4, "v": 7}, "unlimited": ["u"]}
}


@functools.cache
def written() -> tuple[bytes, ...]:
    """Return all these datasets in all formats, as files."""
    return tuple([ds.dumps(data, format=format) for format in FORMATS for data in DATASETS.values()])


def drawn_or_written(random: Random) -> bytes:
    """Return a file: a random one made by hand, or one that this package writes."""
    return encode(drawn(random)) if random.random() < 0.5 else random.choice(written())
