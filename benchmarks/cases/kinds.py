"""Variables that are not plain little-endian numbers: masked values, booleans, strings, big-endian values."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

import ds_format as ds

from .. import peers
from ..data import Data, dataset, flags, floats, masked_floats, text
from ..machine import MOST_THREADS
from ..runner import Bench, Case, Group
from ..timing import Trial
from ..ways import BARE, COPY, NETCDF, NUMPY, OURS, calls, reads, reference_reads, reference_writes, writes

NUMPY_STRINGS = f"{OURS}, StringDType"


def read_masked(bench: Bench, folder: Path) -> Trial:
    """File → masked array."""
    data = dataset(x=masked_floats(bench.sizes.masked))
    path, netcdf = _written(folder, data)
    return Trial(
        [
            reads(OURS, ds.read, [path], data),
            calls(COPY, data["x"].copy, data["x"], note="array.copy() of the masked array"),
            reads(NETCDF, peers.read_netcdf, [netcdf], data),
            *reference_reads(bench, folder, [path], data),
        ],
        size=data["x"].nbytes,
    )


def write_masked(bench: Bench, folder: Path) -> Trial:
    """Masked array → file."""
    data = dataset(x=masked_floats(bench.sizes.masked))
    paths = [[str(folder / name)] for name in ("x.ds", "x.nc", "ref.ds")]
    return Trial(
        [
            writes(OURS, lambda path: ds.write(path, data), paths[0], data, ds.read),
            calls(COPY, data["x"].copy, data["x"], note="array.copy() of the masked array"),
            writes(NETCDF, lambda path: peers.write_netcdf(path, data), paths[1], data),
            *reference_writes(bench, folder, paths[2], [data], ds.read),
        ],
        size=data["x"].nbytes,
    )


def read_booleans(bench: Bench, folder: Path) -> Trial:
    """File → booleans."""
    data = dataset(x=flags(bench.sizes.booleans))
    path, netcdf = _written(folder, data)
    n, body = bench.sizes.booleans, peers.body_of(path)
    return Trial(
        [
            reads(OURS, ds.read, [path], data),
            reads(
                NUMPY,
                lambda path: np.unpackbits(np.fromfile(path, "u1", offset=body), count=n).view("?"),
                [path],
                data["x"],
                note="np.unpackbits(np.fromfile())",
            ),
            reads(NETCDF, peers.read_netcdf, [netcdf], data, note="as int8"),
            *reference_reads(bench, folder, [path], data),
        ],
        size=n,
    )


def write_booleans(bench: Bench, folder: Path) -> Trial:
    """Booleans → file."""
    n = bench.sizes.booleans
    data = dataset(x=flags(n))
    paths = [[str(folder / name)] for name in ("x.ds", "x.bin", "x.nc", "ref.ds")]

    def unpack(path: str) -> Any:
        return np.unpackbits(np.fromfile(path, "u1"), count=n)

    return Trial(
        [
            writes(OURS, lambda path: ds.write(path, data), paths[0], data, ds.read),
            writes(
                NUMPY,
                lambda path: np.packbits(data["x"]).tofile(path),
                paths[1],
                data["x"],
                unpack,
                note="np.packbits().tofile()",
            ),
            writes(NETCDF, lambda path: peers.write_netcdf(path, data), paths[2], data, note="as int8"),
            *reference_writes(bench, folder, paths[3], [data], ds.read),
        ],
        size=n,
    )


def read_masked_booleans(bench: Bench, folder: Path) -> Trial:
    """File → masked booleans, which ds-format cannot read."""
    n = bench.sizes.booleans
    data = dataset(x=np.ma.MaskedArray(flags(n), flags(n)[::-1]))
    path = str(folder / "x.ds")
    ds.write(path, data)
    body = peers.body_of(path)
    split = (n + 7) // 8

    def numpy(path: str) -> Any:
        packed = np.fromfile(path, "u1", offset=body)
        missing = np.unpackbits(packed[:split], count=n).view("?")
        present = np.unpackbits(packed[split:], count=n - np.count_nonzero(missing)).view("?")
        values = np.zeros(n, "?")
        values[~missing] = present
        return np.ma.MaskedArray(values, missing)

    return Trial(
        [
            reads(OURS, ds.read, [path], data),
            reads(NUMPY, numpy, [path], data["x"], note="np.fromfile, two np.unpackbits, values[~mask] = present"),
            calls(COPY, data["x"].copy, data["x"], note="array.copy() of the masked array"),
        ],
        size=n,
    )


def read_strings(bench: Bench, folder: Path) -> Trial:
    """File → object array, or StringDType."""
    data = dataset(x=text(bench.sizes.strings))
    path, netcdf = _written(folder, data)
    return Trial([
        reads(OURS, ds.read, [path], data),
        reads(NUMPY_STRINGS, lambda path: ds.read(path, strings="numpy"), [path], data),
        reads(NETCDF, peers.read_netcdf, [netcdf], data, note="variable-length strings"),
        *reference_reads(bench, folder, [path], data),
    ])


def write_strings(bench: Bench, folder: Path) -> Trial:
    """Object array, or StringDType → file."""
    data = dataset(x=text(bench.sizes.strings))
    packed = dataset(x=data["x"].astype(np.dtypes.StringDType()))
    paths = [[str(folder / name)] for name in ("x.ds", "numpy.ds", "x.nc", "ref.ds")]
    return Trial([
        writes(OURS, lambda path: ds.write(path, data), paths[0], data, ds.read),
        writes(NUMPY_STRINGS, lambda path: ds.write(path, packed), paths[1], data, ds.read),
        writes(NETCDF, lambda path: peers.write_netcdf(path, data), paths[2], data, note="variable-length strings"),
        *reference_writes(bench, folder, paths[3], [data], ds.read),
    ])


def read_big_endian(bench: Bench, folder: Path) -> Trial:
    """Big-endian values → array in native order."""
    array = floats(bench.sizes.masked)
    data = dataset(x=array)
    path, netcdf = str(folder / "x.ds"), str(folder / "x.nc")
    _write_big_endian(path, array)
    peers.write_netcdf(netcdf, dataset(x=array.astype(">f8")))
    body = peers.body_of(path)

    def numpy(path: str) -> Any:
        return np.fromfile(path, ">f8", offset=body).byteswap(inplace=True).view("<f8")

    return Trial(
        [
            reads(OURS, ds.read, [path], data),
            reads(NUMPY, numpy, [path], array, note="np.fromfile().byteswap(inplace=True)"),
            reads(
                BARE, lambda path: np.fromfile(path, ">f8", offset=body), [path], array, note="np.fromfile, not swapped"
            ),
            reads(NETCDF, peers.read_netcdf, [netcdf], data),
            *reference_reads(bench, folder, [path], data, note="not swapped"),
        ],
        size=array.nbytes,
    )


def _write_big_endian(path: str, array: Any) -> None:
    """Write a file in the ds-1.0 layout by hand: this package writes little-endian ones."""
    entry = {".offset": 0, ".len": array.nbytes, ".type": "float64", ".endian": "b", ".missing": False}
    header = {"x": {**entry, ".size": list(array.shape), ".dims": ["n"]}, ".": {}}
    with open(path, "wb") as file:
        file.write(b"ds-1.0\n" + json.dumps(header).encode() + b"\n")
        array.astype(">f8").tofile(file)


def _written(folder: Path, data: Data) -> tuple[str, str]:
    path, netcdf = str(folder / "x.ds"), str(folder / "x.nc")
    ds.write(path, data)
    peers.write_netcdf(netcdf, data)
    return path, netcdf


GROUP = Group(
    "Masked values, booleans, strings, byte order",
    "20 M float64 values, 30 % of them missing; 10 M booleans; 300 k short strings; 20 M big-endian float64 values, "
    "from and to a file.",
    (
        Case("read masked", read_masked),
        Case("write masked", write_masked),
        Case("read booleans", read_booleans),
        Case("write booleans", write_booleans),
        Case("read masked booleans", read_masked_booleans),
        Case("read strings", read_strings),
        Case("write strings", write_strings),
        Case("read big-endian", read_big_endian),
    ),
    threads=f"large arrays with missing values may take {MOST_THREADS} threads, everything else one",
)
