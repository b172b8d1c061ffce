"""One variable out of fifty."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import ds_format as ds

from .. import peers
from ..data import dataset, floats
from ..runner import Bench, Case, Group
from ..timing import Trial
from ..ways import BARE, NETCDF, OURS, reads, reference_reads

WANTED = "v25"


def read_one(n: int | None, bench: Bench, folder: Path) -> Trial:
    """Read one of fifty variables of n values."""
    n = n or bench.sizes.fifty
    data = dataset(None, **{f"v{i}": floats(n) + i for i in range(50)})
    path, netcdf = str(folder / "x.ds"), str(folder / "x.nc")
    ds.write(path, data)
    peers.write_netcdf(netcdf, data)
    offset = peers.offset_of(path, WANTED)
    expected = {WANTED: data[WANTED]}
    repeat = max(bench.sizes.calls // 10, 1)

    def opened(path: str) -> Any:
        with ds.open(path) as file:
            return {WANTED: file[WANTED][...]}

    return Trial(
        [
            reads(OURS, lambda path: ds.read(path, [WANTED]), [path] * repeat, expected, note="ds.read(path, [name])"),
            reads(f"{OURS}, open", opened, [path] * repeat, expected, note="ds.open(path)[name][...]"),
            reads(
                BARE,
                lambda path: peers.from_file(path, offset, (n,)),
                [path] * repeat,
                data[WANTED],
                note="np.fromfile at an offset known",
            ),
            reads(NETCDF, lambda path: peers.read_netcdf_part(path, WANTED), [netcdf] * repeat, data[WANTED]),
            *reference_reads(bench, folder, [path] * repeat, expected, variables=[WANTED]),
        ],
        n=repeat,
        size=8 * n,
    )


GROUP = Group(
    "One variable out of fifty",
    "Fifty float64 variables of 100 values (41 kB) or 100 000 values (40 MB).",
    (
        Case("one of fifty, small", partial(read_one, 100)),
        Case("one of fifty, large", partial(read_one, None)),
    ),
)
