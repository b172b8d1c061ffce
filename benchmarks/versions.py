"""Two versions of the package in turn: the imported one, and an older one from a wheel.

Each version runs the same cases in its own process. Other programs are not measured.
"""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import ds_format as ds

from .groups import MODULES
from .runner import Bench, Case, SkippedError
from .table import markdown, quantity, times
from .timing import Result, Trial, Way
from .ways import OURS, is_ours
from .worker import Worker, WorkerError

OLD = "old"
ROOT = Path(__file__).parents[1]
SLOWER = 1.05
"""A row is marked if both of its ratios are higher. Other running programs seldom change both."""
MODULE_OF = {case.name: module.__name__ for module in MODULES for case in module.GROUP.cases}


class Versions(NamedTuple):
    """Two processes, each with one version."""

    workers: Mapping[str, Worker]
    """OURS and OLD."""
    old: str
    """The name of the old version."""


@contextlib.contextmanager
def opened(wheel: Path) -> Iterator[Versions]:
    """Unpack a wheel of the old version, which must be for this Python, and start both processes.

    Raises
    ------
    WorkerError
        If a process imports another version.
    """
    with tempfile.TemporaryDirectory(prefix="ds-old-") as folder, contextlib.ExitStack() as stack:
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(folder)
        workers = {}
        for name, path in {OURS: Path(ds.__file__).parents[1], OLD: Path(folder)}.items():
            worker = stack.enter_context(Worker(sys.executable, os.pathsep.join([str(path), str(ROOT)])))
            file, version = worker.ask("package_file")
            if Path(file).parents[1] != path:
                raise WorkerError(f"{name}: ds_format was imported from {file}, expected it in {path}")
            workers[name] = worker
        yield Versions(workers, f"{OLD}: ds_format {version}, {wheel.name}")


def paired(cases: Sequence[Case], versions: Versions) -> list[Case]:
    """Return cases in which both versions do the work that ds_format does in the given ones."""
    return [case._replace(build=partial(_pair, case.name, versions.workers)) for case in cases]


def _pair(case: str, workers: Mapping[str, Worker], bench: Bench, folder: Path) -> Trial:
    built = {name: _built(case, worker, name, bench, folder / name) for name, worker in workers.items()}
    ways = [
        Way(name + way.removeprefix(OURS), *_calls(worker, name, built[name]["ways"].index(way)))
        for way in built[OURS]["ways"]
        if way in built[OLD]["ways"]
        for name, worker in workers.items()
    ]
    return Trial(ways, **built[OURS]["trial"], repetitions=(built[OURS]["rounds"], 1000))


def _built(case: str, worker: Worker, name: str, bench: Bench, folder: Path) -> dict[str, Any]:
    folder.mkdir()
    options = {"case": case, "sizes": bench.sizes._asdict(), "folder": str(folder)}
    answer: dict[str, Any] = _ask(worker, name, "build_case", module=MODULE_OF[case], **options)
    if "skipped" in answer:
        raise SkippedError(answer["skipped"])
    return answer


def _calls(worker: Worker, name: str, way: int) -> tuple[Any, Any]:
    return partial(_ask, worker, name, "run_way", way=way), partial(_ask, worker, name, "check_way", way=way)


def _ask(worker: Worker, name: str, verb: str, **options: Any) -> Any:
    """Send a request to a process. A case is left out if the old version cannot run it."""
    try:
        return worker.ask(verb, **options)
    except WorkerError as error:
        if name == OLD:
            raise SkippedError(f"{OLD}: {error}") from None
        raise


def report(line: str, results: Mapping[str, Result], skipped: Mapping[str, str]) -> str:
    """Return a row for each way of ds_format.

    It has medians of both versions, the median of the ratios within a round, and the ratio of the fastest rounds.
    """
    rows = [row for result in results.values() for row in _rows(result)]
    slower = sum(1 for row in rows if row[-1])
    rows += [[case, "left out", "", "", reason, "", ""] for case, reason in skipped.items()]
    table = markdown(["work", "by", OLD, "new", f"new / {OLD}", "fastest rounds", f"more than {SLOWER:g}x"], rows)
    return f"# Two versions of ds_format\n\n{line}\n\n{table}\n\nRows with both ratios above {SLOWER:g}: {slower}\n"


def _rows(result: Result) -> Iterator[list[str]]:
    for way in filter(is_ours, result.values):
        old = OLD + way.removeprefix(OURS)
        ratios = sorted(result.ratios(old, way))
        fastest = min(result.values[way]) / min(result.values[old])
        marked = min(median(ratios), fastest) > SLOWER
        yield [
            result.case,
            way,
            quantity(result.median(old), result.unit),
            quantity(result.median(way), result.unit),
            f"{times(median(ratios))} ({times(ratios[0])} … {times(ratios[-1])})",
            times(fastest),
            ("slower" if result.unit == "s" else "larger") if marked else "",
        ]
