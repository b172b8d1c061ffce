"""Tables of text: one large file, read and written by programs for tables, too."""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import ds_format as ds
from ds_format.datasets import as_array

from ..data import Data
from ..runner import Bench, Case, Group
from ..timing import Trial
from ..ways import JSON, OURS, PANDAS, PYARROW, reads, writes

STATIONS = 2000


def table(n: int) -> Data:
    """Return n rows of stations: times, names, numbers with two decimals and gaps, with all digits, and flags."""
    rng = np.random.default_rng(5)
    rain = np.ma.MaskedArray(np.round(rng.gamma(0.5, 3, n), 2), rng.random(n) < 0.15)
    names = np.array([f"S{i:05d}" for i in range(STATIONS)], object)
    arrays = {
        "time": np.arange(n) // STATIONS * 0.125 + 9861,
        "station": names[np.arange(n) % STATIONS],
        "rain": rain,
        "wind": rng.normal(5, 2, n),
        "flag": rng.integers(0, 9, n),
    }
    return {**arrays, ".": {name: {".dims": ["i"]} for name in arrays}}


def _write_ours(path: str, data: Data) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ds.DsWarning)  # of what CSV cannot hold
        ds.write(path, data)


def _of_frame(frame: Any) -> Data:
    found = {name: frame[name].to_numpy() for name in frame.columns}
    found["station"] = found["station"].astype(object)
    return {**found, "rain": np.ma.masked_invalid(found["rain"])}


def _others() -> list[tuple[str, Callable[[str], Any], Callable[[Any], Data], Callable[[Data], Callable[[str], Any]]]]:
    """Return other programs: name, how it reads, how that is compared, and how it writes."""
    found: list[Any] = []
    if importlib.util.find_spec("pandas"):
        pandas = importlib.import_module("pandas")

        def read_frame(path: str) -> Any:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # newer versions always read the nearest numbers
                return pandas.read_csv(path, float_precision="round_trip")

        def frame(data: Data) -> Any:
            return pandas.DataFrame({
                name: data[name].filled(np.nan) if name == "rain" else data[name] for name in data if name != "."
            })

        found.append((
            PANDAS, read_frame, _of_frame,
            lambda data: partial(frame(data).to_csv, index=False),
        ))  # fmt: skip
    if importlib.util.find_spec("pyarrow"):
        csv, arrow = importlib.import_module("pyarrow.csv"), importlib.import_module("pyarrow")

        def arrow_table(data: Data) -> Any:
            columns = {
                name: (np.ma.getdata(data[name]), np.ma.getmaskarray(data[name])) for name in data if name != "."
            }
            return arrow.table({name: arrow.array(values, mask=mask) for name, (values, mask) in columns.items()})

        found.append((
            PYARROW, csv.read_csv, lambda read: _of_frame(read.to_pandas()),
            lambda data: partial(csv.write_csv, arrow_table(data)),
        ))  # fmt: skip
    return found


def read(bench: Bench, folder: Path) -> Trial:
    """Read a file into arrays, or what the program has instead."""
    data = table(bench.sizes.rows)
    path = os.fspath(folder / "table.csv")
    _write_ours(path, data)
    others = [reads(name, read, [path], data, value=value) for name, read, value, _ in _others()]
    return Trial([reads(OURS, ds.read, [path], data), *others], n=1)


def write(bench: Bench, folder: Path) -> Trial:
    """Write a file."""
    data = table(bench.sizes.rows)
    ways = [writes(OURS, lambda path: _write_ours(path, data), [os.fspath(folder / "ours.csv")], data, ds.read)]
    for name, _, _, write in _others():
        ways.append(writes(name, write(data), [os.fspath(folder / f"{name}.csv")], data, ds.read))
    return Trial(ways, n=1)


def read_json(bench: Bench, folder: Path) -> Trial:
    """Read a file into arrays, or into lists."""
    data = table(bench.sizes.rows // 5)
    path = os.fspath(folder / "table.json")
    ds.write(path, data)
    lists = reads(JSON, _load, [path], data, value=_of_lists)
    return Trial([reads(OURS, ds.read, [path], data), lists], n=1)


def write_json(bench: Bench, folder: Path) -> Trial:
    """Write a file from arrays, or from lists."""
    data = table(bench.sizes.rows // 5)
    lists = {name: array.tolist() for name, array in data.items() if name != "."}
    return Trial(
        [
            writes(OURS, partial(_write_ours, data=data), [os.fspath(folder / "ours.json")], data, ds.read),
            writes(JSON, partial(_dump, lists), [os.fspath(folder / "lists.json")], data, ds.read),
        ],
        n=1,
    )


def _load(path: str) -> Any:
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def _of_lists(found: dict[str, Any]) -> Data:
    return {name: as_array(values) for name, values in found.items() if name != "."}


def _dump(lists: Any, path: str) -> None:
    with open(path, "w", encoding="utf-8") as file:
        json.dump(lists, file)


GROUP = Group(
    "Tables",
    "One CSV file of five columns: times, names of 2,000 stations, numbers with two decimals and gaps, numbers with "
    "all digits, integers; and one JSON file of a fifth of it. pandas reads with `float_precision='round_trip'`: "
    "its default changes last digits.",
    (
        Case("CSV, read", read),
        Case("CSV, write", write),
        Case("JSON, read", read_json),
        Case("JSON, write", write_json),
    ),
)
