"""Tiny and small files, one float64 variable each: very many of them, written and read."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import ds_format as ds

from .. import peers
from ..data import dataset, floats
from ..runner import Bench, Case, Group
from ..timing import Trial
from ..ways import BARE, CLASSIC, NETCDF, OURS, reads, reference_reads, reference_writes, writes

SIZES = {"tiny": 10, "small": 1000}
"""Values in a file."""


def read(n: int, differ: bool, bench: Bench, folder: Path) -> Trial:
    """Read files whose headers are the same, or all different."""
    data = dataset(x=floats(n))
    names = _names(folder, bench.sizes.files)
    ours, theirs, classic = (_with_suffix(names, suffix) for suffix in (".ds", ".nc", ".nc3"))
    for i, paths in enumerate(zip(ours, theirs, classic, strict=True)):
        if differ:
            data["."]["."]["file"] = i
        ds.write(paths[0], data)
        peers.write_netcdf(paths[1], data)
        peers.write_netcdf(paths[2], data, "NETCDF3_CLASSIC")

    def values(content: bytes) -> Any:
        return {"x": np.frombuffer(content[-8 * n :], "<f8")}

    return Trial(
        [
            reads(OURS, ds.read, ours, data),
            reads(BARE, peers.read_bare, ours, data, note="open, fstat, read, close", value=values),
            reads(NETCDF, peers.read_netcdf, theirs, data),
            reads(CLASSIC, peers.read_netcdf, classic, data),
            *reference_reads(bench, folder, ours, data),
        ],
        n=bench.sizes.files,
    )


def write(n: int, bench: Bench, folder: Path) -> Trial:
    """Write files that are whole or absent."""
    temporary = str(folder / "temporary")
    buffers = _buffers(folder, n)
    return _write(n, ds.write, lambda path: peers.write_bare_renamed(path, temporary, buffers), bench, folder)


def write_new(n: int, bench: Bench, folder: Path) -> Trial:
    """Write straight into new files."""
    buffers = _buffers(folder, n)
    return _write(
        n,
        lambda path, data: ds.write(path, data, atomic=False),
        lambda path: peers.write_bare(path, buffers),
        bench,
        folder,
    )


def _write(n: int, ours: Callable[[str, Any], None], bare: Callable[[str], None], bench: Bench, folder: Path) -> Trial:
    data = dataset(x=floats(n))
    names = _names(folder, bench.sizes.files)
    renamed = "open, writev, close, rename" if ours is ds.write else "open, writev, close"
    return Trial(
        [
            writes(OURS, lambda path: ours(path, data), _with_suffix(names, ".ds"), data, ds.read),
            writes(BARE, bare, _with_suffix(names, ".bare.ds"), data, ds.read, note=renamed),
            writes(NETCDF, lambda path: peers.write_netcdf(path, data), _with_suffix(names, ".nc"), data),
            writes(
                CLASSIC,
                lambda path: peers.write_netcdf(path, data, "NETCDF3_CLASSIC"),
                _with_suffix(names, ".nc3"),
                data,
            ),
            *reference_writes(bench, folder, _with_suffix(names, ".ref.ds"), [data], ds.read),
        ],
        n=bench.sizes.files,
    )


def _names(folder: Path, n: int) -> list[str]:
    return [str(folder / f"{i:06d}") for i in range(n)]


def _with_suffix(names: list[str], suffix: str) -> list[str]:
    return [name + suffix for name in names]


def _buffers(folder: Path, n: int) -> list[Any]:
    """Return the header of a file as bytes, and its values as an array."""
    path = str(folder / "model.ds")
    data = dataset(x=floats(n))
    ds.write(path, data)
    return [peers.read_bare(path)[: peers.body_of(path)], data["x"]]


GROUP = Group(
    "Tiny and small files",
    "One float64 variable of 10 (tiny) or 1000 (small) values, with a dimension and an attribute. Times are per file. "
    "netCDF4 reads values only; ds_format and ds-format read attributes, too.",
    (
        *(Case(f"read {name}", partial(read, n, False)) for name, n in SIZES.items()),
        *(Case(f"read {name}, headers differ", partial(read, n, True)) for name, n in SIZES.items()),
        *(Case(f"write {name}", partial(write, n)) for name, n in SIZES.items()),
        *(Case(f"write {name}, atomic=False", partial(write_new, n)) for name, n in SIZES.items()),
    ),
)
