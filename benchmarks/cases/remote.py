"""Files on a web server that answers each request after 20 ms."""

from __future__ import annotations

import concurrent.futures
import http.client
import importlib
import importlib.util
import json
import math
import subprocess
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import ds_format as ds

from ..data import Data, expect
from ..peers import NetCDF, write_netcdf
from ..runner import Bench, Case, Group, SkippedError, need_room
from ..stations import report
from ..timing import Trial, Way, stopwatch
from ..ways import BARE, BYTES, H5NETCDF, OURS, TUNED, ZARR
from ..worker import web

N_TIMES = 120
GRIDS = ("pressure", "temperature", "wind", "humidity")
TIME = 60
LANES = 32
N_FIELDS = 40
DIMS = ("time", "lat", "lon")
BLOCKS: dict[str, Any] = {"cache_type": "background", "block_size": 1 << 20}
"""Of all caches of fsspec, and blocks of 64 kB to 4 MB, those with which h5netcdf reads slabs fastest here."""

SLAB = "remote, a slab of a ds file"
SLAB_BYTES = f"{SLAB}, bytes"
CHUNK = "remote, a slab of a netCDF-4 file"
METADATA = "remote, metadata of a netCDF-4 file"
ROUNDS = f"{METADATA}, rounds"
REPORTS = "remote, 300 station reports"


class Counts(NamedTuple):
    """What a server counts; see `worker.web`."""

    requests: int
    rounds: int
    sent: int


