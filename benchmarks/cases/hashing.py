"""Hashes of content, and those of the bytes of the same files by hashlib, which does not have to read them."""

from __future__ import annotations

from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import Any

import ds_format as ds

from .. import stations
from ..data import dataset, floats, masked_floats
from ..machine import MOST_THREADS
from ..runner import Bench, Case, Group
from ..timing import Trial
from ..ways import BARE, OURS, reads

NOTE = "hashlib.blake2b, bytes in memory"


def _bare(contents: Any) -> bytes:
    return blake2b(contents, digest_size=32).digest()


def _trial(data: dict[str, Any], folder: Path, n: int, size: int) -> Trial:
    """Return a trial of a number of files that are the same."""
    paths = [str(folder / f"{i}.ds") for i in range(n)]
    for path in paths:
        ds.write(path, data)
    contents = [Path(paths[0]).read_bytes()] * n
    return Trial(
        [
            reads(OURS, ds.digest, paths, ds.digest(data)),
            reads(BARE, _bare, contents, _bare(contents[0]), note=NOTE),
        ],
        n=n,
        size=size,
    )


def variable(kind: str, bench: Bench, folder: Path) -> Trial:
    """Hash a file with one large variable."""
    array: Any = floats(bench.sizes.large) if kind == "floats" else masked_floats(bench.sizes.masked)
    return _trial(dataset(x=array), folder, 1, array.nbytes)


def report(bench: Bench, folder: Path) -> Trial:
    """Hash ordinary station reports, one file after another."""
    return _trial(stations.station(0, stations.ORDINARY), folder, bench.sizes.files, 0)


GROUP = Group(
    "Content hashes",
    "50 M float64 values; 20 M float64 values, 30 % of them missing; station reports.",
    (
        *(Case(f"hash {kind}", partial(variable, kind)) for kind in ("floats", "masked")),
        Case("hash a station report", report),
    ),
    threads=f"large variables take up to {MOST_THREADS} threads, everything else one",
)
