"""Large NetCDF files: classic ones converted and written; compressed ones read, converted, read in part, written."""

from __future__ import annotations

import importlib
import importlib.util
import itertools
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import ds_format as ds

from ..data import expect
from ..peers import NetCDF, read_netcdf, read_netcdf_part
from ..runner import Bench, Case, Group, SkippedError, need_room
from ..timing import Trial, Way, stopwatch
from ..ways import BARE, COPY, H5NETCDF, HIDEFIX, NCCOPY, NETCDF, OURS, remove

FIELDS = 100
FIELD = 47
"""Which is read alone."""
WIDTH = 1000
CLASSIC_CHUNK = 1 << 20
REAL_FILES = "DS_FORMAT_NCARG"
"""Environment variable with the folder of real files, which `tests/fetch_ncarg.py` makes."""
CDF5 = "NETCDF3_64BIT_DATA"
MIN_WRITTEN = 10_000_000
"""Bytes of a file from which on its size shows how well values are compressed."""


def classic(bench: Bench, folder: Path) -> Trial:
    """Convert a large classic file without missing values, beside a copy of it."""
    size = bench.sizes.classic
    need_room(folder, 4 * size)
    source, target, copied = (str(folder / name) for name in ("x.nc", "x.ds", "copy.nc"))
    steps = max(size // (8 * CLASSIC_CHUNK), 1)
    random = np.random.default_rng(2)
    with NetCDF(source, "w", format="NETCDF3_64BIT_OFFSET") as file:
        file.createDimension("time", None)
        file.createDimension("cell", CLASSIC_CHUNK)
        for name in ("x", "y"):
            file.createVariable(name, "f4", ("time", "cell"))
        for step in range(steps):
            for name in ("x", "y"):
                file.variables[name][step] = random.random(CLASSIC_CHUNK, np.float32)

    def check() -> None:
        remove([target])
        ds.convert(source, target)
        found = ds.read(target, sel={"time": steps - 1})
        expect(OURS, found["y"], read_netcdf_part(source, "y", steps - 1))

    return Trial(
        [
            Way(OURS, stopwatch(lambda: ds.convert(source, target), lambda: remove([target])), check),
            Way(
                BARE,
                stopwatch(lambda: shutil.copyfile(source, copied), lambda: remove([copied])),
                lambda: None,
                "shutil.copyfile",
            ),
            Way(NETCDF, stopwatch(lambda: read_netcdf(source)), lambda: None, "reads it only"),
        ],
        size=size,
        repetitions=(1, 5),
    )


def classic_written(bench: Bench, folder: Path) -> Trial:
    """Write a large array to a classic file, beside its bytes alone."""
    array = np.random.default_rng(4).random(bench.sizes.classic // 8)
    need_room(folder, 4 * array.nbytes)
    ours, theirs, bare = (str(folder / name) for name in ("ours.nc", "theirs.nc", "x.bin"))
    dataset = {"x": array, ".": {"x": {".dims": ["n"]}}}

    def write() -> None:
        ds.write(ours, dataset, format=CDF5)

    def by_library() -> None:
        with NetCDF(theirs, "w", format=CDF5) as file:
            file.createDimension("n", array.size)
            file.createVariable("x", "f8", ("n",), fill_value=False)[:] = array

    def check() -> None:
        write()
        expect(OURS, read_netcdf_part(ours, "x", ...), array)

    return Trial(
        [
            Way(OURS, stopwatch(write, lambda: remove([ours])), check),
            Way(BARE, stopwatch(lambda: array.tofile(bare), lambda: remove([bare])), lambda: None, "ndarray.tofile"),
            Way(NETCDF, stopwatch(by_library, lambda: remove([theirs])), lambda: None, "not pre-filled"),
        ],
        size=array.nbytes,
        repetitions=(1, 5),
    )


def compressed(what: str, bench: Bench, folder: Path) -> Trial:
    """Read a compressed file, a field of it, or convert it."""
    size = bench.sizes.compressed
    need_room(folder, 4 * size)
    path, target, copied = (str(folder / name) for name in ("x.nc", "x.ds", "copy.nc"))
    lines = max(size // (4 * FIELDS * WIDTH), 1)
    _write(path, lines)
    index: Any = FIELD if what == "field" else ...
    expected = read_netcdf_part(path, "x", index)
    read = stopwatch(lambda: read_netcdf_part(path, "x", index))
    theirs = Way(NETCDF, read, lambda: None, "reads it only" if what == "convert" else "")
    if what == "convert":

        def check() -> None:
            remove([target])
            ds.convert(path, target)
            expect(OURS, ds.read(target)["x"], expected)

        ours = Way(OURS, stopwatch(lambda: ds.convert(path, target), lambda: remove([target])), check)
        return Trial([ours, theirs, *_nccopy(path, copied)], size=size, repetitions=(1, 5))
    sel = None if what == "whole" else {"time": FIELD}

    def checked() -> None:
        expect(OURS, ds.read(path, ["x"], sel)["x"], expected)

    ways = [Way(OURS, stopwatch(lambda: ds.read(path, ["x"], sel)), checked), theirs, *_others(path, index)]
    if what == "whole":
        ways.append(Way(COPY, stopwatch(np.array(expected).copy), lambda: None, "of the array, in memory"))
    return Trial(ways, size=size if what == "whole" else size // FIELDS, repetitions=(1, 5))


def real(bench: Bench, folder: Path) -> Trial:
    """Read each netCDF-4 file of a folder with real ones, with all attributes."""
    place = os.environ.get(REAL_FILES)
    paths = [path for path in sorted(Path(place or folder).rglob("*")) if path.is_file() and _is_hdf5(path)]
    if not paths:
        raise SkippedError(f"the environment variable {REAL_FILES} does not name a folder with netCDF-4 files")

    def ours() -> None:
        for path in paths:
            ds.read(path)

    def theirs() -> None:
        for path in paths:
            with NetCDF(path) as file:
                _read_group(file)

    note = f"{len(paths)} files of {sum(path.stat().st_size for path in paths) / 1e6:.1f} MB"
    return Trial(
        [Way(OURS, stopwatch(ours), ours, note), Way(NETCDF, stopwatch(theirs), lambda: None, "values and attributes")],
        n=len(paths),
        repetitions=(1, 5),
    )


def _is_hdf5(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(8) == b"\x89HDF\r\n\x1a\n"


def _read_group(group: Any) -> None:
    """Read attributes and values of a group and those in it with netCDF4."""
    group.__dict__  # noqa: B018 - reads the attributes
    for variable in group.variables.values():
        variable.__dict__  # noqa: B018
        variable[...]
    for inner in group.groups.values():
        _read_group(inner)


def written(divisor: int, is_alone: bool, bench: Bench, folder: Path) -> Trial:
    """Write a compressed file of many fields at level 1, with one processor or all."""
    lines = max(bench.sizes.compressed // divisor // (4 * FIELDS * WIDTH), 1)
    if is_alone and not hasattr(os, "sched_setaffinity"):
        raise SkippedError("the system cannot limit a process to one processor")
    need_room(folder, 4 * FIELDS * lines * WIDTH)
    target, theirs = str(folder / "ours.nc"), str(folder / "theirs.nc")
    fields = np.stack([*_fields(lines)])
    dataset = {"x": fields, ".": {"x": {".dims": ["time", "y", "x_"]}, ".": {".netcdf": {"unlimited": ["time"]}}}}

    def limited(work: Callable[[], None]) -> Callable[[], None]:
        def run() -> None:
            processors = os.sched_getaffinity(0)
            os.sched_setaffinity(0, {min(processors)})
            try:
                work()
            finally:
                os.sched_setaffinity(0, processors)

        return run if is_alone else work

    def by_library() -> None:
        with NetCDF(theirs, "w") as file:
            for name, n in (("time", None), ("y", lines), ("x_", WIDTH)):
                file.createDimension(name, n)
            variable = file.createVariable("x", "f4", ("time", "y", "x_"), zlib=True, complevel=1, shuffle=True)
            variable.set_auto_maskandscale(False)
            variable[:] = fields

    def check() -> None:
        by_library()
        ds.write(target, dataset, compression="zlib", level=1)
        expect(OURS, read_netcdf_part(target, "x", FIELD), fields[FIELD])
        found, expected = os.path.getsize(target), os.path.getsize(theirs)
        if expected >= MIN_WRITTEN and not 0.95 < found / expected < 1.05:
            raise ValueError(f"found {found} bytes, expected {expected}, or 5 % more or less")

    ours = limited(lambda: ds.write(target, dataset, compression="zlib", level=1))
    ways = [
        Way(OURS, stopwatch(ours, lambda: remove([target])), check),
        Way(NETCDF, stopwatch(limited(by_library), lambda: remove([theirs])), lambda: None, "zlib, level 1"),
    ]
    return Trial(ways, size=fields.nbytes, repetitions=(1, 5))


def several(bench: Bench, folder: Path) -> Trial:
    """Write a compressed file of six variables, a hundredth of a large one."""
    size = bench.sizes.compressed // 100
    need_room(folder, 8 * size)
    target, theirs = str(folder / "ours.nc"), str(folder / "theirs.nc")
    lines = max(size // (6 * 4 * WIDTH), 1)
    data = {f"v{i}": field for i, field in enumerate(itertools.islice(_fields(lines), 6))}
    dataset = {**data, ".": {name: {".dims": ["y", "x"], "units": "K"} for name in data}}

    def by_library() -> None:
        with NetCDF(theirs, "w") as file:
            file.createDimension("y", lines)
            file.createDimension("x", WIDTH)
            for name, values in data.items():
                variable = file.createVariable(
                    name, "f4", ("y", "x"), zlib=True, complevel=1, shuffle=True, fill_value=False
                )
                variable.units = "K"
                variable[:] = values

    def write() -> None:
        ds.write(target, dataset, compression="zlib", level=1)

    def check() -> None:
        write()
        for name, values in data.items():
            expect(OURS, read_netcdf_part(target, name, ...), values)

    ways = [
        Way(OURS, stopwatch(write, lambda: remove([target])), check),
        Way(NETCDF, stopwatch(by_library, lambda: remove([theirs])), lambda: None, "zlib, level 1"),
    ]
    return Trial(ways, size=sum(values.nbytes for values in data.values()))


def _fields(lines: int) -> Iterator[NDArray[np.float32]]:
    """Yield fields as models have them: smooth, with noise, to three digits."""
    random = np.random.default_rng(3)
    smooth = np.sin(np.linspace(0, 9, lines))[:, None] * np.cos(np.linspace(0, 9, WIDTH)) * 20 + 280
    for i in range(FIELDS):
        noise: NDArray[np.float64] = random.normal(0, 0.5, (lines, WIDTH))
        yield np.round(smooth + i / 10 + noise, 3).astype(np.float32)


def _write(path: str, lines: int) -> None:
    """Write fields of a float32 variable; shuffled and deflated."""
    with NetCDF(path, "w") as file:
        for name, n in (("time", FIELDS), ("y", lines), ("x_", WIDTH)):
            file.createDimension(name, n)
        chunks = (1, max(lines // 2, 1), WIDTH)
        variable = file.createVariable(
            "x", "f4", ("time", "y", "x_"), zlib=True, complevel=4, shuffle=True, chunksizes=chunks
        )
        for i, field in enumerate(_fields(lines)):
            variable[i] = field


def _others(path: str, index: Any) -> Iterator[Way]:
    if importlib.util.find_spec("h5netcdf") is not None:
        h5netcdf: Any = importlib.import_module("h5netcdf")

        def by_h5netcdf() -> Any:
            with h5netcdf.File(path) as file:
                return file.variables["x"][index]

        yield Way(H5NETCDF, stopwatch(by_h5netcdf), lambda: None)
    if importlib.util.find_spec("hidefix") is not None:
        hidefix: Any = importlib.import_module("hidefix")

        def by_hidefix() -> Any:
            return hidefix.Index(path).dataset("x")[(slice(None),) * 3 if index is ... else (index,)]

        def check() -> None:
            expected = read_netcdf_part(path, "x", index)
            expect(HIDEFIX, by_hidefix().reshape(expected.shape), expected)  # it drops axes of one value

        yield Way(HIDEFIX, stopwatch(by_hidefix), check, "Index(path).dataset(name)[index]")


def _nccopy(path: str, copied: str) -> Iterator[Way]:
    program = shutil.which("nccopy")
    if program is not None:
        words = [program, "-d", "0", path, copied]
        work = stopwatch(lambda: subprocess.run(words, check=True), lambda: remove([copied]))
        yield Way(NCCOPY, work, lambda: None, "nccopy -d 0: to a NetCDF file that is not compressed")


GROUP = Group(
    "Large NetCDF files",
    "A classic file of two float32 variables along an unlimited dimension, 1 GB, in which nothing is missing; and a "
    "netCDF-4 file of a float32 variable of 100 fields, 500 MB in memory, shuffled and deflated at level 4, each field "
    "in two chunks. The written files have such fields at level 1, along an unlimited dimension; one of 5 MB has six "
    "variables of one field. A classic file is written of one float64 array.",
    (
        Case("classic of 1 GB, convert", classic),
        Case("classic of 1 GB, write", classic_written),
        Case("real netCDF-4 files, read", real),
        Case("compressed, read", partial(compressed, "whole")),
        Case("compressed, read one field of a hundred", partial(compressed, "field")),
        Case("compressed, convert", partial(compressed, "convert")),
        Case("compressed, write", partial(written, 1, False)),
        Case("compressed, write, one processor", partial(written, 1, True)),
        Case("compressed, write a tenth", partial(written, 10, False)),
        Case("compressed, write six variables", several),
    ),
    threads="ds_format may take as many threads as there are cores, hidefix, too",
)
