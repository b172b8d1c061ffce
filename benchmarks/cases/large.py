"""One large float64 variable: whole, mapped, and as one part."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import ds_format as ds

from .. import peers
from ..data import Data, dataset, floats
from ..runner import Bench, Case, Group, SkippedError, need_room
from ..timing import Trial, Way
from ..ways import BARE, NETCDF, OURS, SMALLER, calls, reads, reference_reads, reference_writes, writes
from ..worker import Worker, can_measure_memory

PACKAGE = str(Path(ds.__file__).parents[1])
PARTS: dict[str, tuple[Any, ...]] = {
    "x[10:20]": (slice(10, 20),),
    "x[::10]": (slice(None, None, 10),),
    "x[:, 250, 500]": (slice(None), 250, 500),
    "x[:, :, 500]": (slice(None), slice(None), 500),
}
"""Of an array of 100 fields, each of as many columns as rows of half as many."""
SLABS = 5
"""How often a field is read in a row."""


def read(bench: Bench, folder: Path) -> Trial:
    """Read a file whole."""
    data, path, netcdf = _files(bench, folder)
    n, body = bench.sizes.large, peers.body_of(path)
    return Trial(
        [
            reads(OURS, ds.read, [path], data),
            reads(
                BARE,
                lambda path: peers.from_file(path, body, (n,)),
                [path],
                data["x"],
                note="np.fromfile",
            ),
            reads(NETCDF, peers.read_netcdf, [netcdf], data),
            *reference_reads(bench, folder, [path], data),
        ],
        size=8 * n,
    )


def write(atomic: bool, bench: Bench, folder: Path) -> Trial:
    """Write a new file."""
    n = bench.sizes.large
    need_room(folder, 8 * n * 6)
    data = dataset(x=floats(n))
    paths = [[str(folder / name)] for name in ("x.ds", "x.bin", "x.nc", "ref.ds")]
    return Trial(
        [
            writes(OURS, lambda path: ds.write(path, data, atomic=atomic), paths[0], data, ds.read),
            writes(BARE, data["x"].tofile, paths[1], data["x"], np.fromfile, note="ndarray.tofile"),
            writes(NETCDF, lambda path: peers.write_netcdf(path, data), paths[2], data),
            *reference_writes(bench, folder, paths[3], [data], ds.read),
        ],
        size=8 * n,
    )


def write_memory(bench: Bench, folder: Path) -> Trial:
    """Memory that writing takes above that of the array."""
    if not can_measure_memory():
        raise SkippedError("the system does not tell the memory of a process")
    path = str(folder / "x.ds")

    def run() -> float:
        with Worker(sys.executable, PACKAGE) as worker:
            worker.ask("fill", n=bench.sizes.large)
            before = worker.memory(peak=False)
            worker.ask("write", paths=[path])
            return worker.memory() - before

    return Trial([Way(OURS, run, lambda: None)], unit="MB", repetitions=(1, 1))


def open_mapped(bench: Bench, folder: Path) -> Trial:
    """Open a file with a map, and take its variable, which reads nothing."""
    paths = {}
    for name, n in (("large", bench.sizes.large), ("smaller", bench.sizes.large // 100)):
        paths[name] = str(folder / f"{name}.ds")
        ds.write(paths[name], dataset(x=floats(n)))
    repeat = bench.sizes.calls

    def last(path: str) -> Any:
        return ds.read(path, mmap=True)["x"][-1:]

    def way(name: str, path: str) -> Way:
        return calls(name, lambda: last(path), ds.read(path)["x"][-1:], repeat, note="ds.read(..., mmap=True)")

    return Trial([way(OURS, paths["large"]), way(SMALLER, paths["smaller"])], n=repeat)


def part(name: str, bench: Bench, folder: Path) -> Trial:
    """Read a part of a large variable of three dimensions."""
    rows = max(round((bench.sizes.large / 200) ** 0.5), 1)
    shape = (100, rows, 2 * rows)
    index = tuple(item if isinstance(item, slice) else item * rows // 500 for item in PARTS[name])
    data = dataset(["time", "row", "column"], x=floats(int(np.prod(shape))).reshape(shape))
    path, netcdf = _written(folder, data)
    body = peers.body_of(path)
    expected = data["x"][index]
    sel = {dim: item for dim, item in zip(("time", "row", "column"), index, strict=False) if item != slice(None)}

    def ours(path: str) -> Any:
        return ds.read(path, sel=sel)["x"]

    def opened(path: str) -> Any:
        with ds.open(path) as file:
            return file["x"][index]

    def mapped(path: str) -> Any:
        return np.memmap(path, "<f8", "r", body, shape)[index].copy()

    plain = {dim: [item.start, item.stop, item.step] if isinstance(item, slice) else item for dim, item in sel.items()}
    return Trial(
        [
            reads(OURS, ours, [path], expected, note="ds.read(..., sel=...)"),
            reads(f"{OURS}, open", opened, [path], expected, note="ds.open(...)[name][index]"),
            reads(BARE, mapped, [path], expected, note="np.memmap, copy"),
            reads(NETCDF, lambda path: peers.read_netcdf_part(path, "x", index), [netcdf], expected),
            *reference_reads(bench, folder, [path], {"x": expected}, sel=plain),
        ],
        size=expected.nbytes,
    )


def slab(bench: Bench, folder: Path) -> Trial:
    """Read one of a hundred fields of a large variable."""
    n = bench.sizes.slab // 100
    data = dataset(["time", "cell"], x=floats(100 * n).reshape(100, n))
    data["time"], data["."]["time"] = np.arange(100.0), {".dims": ["time"]}
    path, netcdf = _written(folder, data)
    field = data["x"][50].copy()
    offset = peers.offset_of(path, "x") + 50 * field.nbytes
    paths = [path] * SLABS

    def ours(name: str, expected: Any, note: str, **selectors: Any) -> Way:
        return reads(
            name,
            partial(ds.read, variables="x", **selectors),
            paths,
            {"x": expected},
            note=f"ds.read(path, name, {note})",
        )

    def opened(path: str) -> Any:
        with ds.open(path) as file:
            return file["x"][50]

    def values(content: bytes) -> Any:
        return np.frombuffer(content, "<f8")

    return Trial(
        [
            ours(OURS, field, "sel={dim: 50}", sel={"time": 50}),
            ours(f"{OURS}, slice", field[None], "sel={dim: slice(50, 51)}", sel={"time": slice(50, 51)}),
            ours(f"{OURS}, at", field, "at={name: 50}", at={"time": 50}),
            ours(f"{OURS}, between", field[None], "between={name: (50, 51)}", between={"time": (50, 51)}),
            reads(f"{OURS}, open", opened, paths, field, note="ds.open(...)[name][index]"),
            reads(
                BARE,
                lambda path: peers.read_range(path, offset, field.nbytes),
                paths,
                field,
                note="open, pread at an offset known, close",
                value=values,
            ),
            reads(NETCDF, lambda path: peers.read_netcdf_part(path, "x", 50), [netcdf] * SLABS, field),
            *reference_reads(bench, folder, paths, {"x": field}, variables=["x"], sel={"time": 50}),
        ],
        n=SLABS,
        size=field.nbytes,
    )


def _files(bench: Bench, folder: Path) -> tuple[Data, str, str]:
    data = dataset(x=floats(bench.sizes.large))
    return data, *_written(folder, data)


def _written(folder: Path, data: Data) -> tuple[str, str]:
    need_room(folder, data["x"].nbytes * 4)
    path, netcdf = str(folder / "x.ds"), str(folder / "x.nc")
    ds.write(path, data)
    peers.write_netcdf(netcdf, data)
    return path, netcdf


GROUP = Group(
    "Large files",
    "One float64 variable of 400 MB; of 1 GB where one field of a hundred is read.",
    (
        Case("read large", read),
        Case("write large", partial(write, True)),
        Case("write large, atomic=False", partial(write, False)),
        Case("write large, memory above the array", write_memory),
        Case("open large with mmap=True", open_mapped),
        Case("slab of large", slab),
        *(Case(f"part of large, {name}", partial(part, name)) for name in PARTS),
    ),
)