class Host:
    """A server of a folder, in a process of its own: it shares neither processor time nor the GIL with its client."""

    def __init__(self, folder: Path, latency: float):
        command = [sys.executable, str(web.__file__), str(folder), str(latency)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        if self._process.stdin is None or self._process.stdout is None:
            raise RuntimeError("the server has no pipes")
        self._input, self._output = self._process.stdin, self._process.stdout
        self._port = int(self._output.readline())

    def url(self, name: str) -> str:
        """Return the address of a file."""
        return f"http://127.0.0.1:{self._port}/{name}"

    def counts(self) -> Counts:
        """Return what was counted since the last call."""
        connection = http.client.HTTPConnection("127.0.0.1", self._port)
        connection.request("GET", web.COUNTS)
        counts = Counts(*json.loads(connection.getresponse().read()))
        connection.close()
        return counts

    def close(self) -> None:
        """End the server."""
        self._input.close()
        self._process.wait()
        self._output.close()

    def counted(self, work: Callable[[], Any]) -> Counts:
        """Return what is counted while something is done."""
        self.counts()
        work()
        return self.counts()

    def way(self, name: str, work: Callable[[], Any], expected: Any, note: str) -> Way:
        """A way to read from the server, whose note tells its requests. Connections are open before."""
        expect(name, work(), expected)
        counts = self.counted(work)
        rounds = f" in {counts.rounds} rounds" if counts.rounds > 1 else ""
        told = f"{counts.requests} requests{rounds}, {counts.sent / 1e6:.2f} MB"
        return Way(name, stopwatch(work), lambda: expect(name, work(), expected), f"{note}; {told}")


def grids(size: int) -> Data:
    """Return a dataset of about so many bytes: four grids, with coordinates behind them."""
    n = max(round(math.sqrt(size / (len(GRIDS) * 4 * 2 * N_TIMES))), 2)
    shape = (N_TIMES, n, 2 * n)
    random = np.random.default_rng(27)
    data: Data = {name: random.normal(280, 10, shape).astype("f4") for name in GRIDS}
    meta: dict[str, Any] = {name: {".dims": [*DIMS], "units": "1", "long_name": name} for name in GRIDS}
    for name, length in zip(DIMS, shape, strict=True):
        data[name] = np.arange(float(length))
        meta[name] = {".dims": [name], "units": "hours since 2000-01-01" if name == "time" else "degrees"}
    return {**data, ".": {**meta, ".": {"title": "grids"}}}


def write_by_time(path: Path, data: Data) -> None:
    """Write a compressed netCDF-4 file as models do: all variables are defined before, then written time by time."""
    meta = data["."]
    arrays = {name: values for name, values in data.items() if name != "."}
    with NetCDF(path, "w") as file:
        for name, array in arrays.items():
            for dim, n in zip(meta[name][".dims"], array.shape, strict=True):
                if dim not in file.dimensions:
                    file.createDimension(dim, None if dim == "time" else n)
            compression = "zlib" if array.ndim > 1 else None
            variable = file.createVariable(name, array.dtype, meta[name][".dims"], compression=compression, complevel=1)
            variable.setncatts({key: value for key, value in meta[name].items() if key != ".dims"})
        for name, array in arrays.items():
            if meta[name][".dims"][0] != "time":
                file[name][:] = array
        for i in range(next(iter(arrays.values())).shape[0]):
            for name, array in arrays.items():
                if meta[name][".dims"][0] == "time":
                    file[name][i] = array[i]


def _timed(bench: Bench, host: Host, ways: Sequence[Way]) -> Trial:
    """Return a trial that measures times."""
    return Trial(ways, repetitions=(bench.sizes.starts, 1000), close=host.close)


def _counted(host: Host, ways: Sequence[Way], count: Callable[[Host, Way], float], unit: str) -> Trial:
    """Return a trial of what the server counts, which is the same in each round."""
    counted = [way._replace(run=partial(count, host, way)) for way in ways]
    return Trial(counted, unit=unit, repetitions=(1, 1), close=host.close)


def slab(bench: Bench, folder: Path, *, counts_bytes: bool = False) -> Trial:
    """Read one time of one grid of four, from opening the file on."""
    _need("urllib3")
    need_room(folder, 4 * bench.sizes.remote)
    data = grids(bench.sizes.remote)
    ds.write(folder / "x.ds", data)
    write_netcdf(folder / "x.nc", data)
    write_netcdf(folder / "classic.nc", data, "NETCDF3_CLASSIC")
    expected = data[GRIDS[0]][TIME]
    host = Host(folder, bench.sizes.latency)
    url = host.url("x.ds")
    ours = partial(_ours, url, GRIDS[0])
    ways = [host.way(OURS, ours, expected, "ds.read(url, variable, {dim: i})")]
    ways += _of_libraries(host, "x.nc", "classic.nc", GRIDS[0], expected)
    if importlib.util.find_spec("zarr") is not None and importlib.util.find_spec("aiohttp") is not None:
        zarr = importlib.import_module("zarr")
        chunks = (1, *expected.shape)
        store = zarr.create_array(
            str(folder / "x.zarr"), shape=data[GRIDS[0]].shape, dtype="f4", chunks=chunks, compressors=None
        )
        store[...] = data[GRIDS[0]]
        address = host.url("x.zarr")
        note = 'zarr.open_array(url, mode="r")[i], a chunk for each time, not compressed'
        ways.append(host.way(ZARR, lambda: zarr.open_array(address, mode="r", zarr_format=3)[TIME], expected, note))
    start = (folder / "x.ds").read_bytes().index(expected.tobytes())
    ways.append(host.way(BARE, partial(_two_ranges, url, start, expected), expected, "two requests by urllib3"))
    return _counted(host, ways, _megabytes, "MB") if counts_bytes else _timed(bench, host, ways)


def chunk(bench: Bench, folder: Path) -> Trial:
    """Read one time of one grid of a compressed file."""
    _need("urllib3")
    need_room(folder, 2 * bench.sizes.remote)
    data = grids(bench.sizes.remote)
    write_by_time(folder / "x.nc", data)
    expected = data[GRIDS[0]][TIME]
    host = Host(folder, bench.sizes.latency)
    ours = host.way(OURS, partial(_ours, host.url("x.nc"), GRIDS[0]), expected, "ds.read(url, variable, {dim: i})")
    return _timed(bench, host, [ours, *_of_libraries(host, "x.nc", "x.nc", GRIDS[0], expected)])


def metadata(bench: Bench, folder: Path, *, counts_rounds: bool = False) -> Trial:
    """Read names, dimensions and attributes of forty variables of a compressed file."""
    _need("urllib3")
    n = max(round(math.sqrt(bench.sizes.described / (N_FIELDS * 4 * 2 * 24))), 2)
    random = np.random.default_rng(28)
    fields = {f"v{i}": random.normal(size=(24, n, 2 * n)).astype("f4") for i in range(N_FIELDS)}
    meta = {name: {".dims": [*DIMS], "units": "degrees", "long_name": f"field {name}"} for name in fields}
    write_by_time(folder / "x.nc", {**fields, ".": {**meta, ".": {}}})
    expected = {name: np.array([entry["units"], entry["long_name"]], object) for name, entry in meta.items()}
    host = Host(folder, bench.sizes.latency)
    url = host.url("x.nc")
    ways = [host.way(OURS, partial(_described, url), expected, "ds.open(url)")]
    for name, opened, note in _opening(host, "x.nc", "x.nc"):
        ways.append(host.way(name, partial(_attributes, opened), expected, note))
    return _counted(host, ways, _rounds, "rounds") if counts_rounds else _timed(bench, host, ways)


def reports(bench: Bench, folder: Path) -> Trial:
    """Read small files, 32 at a time."""
    _need("urllib3")
    n = bench.sizes.remote_reports
    written = [report(i, "own") for i in range(n)]
    for i, data in enumerate(written):
        ds.write(folder / f"{i}.ds", data)
    host = Host(folder, bench.sizes.latency)
    urls = [host.url(f"{i}.ds") for i in range(n)]
    first = next(name for name in written[0] if name != ".")
    expected = np.array([data[first] for data in written])

    def ours() -> Any:
        with ds.remote(lanes=LANES):
            return np.array([found[first] for found in ds.read_many(urls)])

    pool = importlib.import_module("urllib3").PoolManager(maxsize=LANES)

    def get(url: str) -> Any:
        return pool.request("GET", url, headers={"Accept-Encoding": "identity"}).data

    def bare() -> Any:
        with concurrent.futures.ThreadPoolExecutor(LANES) as threads:
            return [*threads.map(get, urls)]

    sizes = np.array([(folder / f"{i}.ds").stat().st_size for i in range(n)])
    note = f"with ds.remote(lanes={LANES}): ds.read_many(urls)"
    theirs = host.way(BARE, lambda: np.array([*map(len, bare())]), sizes, f"{LANES} threads with urllib3: only bytes")
    return Trial(
        [host.way(OURS, ours, expected, note), theirs], n=n, repetitions=(bench.sizes.starts, 1000), close=host.close
    )


def _need(module: str) -> None:
    if importlib.util.find_spec(module) is None:
        raise SkippedError(f"needs {module}")


def _ours(url: str, name: str) -> Any:
    return ds.read(url, name, {"time": TIME})[name]


def _two_ranges(url: str, start: int, expected: Any) -> Any:
    pool = _pool()
    for first, size in ((0, 64 * 1024), (start, expected.nbytes)):
        data = pool.request("GET", url, headers={"Range": f"bytes={first}-{first + size - 1}"}).data
    return np.frombuffer(data, expected.dtype).reshape(expected.shape)


_pools: list[Any] = []


def _pool() -> Any:
    if not _pools:
        _pools.append(importlib.import_module("urllib3").PoolManager())
    return _pools[0]


def _opening(host: Host, name: str, other: str) -> Sequence[tuple[str, Callable[[], Any], str]]:
    """Return the names of libraries, functions that open a NetCDF file with them, netCDF-C another one, and notes."""
    found: list[tuple[str, Callable[[], Any], str]] = []
    url = host.url(name)
    if all(map(importlib.util.find_spec, ("h5netcdf", "fsspec", "aiohttp"))):
        blocks = f"{BLOCKS['cache_type']} of {BLOCKS['block_size']} bytes"
        found += [
            (H5NETCDF, partial(_Fsspec, url, {}), "h5netcdf.File(fsspec.open(url)), by default"),
            (TUNED, partial(_Fsspec, url, BLOCKS), f"the same with {blocks}"),
        ]
    address = f"{host.url(other)}#mode=bytes"
    try:
        NetCDF(address).close()
    except OSError:
        return found
    return [*found, (BYTES, partial(NetCDF, address), f"netCDF4.Dataset(url + '#mode=bytes'), {other}")]


class _Fsspec:
    """A file opened by h5netcdf on fsspec."""

    def __init__(self, url: str, options: dict[str, Any]):
        self._file = importlib.import_module("fsspec").open(url, "rb", **options)
        self._opened = importlib.import_module("h5netcdf").File(self._file.__enter__(), "r")
        self.variables = self._opened.variables

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *error: object) -> None:
        self._opened.close()
        self._file.close()


