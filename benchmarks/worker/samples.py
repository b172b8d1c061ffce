"""What is measured of datasets of samples in other processes: with datadings, or else with this package.

Each function returns the seconds that its work took, and something by which its result can be compared.
"""

from __future__ import annotations

import gc
import importlib
import os
import random
import time
from collections.abc import Callable
from typing import Any

import numpy as np

VALUES = 250
"""float32 in the array of a sample: with its key about 1 kB."""
Answer = tuple[float, Any]


def package() -> str:
    """Return the package that has datasets of samples in this environment."""
    try:
        importlib.import_module("datadings.reader")
    except ImportError:
        return "ds_format.datadings"
    return "datadings"


def _reader(path: str) -> Any:
    return importlib.import_module(f"{package()}.reader").MsgpackReader(path)


def _timed(work: Callable[[], Any]) -> Answer:
    gc.collect()
    gc.disable()
    try:
        start = time.perf_counter()
        found = work()
        return time.perf_counter() - start, found
    finally:
        gc.enable()


def samples(n: int) -> list[dict[str, Any]]:
    """Return n samples of about 1 kB."""
    values = np.random.default_rng(1).random((n, VALUES)).astype(np.float32)
    return [{"key": f"sample-{i:08d}", "x": values[i], "label": i % 10} for i in range(n)]


def records_write(path: str, n: int) -> Answer:
    """Write n samples; the result is the size of the data file."""
    made = samples(n)
    kind = importlib.import_module(f"{package()}.writer").FileWriter
    more = {"disable": True} if package() == "datadings" else {}

    def work() -> int:
        with kind(path, overwrite=True, **more) as writer:
            for sample in made:
                writer.write(sample)
        return os.path.getsize(path)

    return _timed(work)


def records_read(path: str, raw: bool) -> Answer:
    """Read all samples in a row; the result is the sum of their labels, or of their bytes."""
    with _reader(path) as reader:
        reader.get(0)

        def work() -> int:
            if raw:
                return sum(map(len, reader.iter(0, len(reader), raw=True)))
            return sum(sample["label"] for sample in reader.iter(0, len(reader)))

        return _timed(work)


def records_get(path: str) -> Answer:
    """Read all samples in random order; the result is the sum of their labels."""
    with _reader(path) as reader:
        order = list(range(len(reader)))
        random.Random(1).shuffle(order)
        reader.get(0)
        return _timed(lambda: sum(reader.get(i)["label"] for i in order))


def records_in(path: str) -> Answer:
    """Ask for keys, half of which are there; the result is how many were found."""
    with _reader(path) as reader:
        n = len(reader)
        keys = [f"sample-{i:08d}" for i in range(n // 2, n // 2 + n)]
        for _ in range(50):
            reader.find_index(keys[0])
        return _timed(lambda: sum(key in reader for key in keys))


def records_open(path: str, key: str) -> Answer:
    """Open a dataset and ask for one key; the result is whether it was found."""
    importlib.import_module(f"{package()}.reader")

    def work() -> bool:
        with _reader(path) as reader:
            return key in reader

    return _timed(work)


VERBS: dict[str, Callable[..., Any]] = {
    verb.__name__: verb for verb in (package, records_write, records_read, records_get, records_in, records_open)
}
