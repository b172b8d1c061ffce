"""`python -m benchmarks.instructions`: the processor instructions of hot calls, counted by callgrind of valgrind.

Unlike times, counts do not depend on what else the machine does: two runs differ by less than 0.3 %. They depend on the
builds of Python, NumPy and the kernels, so compare only counts from one machine:

    python -m benchmarks.instructions --save before.json
    python -m benchmarks.instructions --compare before.json

The files are station reports, plain ones unless a row says otherwise. Each call is counted in a process of its own,
after a few calls that are not counted.
"""

from __future__ import annotations

import argparse
import fnmatch
import gc
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import ds_format as ds
from ds_format import binpickle

from .data import Data, stored
from .stations import EQUAL, HOURS, ORDINARY, OWN, SCALARS, VARIABLES, report, station

ROOT = Path(__file__).parents[1]
TOLERANCE = 0.03
"""Relative change of a count above which a row is marked."""
FILES = 50
"""Number of different files that a call reads in turn, or all at once."""
REPORTS = [f"{i:03d}.ds" for i in range(FILES)]
ZLIB = {key: {"zlib": True} for key in ["time", *VARIABLES]}
COMMAND = [sys.executable, "-m", "ds_format", "ls", REPORTS[0]]


class Call(NamedTuple):
    """A hot call. It runs in a folder of its own.

    Attributes
    ----------
    prepare : callable
        Makes the files.
    run : callable
        Makes call number i.
    n : int
        How many calls are counted. Calls without a number run as a process, which is counted as a whole.
    """

    prepare: Callable[[], None]
    run: Callable[[int], Any]
    n: int = 2 * FILES


def _write_reports(kind: str = OWN) -> None:
    for i, path in enumerate(REPORTS):
        _write(path, station(i, kind))


def _write(path: str, data: Data, **options: Any) -> None:
    ds.write(path, data, **options)
    os.utime(path, (0, 0))  # a file that was modified recently is checked twice


def _write_masked() -> None:
    """Write reports with missing values and a variable of text."""
    for i, path in enumerate(REPORTS):
        data = report(i, "own")
        missing = np.arange(HOURS) % 5 == i % 5
        for name in ("temperature", "wind_direction"):
            data[name] = np.ma.MaskedArray(data[name], missing)
        data["weather"] = np.array([("rain", "light snow", "fog", "")[(i + hour) % 4] for hour in range(HOURS)], object)
        data["."]["weather"] = {".dims": ["time"], "long_name": "present weather"}
        _write(path, data)


def _write_netcdf(format: str, kind: str = OWN, **options: Any) -> None:
    for i, path in enumerate(REPORTS):
        data = station(i, kind)
        if format == "NETCDF4":  # bytes would be characters there, and not strings
            data |= {name: stored(data)[name] for name in ("station_id", "weather") if name in data}
        _write(path.replace(".ds", ".nc"), data, format=format, **options)


CLASSIC, NETCDF4 = "NETCDF3_CLASSIC", "NETCDF4"


def _write_objects() -> None:
    for i, path in enumerate(REPORTS):
        binpickle.dump(report(i, "own"), path.replace(".ds", ".bpk"))


_made: list[Data] = []
"""Datasets to write."""


def _make_datasets(kind: str = OWN) -> None:
    _made[:] = (station(i, kind) for i in range(FILES))


def _path(i: int, suffix: str = ".ds") -> str:
    return f"{i % FILES:03d}{suffix}"


def _open(i: int) -> Any:
    with ds.open(_path(i)) as file:
        return file["temperature"][3]


def _read(i: int) -> Any:
    return ds.read(_path(i))


def _read_netcdf(i: int) -> Any:
    return ds.read(_path(i, ".nc"))


def _read_many(i: int) -> Any:
    return ds.read_many(REPORTS, threads=1)


def _merge(i: int, stack: Sequence[str] = ()) -> Any:
    return ds.read_many(REPORTS, dim="time", threads=1, stack=stack)


def _write_one(i: int) -> None:
    ds.write("out.ds", _made[i % FILES])


def _write_netcdf_one(i: int) -> None:
    ds.write("out.nc", _made[i % FILES])


def _convert(i: int) -> None:
    ds.convert(_path(i, ".nc"), "out.ds")


MEMBERS = [f"reports.zip/{name}" for name in REPORTS]


def _write_pack() -> None:
    _write_reports(ORDINARY)
    ds.pack(REPORTS, "reports.zip")
    time.sleep(0.05)  # so old that its directory is remembered


