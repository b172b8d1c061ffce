"""`python -m benchmarks`: measure, and print the tables."""

from __future__ import annotations

import argparse
import contextlib
import fnmatch
import json
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from . import disk, machine, table, versions
from .groups import GROUPS
from .runner import Bench, Case, Group, run
from .shown import shown_cases
from .sizes import FULL, SMOKE
from .timing import Result
from .worker import Worker

MEMORY_FOLDER = Path("/dev/shm")


def parse(words: Sequence[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--smoke", action="store_true", help="small sizes: does everything run?")
    parser.add_argument("--reference-python", metavar="PATH", help="Python of an environment with ds-format 5.0.2")
    parser.add_argument("--zippy", metavar="DIR", type=Path, help="where the package zippy (zippy-data 0.1.2) lies")
    parser.add_argument(
        "--only", metavar="PATTERN", default="", help="cases whose name has this in it; may have * and ?"
    )
    parser.add_argument("--shown", action="store_true", help="only cases with figures in a table for users")
    parser.add_argument("--repetitions", metavar="N", type=int, default=None, help="rounds; default 7, smoke 1")
    parser.add_argument("--output", metavar="FILE", type=Path, help="also write the report, as .md or .json")
    parser.add_argument("--folder", metavar="DIR", type=Path, help="where files are written; default: in memory")
    parser.add_argument("--disk", metavar="DIR", type=Path, help="where those go that are to lie on a disk")
    parser.add_argument(
        "--old", metavar="WHEEL", type=Path, help="compare ds_format with an older version of it, and nothing else"
    )
    arguments = parser.parse_args(words)
    if arguments.old is not None and (arguments.reference_python or arguments.zippy):
        parser.error("--old compares two versions of ds_format: leave out --reference-python and --zippy")
    if arguments.output is not None and arguments.output.suffix not in (".md", ".json"):
        parser.error("--output must end with .md or .json")
    if arguments.repetitions is not None and arguments.repetitions < 1:
        parser.error("--repetitions must be 1 or more")
    return arguments


def chosen(pattern: str, is_shown: bool = False) -> list[Case]:
    """Return the cases whose names have a pattern in them; only those in tables for users if `is_shown`."""
    cases = [case for group in GROUPS for case in group.cases if fnmatch.fnmatch(case.name, f"*{pattern}*")]
    return [case for case in cases if not is_shown or case.name in shown_cases()]


def report(line: str, bench: Bench, results: Mapping[str, Result], skipped: Mapping[str, str]) -> str:
    """Return the whole report as markdown."""
    groups = (table.group_table(group, conditions(group, bench), results, skipped) for group in GROUPS)
    parts = [f"# Benchmarks\n\n{line}\n", f"## Summary\n\n{table.summary(results)}\n", *filter(None, groups)]
    return "\n".join(parts)


def conditions(group: Group, bench: Bench) -> str:
    """Return what the times of a group mean."""
    places = {machine.file_system(place) for case in group.cases if (place := bench.place(case)) is not None}
    return f"Wall time; files on {' and '.join(sorted(places)) or 'no disk'}; {group.threads}."


def as_json(line: str, results: Mapping[str, Result], skipped: Mapping[str, str]) -> str:
    """Return all numbers as JSON; seconds, or units of 1e6 bytes."""
    content: dict[str, Any] = {
        "machine": line,
        "results": [result._asdict() for result in results.values()],
        "skipped": dict(skipped),
    }
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


def main(words: Sequence[str] | None = None) -> int:
    """Measure, print the report, and write it to a file if one is given."""
    arguments = parse(words)
    cases = chosen(arguments.only, arguments.shown)
    if not cases:
        print(f"no case has {arguments.only!r} in its name", file=sys.stderr)
        return 1
    folder = arguments.folder or (MEMORY_FOLDER if MEMORY_FOLDER.is_dir() else Path(tempfile.gettempdir()))
    start = time.perf_counter()
    with contextlib.ExitStack() as stack:
        worker = stack.enter_context(Worker(arguments.reference_python)) if arguments.reference_python else None
        both = stack.enter_context(versions.opened(arguments.old)) if arguments.old else None
        bench = Bench(
            SMOKE if arguments.smoke else FULL,
            folder,
            worker,
            arguments.repetitions or (1 if arguments.smoke else 7),
            arguments.zippy,
            arguments.disk or disk.find(),
        )
        found, skipped = run(bench, versions.paired(cases, both) if both else cases)
    results = {result.case: result for result in found}
    rival = both.old if both else worker.version if worker else None
    line = machine.describe(folder, rival)
    text = versions.report(line, results, skipped) if both else report(line, bench, results, skipped)
    print(text)
    print(f"Total: {time.perf_counter() - start:.0f} s")
    if arguments.output is not None:
        markdown = arguments.output.suffix == ".md"
        arguments.output.write_text(text if markdown else as_json(line, results, skipped), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
