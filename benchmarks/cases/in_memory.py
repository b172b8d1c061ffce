"""Station reports as bytes: made and read in memory, compared with files and with pickles."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import ds_format as ds

from ..data import expect, expect_whole
from ..runner import Bench, Case, Group
from ..stations import report
from ..timing import Trial, Way
from ..ways import OURS, PICKLE, each

HEADERS = "own"
IN_FILES = f"{OURS}, files"


def dumps(bench: Bench, folder: Path) -> Trial:
    """Make the bytes of each report."""
    n = bench.sizes.files
    datasets = [report(i, HEADERS) for i in range(n)]
    path = folder / "report.ds"

    def check() -> None:
        ds.write(path, datasets[0])
        expect(OURS, ds.dumps(datasets[0]), path.read_bytes())

    def check_pickle() -> None:
        expect_whole(PICKLE, pickle.loads(pickled(datasets[0])), datasets[0])

    pickled = partial(pickle.dumps, protocol=5)
    return Trial(
        [
            each(OURS, ds.dumps, datasets, check, n, note="ds.dumps"),
            each(IN_FILES, partial(ds.write, path), datasets, check, n, note="ds.write, one file again and again"),
            each(PICKLE, pickled, datasets, check_pickle, n, note="pickle.dumps(data, 5)"),
        ],
        n=n,
    )


def loads(bench: Bench, folder: Path) -> Trial:
    """Read each report from its bytes."""
    n = bench.sizes.files
    datasets = [report(i, HEADERS) for i in range(n)]
    paths = [str(folder / f"{i:06d}.ds") for i in range(n)]
    for path, data in zip(paths, datasets, strict=True):
        ds.write(path, data)

    def way(name: str, read: Callable[[Any], Any], items: list[Any], note: str) -> Way:
        return each(name, read, items, lambda: expect_whole(name, read(items[-1]), datasets[-1]), n, note=note)

    return Trial(
        [
            way(OURS, ds.loads, [Path(path).read_bytes() for path in paths], "ds.loads"),
            way(IN_FILES, ds.read, paths, "ds.read"),
            way(PICKLE, pickle.loads, [pickle.dumps(data, 5) for data in datasets], "pickle.loads"),
        ],
        n=n,
    )


GROUP = Group(
    "Station reports in memory",
    "The same reports, each with a header of its own, as bytes instead of files. Files are in memory, too, but need "
    "system calls. The collector of garbage is off.",
    (Case("stations, dumps", dumps), Case("stations, loads", loads)),
)