ORDINARY_NETCDF = {
    words: partial(_write_netcdf, format, ORDINARY)
    for words, format in {"classic": CLASSIC, "netCDF-4 classic": "NETCDF4_CLASSIC", "netCDF-4": NETCDF4}.items()
}
CALLS = {
    "read": Call(_write_reports, _read),
    "read, sel": Call(_write_reports, lambda i: ds.read(_path(i), ["pressure"], {"time": 5})),
    "read, mask and text": Call(_write_masked, _read),
    "write": Call(_make_datasets, _write_one),
    "read_many, equal headers": Call(partial(_write_reports, EQUAL), _read_many, n=4),
    "read_many, own headers": Call(_write_reports, _read_many, n=4),
    "read_many, dim": Call(_write_reports, _merge, n=4),
    "open": Call(_write_reports, _open),
    "convert, classic": Call(partial(_write_netcdf, CLASSIC), _convert, n=FILES),
    "read, classic": Call(partial(_write_netcdf, CLASSIC), _read_netcdf),
    "read, netCDF-4": Call(partial(_write_netcdf, NETCDF4), _read_netcdf),
    "read, netCDF-4, one variable": Call(
        partial(_write_netcdf, NETCDF4), lambda i: ds.read(_path(i, ".nc"), ["pressure"])
    ),
    "read, netCDF-4 with zlib": Call(partial(_write_netcdf, NETCDF4, encoding=ZLIB), _read_netcdf),
    "binpickle.load": Call(_write_objects, lambda i: binpickle.load(_path(i, ".bpk"))),
    "ds ls": Call(_write_reports, lambda i: subprocess.run(COMMAND, check=True, capture_output=True), n=0),
    "read, ordinary station": Call(partial(_write_reports, ORDINARY), _read),
    "write, ordinary station": Call(partial(_make_datasets, ORDINARY), _write_one),
    "write, ordinary station, netCDF-4": Call(partial(_make_datasets, ORDINARY), _write_netcdf_one),
    "read_many, ordinary stations": Call(partial(_write_reports, ORDINARY), _read_many, n=4),
    "read_many, dim, ordinary stations": Call(partial(_write_reports, ORDINARY), partial(_merge, stack=SCALARS), n=4),
    "read, ordinary station, pack": Call(_write_pack, lambda i: ds.read(MEMBERS[i % FILES])),
    "read_many, dim, ordinary stations, pack": Call(
        _write_pack, lambda i: ds.read_many(MEMBERS, dim="time", threads=1, stack=SCALARS), n=4
    ),
    "open, ordinary station": Call(partial(_write_reports, ORDINARY), _open),
    **{f"read, ordinary station, {words}": Call(write, _read_netcdf) for words, write in ORDINARY_NETCDF.items()},
    **{
        f"convert, ordinary station, {words}": Call(write, _convert, n=FILES)
        for words, write in ORDINARY_NETCDF.items()
    },
}
"""Title → call."""

WORK = "from benchmarks.instructions import work; import sys; work(sys.argv[1])"


def work(title: str) -> None:
    """Make many calls in this process and folder. Instructions between the two calls of `os.getppid` are counted."""
    call = CALLS[title]
    call.prepare()
    for i in range(max(call.n, 1)):
        call.run(i)
    gc.collect()
    gc.freeze()  # later collections only search objects of the counted calls
    os.getppid()
    for i in range(call.n):
        call.run(i)
    os.getppid()


def missing_tool() -> str | None:
    """Return a message if valgrind is missing, else None."""
    if shutil.which("valgrind") is None:
        return "valgrind is missing: install it to count instructions, for example by `apt install valgrind`"
    return None


def count(title: str) -> int:
    """Return the instructions of one call."""
    call = CALLS[title]
    with tempfile.TemporaryDirectory() as folder:
        if call.n:
            command, name = [sys.executable, "-c", WORK, title], "callgrind.out.2"  # part 1 ends at the first mark
        else:
            _run([sys.executable, "-c", WORK, title], folder)
            command, name = COMMAND, "callgrind.out"
        tool = ["valgrind", "--tool=callgrind", "--callgrind-out-file=callgrind.out", "--dump-before=getppid"]
        _run([*_fixed_addresses(), *tool, *command], folder)
        lines = (Path(folder) / name).read_text(encoding="utf-8").splitlines()
    total = next(int(line.partition(":")[2]) for line in lines if line.startswith("totals:"))
    return round(total / max(call.n, 1))


def _fixed_addresses() -> list[str]:
    """Return the prefix of a command that gives it the same addresses in each run, if there is one."""
    return ["setarch", platform.machine(), "-R"] if shutil.which("setarch") else []


def _run(command: Sequence[str], folder: str) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONHASHSEED": "0", "PYTHONPYCACHEPREFIX": "byte_code"}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # otherwise the compiler is counted for "ds ls", too
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}: exit status {done.returncode}\n{done.stderr}")


def environment() -> dict[str, str]:
    """Return the environment on which counts depend."""
    return {"python": platform.python_version(), "numpy": np.__version__, "machine": platform.platform()}


def table(counts: Mapping[str, int], before: Mapping[str, int]) -> Iterator[str]:
    """Iterate over the lines of a table of counts, compared with earlier ones if there are any."""
    yield "| instructions of one call | now |" + (" before | ratio |" if before else "")
    yield "|---|---|" + ("---|---|" if before else "")
    for title, now in counts.items():
        line = f"| {title} | {now:,} |"
        if title in before:
            ratio = now / before[title]
            mark = " more" if ratio > 1 + TOLERANCE else " less" if ratio < 1 - TOLERANCE else ""
            line += f" {before[title]:,} | {ratio:.3f}{mark} |"
        yield line


def main(words: Sequence[str] | None = None) -> int:
    """Count, print the table, and return 1 if a call takes more than 3 % more instructions than before."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.instructions", description=__doc__.partition("\n")[0])
    parser.add_argument("--only", metavar="PATTERN", default="*", help="calls whose title matches; may have * and ?")
    parser.add_argument("--save", metavar="FILE", type=Path, help="write the counts as JSON")
    parser.add_argument("--compare", metavar="FILE", type=Path, help="compare with counts that --save wrote")
    arguments = parser.parse_args(words)
    message = missing_tool()
    if message:
        print(message, file=sys.stderr)
        return 2
    before: dict[str, Any] = {"counts": {}}
    if arguments.compare:
        before = json.loads(arguments.compare.read_text(encoding="utf-8"))
        if before["environment"] != environment():
            print(f"the former counts are from another environment: {before['environment']}", file=sys.stderr)
    counts = {title: count(title) for title in fnmatch.filter(CALLS, arguments.only)}
    print(*table(counts, before["counts"]), sep="\n")
    if arguments.save:
        content = {"environment": environment(), "counts": counts}
        arguments.save.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    return int(any(now > before["counts"].get(title, now) * (1 + TOLERANCE) for title, now in counts.items()))


if __name__ == "__main__":
    sys.exit(main())
