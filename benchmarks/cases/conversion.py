"""NetCDF ↔ ds: how fast, and with how much memory."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import ds_format as ds

from ..data import expect
from ..peers import NetCDF
from ..runner import Bench, Case, Group, SkippedError, need_room
from ..timing import Trial, Way, stopwatch
from ..ways import BARE, OURS, REFERENCE, remove
from ..worker import Worker, can_measure_memory
from .large import PACKAGE

ROW = 100_000
"""Values of each variable in one step of time, which take ROW * 6 bytes in a file."""


def convert(back: bool, bench: Bench, folder: Path) -> Trial:
    """Convert a file of packed int16 and float32 with missing values, there or back."""
    size = bench.sizes.converted
    source, target, theirs = _paths(folder, back)
    _prepare(folder, size, back)
    expected = _raw(str(folder / "x.nc"))

    def check() -> None:
        remove([target])
        ds.convert(source, target)
        expect(OURS, _raw(target) if back else _filled(target, expected), expected)

    bare = (lambda: _raw_to_netcdf(expected, theirs)) if back else (lambda: _raw_to_file(source, theirs))
    note = "raw arrays in memory → netCDF4" if back else "netCDF4 raw → tofile"
    ways = [
        Way(OURS, stopwatch(lambda: ds.convert(source, target), lambda: remove([target])), check),
        Way(BARE, stopwatch(bare, lambda: remove([theirs])), lambda: None, note),
    ]
    worker = bench.reference
    if worker is not None and not back:
        path = str(folder / "ref.ds")
        ways.append(
            Way(
                REFERENCE,
                lambda: float(worker.ask("convert", source=source, target=path)),
                lambda: None,
                "whole arrays in memory, values unpacked",
            )
        )
    return Trial(ways, size=size)


def memory(back: bool, larger: bool, bench: Bench, folder: Path) -> Trial:
    """The most memory that a process has held when it has converted a file."""
    size = bench.sizes.larger if larger else bench.sizes.converted
    if not size:
        raise SkippedError("not in a short run")
    if not can_measure_memory():
        raise SkippedError("the system does not tell the memory of a process")
    need_room(folder, 4 * size)
    source, target, _ = _paths(folder, back)
    _prepare(folder, size, back)
    ways = [Way(OURS, _peak(sys.executable, PACKAGE, source, target), lambda: None, "whole process")]
    if bench.reference is not None and not larger and not back:
        path = str(folder / "ref.ds")
        ways.append(
            Way(
                REFERENCE,
                _peak(bench.reference.python, bench.reference.path, source, path),
                lambda: None,
                "whole process",
            )
        )
    return Trial(ways, unit="MB", repetitions=(1, 1))


def _peak(python: str, package: str | None, source: str, target: str) -> Callable[[], float]:
    def run() -> float:
        with Worker(python, package) as worker:
            worker.ask("convert", source=source, target=target)
            return worker.memory()

    return run


def _paths(folder: Path, back: bool) -> tuple[str, str, str]:
    names = ("x.ds", "back.nc", "bare.nc") if back else ("x.nc", "x.ds", "bare.bin")
    source, target, theirs = (str(folder / name) for name in names)
    return source, target, theirs


def _prepare(folder: Path, size: int, back: bool) -> None:
    netcdf = str(folder / "x.nc")
    _generate(netcdf, max(size // (6 * ROW), 1))
    if back:
        ds.convert(netcdf, str(folder / "x.ds"))


def _generate(path: str, steps: int) -> None:
    """Write a file of two variables, of which a tenth of the values are missing, step by step."""
    random = np.random.default_rng(4)
    packed = random.integers(-30_000, 30_000, ROW).astype("i2")
    plain = random.random(ROW, np.float32)
    packed[::10], plain[::10] = -32768, 1e20
    with NetCDF(path, "w") as file:
        file.createDimension("time", steps)
        file.createDimension("cell", ROW)
        for name, values, fill in (("packed", packed, np.int16(-32768)), ("plain", plain, np.float32(1e20))):
            variable = file.createVariable(name, values.dtype, ("time", "cell"), fill_value=fill)
            variable.set_auto_maskandscale(False)
            if name == "packed":
                variable.setncatts({"scale_factor": 0.01, "add_offset": 20.0})
            for step in range(steps):
                variable[step] = np.roll(values, step)


def _raw(path: str) -> dict[str, Any]:
    """Read the values as they are stored."""
    with NetCDF(path) as file:
        file.set_auto_maskandscale(False)
        return {name: variable[...] for name, variable in file.variables.items()}


def _filled(path: str, like: dict[str, Any]) -> dict[str, Any]:
    """Read a ds file, with the values for missing ones that NetCDF has."""
    data = ds.read(path, unpack=False)
    return {name: data[name].filled(data["."][name]["_FillValue"]) for name in like}


def _raw_to_file(source: str, target: str) -> None:
    with open(target, "wb") as file:
        for array in _raw(source).values():
            array.tofile(file)


def _raw_to_netcdf(arrays: dict[str, Any], target: str) -> None:
    with NetCDF(target, "w") as file:
        steps, cells = arrays["packed"].shape
        file.createDimension("time", steps)
        file.createDimension("cell", cells)
        for name, values in arrays.items():
            variable = file.createVariable(name, values.dtype, ("time", "cell"), fill_value=False)
            variable.set_auto_maskandscale(False)
            variable[...] = values


GROUP = Group(
    "Conversion",
    "A NetCDF file of packed int16 and float32 values, a tenth of them missing, of 200 MB, and of 1.5 GB. "
    "Memory is the most that a fresh process held, Python and the libraries included. ds-format "
    "cannot write what it has read from such a file back to NetCDF: `_FillValue` has got another type.",
    (
        Case("convert nc → ds", partial(convert, False)),
        Case("convert ds → nc", partial(convert, True)),
        Case("convert nc → ds, memory", partial(memory, False, False)),
        Case("convert ds → nc, memory", partial(memory, True, False)),
        Case("convert 1.5 GB nc → ds, memory", partial(memory, False, True)),
        Case("convert 1.5 GB ds → nc, memory", partial(memory, True, True)),
    ),
)