def _of_libraries(host: Host, name: str, other: str, variable: str, expected: Any) -> list[Way]:
    def read(opened: Callable[[], Any]) -> Any:
        with opened() as file:
            return file.variables[variable][TIME]

    return [host.way(who, partial(read, opened), expected, note) for who, opened, note in _opening(host, name, other)]


def _described(url: str) -> dict[str, Any]:
    with ds.open(url) as file:
        return {name: _texts(file[name].attrs) for name in file}


def _attributes(opened: Callable[[], Any]) -> dict[str, Any]:
    with opened() as file:
        return {
            name: _texts(getattr(variable, "attrs", None) or variable.__dict__)
            for name, variable in file.variables.items()
        }


def _texts(attributes: Any) -> Any:
    return np.array([attributes["units"], attributes["long_name"]], object)


def _megabytes(host: Host, way: Way) -> float:
    return host.counted(way.check).sent / 1e6


def _rounds(host: Host, way: Way) -> float:
    return float(host.counted(way.check).rounds)


GROUP = Group(
    "Files on a web server",
    "A server in a process of its own on the same machine, which answers each request 20 ms after its "
    "arrival. The file of 128 MB has four grids of float32, of which one time of one grid is read, from opening the "
    "file on. Without compression, h5netcdf reads the same data as a netCDF-4 file, and netCDF-C as a classic one, "
    "both written by netCDF4. The compressed netCDF-4 files were written time by time, as models do; that of which "
    "only metadata are read has forty variables, 9 MB. Connections are open before.",
    (
        Case(SLAB, slab),
        Case(SLAB_BYTES, partial(slab, counts_bytes=True)),
        Case(REPORTS, reports),
        Case(METADATA, metadata),
        Case(ROUNDS, partial(metadata, counts_rounds=True)),
        Case(CHUNK, chunk),
    ),
    threads="several threads wait for answers",
)
