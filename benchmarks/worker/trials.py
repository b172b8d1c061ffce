"""One case of the benchmarks in this process, with the version of ds_format that it imports."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

ways: list[Any] = []
"""Those of ds_format in the case that was built last."""


def package_file() -> tuple[str, str]:
    """Return the file and the version of the package."""
    module = importlib.import_module("ds_format")
    return str(module.__file__), module.__version__


def build_case(module: str, case: str, sizes: dict[str, int], folder: str) -> dict[str, Any]:
    """Prepare a case in an empty folder. Return its ways and the fields of its trial, or why it cannot run here."""
    ways.clear()
    runner: Any = importlib.import_module("benchmarks.runner")
    names: Any = importlib.import_module("benchmarks.ways")
    bench = runner.Bench(importlib.import_module("benchmarks.sizes").Sizes(**sizes), Path(folder), None, 1)
    [found] = [each for each in importlib.import_module(module).GROUP.cases if each.name == case]
    try:
        trial = found.build(bench, Path(folder))
    except runner.SkippedError as reason:
        return {"skipped": str(reason)}
    ways.extend(way for way in trial.ways if names.is_ours(way.name))
    return {
        "ways": [way.name for way in ways],
        "trial": {"n": trial.n, "size": trial.size, "unit": trial.unit},
        "rounds": trial.repetitions[0],
    }


def check_way(way: int) -> None:
    """Do the work of a way once, and raise if its result is wrong."""
    ways[way].check()


def run_way(way: int) -> float:
    """Do the work of a way once, and return what it took."""
    return float(ways[way].run())


VERBS: dict[str, Callable[..., Any]] = {verb.__name__: verb for verb in (package_file, build_case, check_way, run_way)}
