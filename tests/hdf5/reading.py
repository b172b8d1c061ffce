"""What the kernels say of files, in a process that has little memory: `python -m tests.hdf5.reading FILE...`.

Prints a line of JSON for each: its name, the kind of what happened, and a message.
"""

from __future__ import annotations

import importlib
import io
import json
import resource
import sys
from pathlib import Path
from typing import Any

import numpy as np

from ds_format.body.body import Body, MemoryBody
from ds_format.errors import FormatError, TruncatedError, Unusual
from ds_format.hdf5 import Audit, arrays, header, with_links
from ds_format.hdf5.records import HDF5File

MEMORY = 100 << 20
"""Bytes that reading a file may take."""


def read_header(data: bytes, netcdf: bool = False) -> HDF5File:
    return header.read_file(MemoryBody("x.nc", data), netcdf=netcdf)


def outcome(data: bytes) -> tuple[str, str]:
    """Read all of a file; return `read`, or what of a file or a dataset is wrong or unusual, and why."""
    body = MemoryBody("x.nc", data)
    found: list[tuple[str, str]] = []
    try:
        file = header.read_file(body)
        every, _ = with_links(file)
        with_links(file, netcdf=True)
    except FormatError as error:
        return _told(error)
    except Unusual as error:
        return _audited(body, error)
    for dataset in every.datasets:
        try:
            arrays.values(body, arrays.place_of(dataset))
        except (FormatError, Unusual) as error:
            found.append(_told(error))
    # one that is damaged says more than one that is unusual
    return min(found, key=lambda told: told[0] == "Unusual", default=("read", ""))


def _audited(body: Body, unusual: Unusual) -> tuple[str, str]:
    """Return what a library must not meet in an unusual file, or why it is unusual."""
    try:
        audit = Audit(body, netcdf=True)
        for name in audit.datasets:
            audit.check_values(name)
    except FormatError as error:
        return _told(error)
    return _told(unusual)


def library_values(data: bytes, names: list[str]) -> dict[str, Any]:
    """Return the values of datasets by h5py, or None if it cannot read one; call it in another process."""
    h5py: Any = importlib.import_module("h5py")
    found: dict[str, Any] = {}
    with h5py.File(io.BytesIO(data), "r") as file:
        for name in names:
            try:
                found[name] = np.asarray(file[name][()])
            except Exception:  # noqa: BLE001  the file is damaged
                found[name] = None
    return found


def exact(value: Any) -> Any:
    """Return a value in a form in which equal means the same: types, order, and all bytes."""
    if isinstance(value, dict):
        return [(key, exact(item)) for key, item in value.items()]
    if isinstance(value, (tuple, list)):
        return type(value).__name__, [exact(item) for item in value]
    if isinstance(value, np.ndarray):
        content = value.tolist() if value.dtype.kind == "O" else value.tobytes()
        return "array", value.dtype.str, value.shape, content
    if isinstance(value, np.generic):
        return "scalar", value.dtype.str, value.tobytes()
    return type(value).__name__, value


def different(where: str, read: Any, expected: Any) -> list[str]:
    """Return how two records differ, field by field and item by item; an empty list if they do not."""
    if exact(read) == exact(expected):
        return []
    if type(read) is type(expected):
        if isinstance(read, tuple) and hasattr(read, "_fields"):
            fields = zip(read._fields, read, expected, strict=True)
            return [line for name, mine, other in fields for line in different(f"{where}, {name}", mine, other)]
        if isinstance(read, (list, tuple)) and len(read) == len(expected):
            items = enumerate(zip(read, expected, strict=True))
            return [line for i, (mine, other) in items for line in different(f"{where}, {i}", mine, other)]
        if isinstance(read, dict) and list(read) == list(expected):
            return [line for name in read for line in different(f"{where}, {name}", read[name], expected[name])]
    return [f"{where}: {read!r:.300} ≠ {expected!r:.300}"]


def _told(error: Exception) -> tuple[str, str]:
    kind = (
        Unusual if isinstance(error, Unusual) else TruncatedError if isinstance(error, TruncatedError) else FormatError
    )
    return kind.__name__, str(error)


def main(names: list[str]) -> None:
    now = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (now + MEMORY, now + MEMORY))
    for name in names:
        result: Any
        data = Path(name).read_bytes()
        try:
            result = outcome(data)
        except Exception as error:  # noqa: BLE001  whatever it is, the next file is read, too
            result = f"unexpected {type(error).__name__}", str(error)
        print(json.dumps([name, *result]), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])


def as_read(dataset: Any) -> Any:
    """Return all that a dataset has in a form in which equal means the same."""
    return [(name, exact(_data_of(data))) for name, data in dataset.items()]


def _data_of(data: Any) -> Any:
    if isinstance(data, np.ma.MaskedArray):
        return np.ma.getmaskarray(data), data.data, data.fill_value
    return dict(data) if isinstance(data, dict) else data
