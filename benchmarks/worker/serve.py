"""Runs in another environment, with the ds_format that is installed there, and imports nothing else of this project.

One line of JSON in, `[verb, options]`, gives one line out, `[answer, error]`.
"""

from __future__ import annotations

import ctypes
import gc
import importlib
import importlib.metadata
import itertools
import json
import os
import pickle
import sys
import time
import traceback
from collections.abc import Callable
from typing import Any

import numpy as np

import ds_format as ds

sys.path.append(os.path.dirname(__file__))
samples: Any = importlib.import_module("samples")
objects: Any = importlib.import_module("objects")
trials: Any = importlib.import_module("trials")

C_LIBRARY: Any = ctypes.CDLL(None) if os.name == "posix" else None

kept: list[dict[str, Any]] = []
"""The datasets to write, the first again after the last."""


def version() -> str:
    """Tell which package this is."""
    for name in ("ds-format", "ds-format-cython"):
        try:
            return f"{name} {importlib.metadata.version(name)}"
        except importlib.metadata.PackageNotFoundError:
            continue
    return "ds_format"


def load(path: str | None) -> None:
    """Keep a pickled list of datasets, or none."""
    kept.clear()
    if path is not None:
        with open(path, "rb") as file:
            kept.extend(pickle.load(file))


def fill(n: int) -> None:
    """Keep a dataset of one array, made without other memory."""
    kept.clear()
    kept.append({"x": np.arange(n, dtype=np.float64), ".": {"x": {".dims": ["n"]}, ".": {}}})


def timed(work: Callable[[], Any]) -> float:
    """Return the seconds that the work took, under the conditions of `benchmarks.timing.stopwatch`."""
    gc.collect()
    if hasattr(C_LIBRARY, "malloc_trim"):
        C_LIBRARY.malloc_trim(0)
    gc.disable()
    try:
        start = time.perf_counter()
        result = work()
        seconds = time.perf_counter() - start
    finally:
        gc.enable()
    del result
    return seconds


def _options(variables: list[str] | None, sel: dict[str, Any] | None) -> dict[str, Any]:
    options: dict[str, Any] = {} if variables is None else {"variables": variables}
    if sel is not None:
        options["sel"] = {dim: slice(*item) if isinstance(item, list) else item for dim, item in sel.items()}
    return options


def read(paths: list[str], variables: list[str] | None = None, sel: dict[str, Any] | None = None) -> float:
    """Read files one after another; a list in `sel` is a slice."""
    options = _options(variables, sel)

    def work() -> Any:
        for path in paths:
            dataset = ds.read(path, **options)
        return dataset

    return timed(work)


def dump(path: str, pickled: str, variables: list[str] | None = None, sel: dict[str, Any] | None = None) -> None:
    """Read a file, and pickle what it gave."""
    with open(pickled, "wb") as file:
        pickle.dump(dict(ds.read(path, **_options(variables, sel))), file, protocol=5)


def readdir(path: str, merge: str, pickled: str | None = None) -> float:
    """Read the files of a folder and merge them, and pickle what that gave if asked to."""
    found: list[Any] = []
    seconds = timed(lambda: found.append(ds.readdir(path, merge=merge)))
    if pickled is not None:
        with open(pickled, "wb") as file:
            pickle.dump(dict(found[0]), file, protocol=5)
    return seconds


def command(words: list[str]) -> None:
    """Run a command line in this process; this package can."""
    if importlib.import_module("ds_format.cli").main(words):
        raise RuntimeError(f"ds {' '.join(words)}: failed")


def write(paths: list[str]) -> float:
    """Write the kept datasets to files one after another."""

    def work() -> None:
        for path, dataset in zip(paths, itertools.cycle(kept), strict=False):
            ds.write(path, dataset)

    return timed(work)


def convert(source: str, target: str) -> float:
    """Convert a file, in whatever way the package has."""
    if hasattr(ds, "convert"):
        return timed(lambda: ds.convert(source, target))
    return timed(lambda: ds.write(target, ds.read(source)))


def zds_open(path: str, key: str) -> bool:
    """Open a ZDS store, and ask for one id."""
    store: Any = importlib.import_module("ds_format.zds").ZDSStore
    with store.open(path) as opened:
        return key in opened


VERBS: dict[str, Callable[..., Any]] = (
    {verb.__name__: verb for verb in (version, load, fill, read, dump, readdir, command, write, convert, zds_open)}
    | samples.VERBS
    | objects.VERBS
    | trials.VERBS
)


def main() -> None:
    """Answer until the input ends."""
    answers, sys.stdout = sys.stdout, sys.stderr
    for line in sys.stdin:
        verb, options = json.loads(line)
        try:
            answer = [VERBS[verb](**options), None]
        except Exception as error:  # noqa: BLE001 - told to the other process
            traceback.print_exc()
            answer = [None, f"{type(error).__name__}: {error}"]
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()
