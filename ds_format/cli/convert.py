"""`ds convert`: convert many files."""

from __future__ import annotations

import contextlib
import importlib
import os
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from .. import drivers
from ..base.wording import on_one_line
from ..errors import DsError
from ..many.converting import running as converting
from ..many.converting.inputs import has_wildcard, suffix_of
from ..many.converting.running import CONVERTED, FAILED, PLANNED, SKIPPED, STATUSES, Conversion, RunOptions
from . import options, pst
from .arguments import GENERAL, READ, WRITE, ArgumentError, Request, count, names, text
from .commands import Command, Option
from .progress import Lines
from .selecting import Matching, matching

_WORD = re.compile(r"([\w-]*)([:=]?)(.*)", re.DOTALL)
FLAGS = ("dry-run", "fail-fast", "overwrite", "resume", "verify")

COMMAND = Command(
    usage=("ds convert [OPTIONS] [--] INPUT... OUTDIR", "ds convert [OPTIONS] [--] INPUT OUTPUT"),
    about="Converts each file to one of its own in OUTDIR. Files keep their folders below the one that was given, or "
    "below the part of a pattern before its first wildcard. Each output is whole or absent. A file that cannot be "
    "converted is told, and the others are converted; the exit status is then 1. What is done stands in a journal in "
    "OUTDIR: after Ctrl-C, the same words with --resume go on.",
    arguments=(
        (
            "INPUT",
            (
                "A file, a folder, or a pattern in quotes: * and ? and [...] in names, ** for any folders. Of folders, "
                "and of what a pattern matches, files of a known suffix or with recognised content are taken, but none "
                "that begin with a dot. A warning counts the others. Links to folders are not followed there, and "
                "OUTDIR is left out."
            ),
        ),
        ("OUTDIR", "The folder of the outputs. It is made if it does not exist."),
        ("OUTPUT", "A name with the suffix of a format, that is no folder: one file is converted to it."),
    ),
    options=(
        Option("dry-run", "Print what would become which file, and write nothing."),
        Option("fail-fast", "End with the first file that fails."),
        Option("overwrite", "Convert all, and replace outputs. Without this and --resume, none may exist."),
        Option(
            "resume",
            "Leave out what is done, if input, options and output are still the same, and replace other outputs. What "
            "a killed run has left is removed.",
        ),
        options.SKIP_UNSUPPORTED,
        Option("verify", "Read each output back and compare, before it gets its name."),
        options.DIM,
        Option("jobs", "How many files are converted at once; 1 by default.", "N"),
        options.KEY,
        *options.WRITTEN,
        Option(
            "report", "A JSON file for input, output, status, cause, seconds and bytes of each.", "FILE"
        ),
        Option(
            "scheduler",
            "Have the workers of this dask.distributed scheduler do it. The files must be where they see them.",
            "ADDRESS",
        ),
        Option("to", "The suffix of the outputs, which tells the format; ds by default.", "SUFFIX"),
        Option("variables", "Only these: a name, a pattern or { NAME... }.", "VARS"),
    ),
    examples=(
        ("An archive, by two processes:", "ds convert 'archive/**/*.nc' out/ jobs: 2"),
        ("The same, where it was ended:", "ds convert 'archive/**/*.nc' out/ jobs: 2 --resume"),
        ("A variable of the files of a folder, at the first time:",
         "ds convert archive first/ variables: temperature sel: '{ time: 0 }'"),
        ("What would be done:", "ds convert --dry-run archive out/ to: nc"),
        ("Compared after writing, and with a report:", "ds convert --verify archive checked/ report: report.json"),
        ("One file:", "ds convert input.nc output.ds"),
    ),
)  # fmt: skip


def run(request: Request) -> Iterator[Any]:
    """Convert the files, and yield what would be done or, with `-j`, what was done.

    Raises
    ------
    DsError
        If a file failed.
    DsError, OSError
        If nothing can be done at all.
    """
    count(request, 2)
    _check_words(request)
    *inputs, last = (text(word, "argument") for word in request.words)
    with _executor(request) as executor:
        watch = _Watch(request)
        flags: dict[str, Any] = {name.replace("-", "_"): bool(request.options.get(name)) for name in FLAGS}
        how = RunOptions(
            executor,
            _jobs(request),
            **flags,
            report=_text(request, "report"),
            progress=watch.progress,
            each=watch.take,
        )
        with watch:
            if _is_one_file(inputs, last):
                _check_one(request, last)
                records = converting.run_one(inputs[0], last, _wanted(request, last), how)
            else:
                suffix = suffix_of(_text(request, "to") or "ds")
                watch.begin(0)
                how = how._replace(begin=watch.begin)
                records = converting.run(inputs, last, suffix, _wanted(request, f"x{suffix}"), how)
                watch.end(records)
    if request.options.get("j"):
        yield [record.report() for record in records]
    elif request.options.get("dry-run"):
        yield from ([record.input, record.output] for record in records if record.status == PLANNED)
    if any(record.status == FAILED for record in records):
        raise DsError(told(records) if len(records) > 1 else "the file failed")


def _check_words(request: Request) -> None:
    """Check that no word is an option in another spelling: any word can be the folder of the outputs.

    A word in quotes of PST or after `--`, and the name of an existing file are what they say.

    Raises
    ------
    ArgumentError
        If one is.
    """
    known = {option.name: option for option in (*COMMAND.options, *GENERAL, *READ, *WRITE)}
    n = len(request.words)
    for i, word in enumerate(request.words):
        if not isinstance(word, pst.Bare) or os.path.lexists(word):
            continue
        name, sign, value = _WORD.findall(word)[0]
        option = known.get(name)
        if option is None or (not sign and (value or len(name) == 1 or n < 3)):
            continue
        if not sign and i + 1 < n:
            value = request.words[i + 1]
        right = f"{name}: {value or option.value}" if option.value else f"--{name}"
        raise ArgumentError(f'{word}: to set the option {name} write "{right}"; for a file or folder write "./{word}"')


def told(records: Iterable[Conversion]) -> str:
    """Return how many files were converted, and what became of the others."""
    found = Counter(record.status for record in records)
    return ", ".join(f"{found[status]} {status}" for status in STATUSES if found[status])


def _is_one_file(inputs: list[str], last: str) -> bool:
    """Whether the last word is the name of a file.

    Raises
    ------
    ArgumentError
        If it is, and a folder is needed.
    """
    if os.path.isdir(last) or last.endswith("/") or not drivers.is_known(last):
        return False
    path = inputs[0]
    if len(inputs) > 1 or has_wildcard(path) or (os.path.isdir(path) and not drivers.is_store(path)):
        raise ArgumentError(
            f"{last}: expected a folder as the last word, for there may be several inputs; found a file"
        )
    return True


def _check_one(request: Request, output: str) -> None:
    for name in ("resume", "to"):
        if request.options.get(name):
            raise ArgumentError(f"{output}: {name} is possible with a folder as the last word, not with one file")


def _wanted(request: Request, output: str) -> Matching:
    variables = request.options.get("variables")
    creation = {**options.writing(request, output), **options.recording(request, output)}
    return matching(request, names(variables, "variables"), [], creation)


def _jobs(request: Request) -> int | None:
    jobs = request.options.get("jobs")
    if jobs is not None and (type(jobs) is not int or jobs < 1):
        raise ArgumentError(f"jobs: expected a number of 1 or more, found {pst.encode([jobs], False)}")
    return jobs


def _text(request: Request, name: str) -> str | None:
    value = request.options.get(name)
    if value is not None and not isinstance(value, str):
        raise ArgumentError(f"{name}: invalid type: expected text, found {pst.encode([value], False)}")
    return value


def _executor(request: Request) -> Any:
    address = _text(request, "scheduler")
    if address is None:
        return contextlib.nullcontext()
    module = importlib.import_module("..xarray_.scheduler", __package__)
    return module.executor(address)


class _Watch:
    """Tells what goes on: progress, files that failed, and what was done in the end."""

    def __init__(self, request: Request):
        self._is_quiet = bool(request.options.get("q"))
        bar: Any = request.progress
        self._bar = bar if bar is not None or self._is_quiet else Lines(sys.stderr, "ds convert")
        self._records: list[Conversion] = []
        self._n: int | None = None

    def __enter__(self) -> None:
        """Begin."""

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if kind is None or not issubclass(kind, KeyboardInterrupt) or self._is_quiet or self._n is None:
            return
        if not self._n:
            self._say("ended early: nothing is converted")
            return
        left = [record for record in self._records if record.status != CONVERTED]
        others = f"{told(left)}, " if left else ""
        self._say(f"ended early: {others}{len(self._records) - len(left)} of {self._n} converted; --resume goes on")

    @property
    def progress(self) -> Any:
        """What takes the bytes done and the bytes in all."""
        return self._bar

    def begin(self, n: int) -> None:
        """Take how many inputs there are; 0: they are still looked for."""
        self._n = n

    def take(self, record: Conversion) -> None:
        """Take what became of a file."""
        self._records.append(record)
        if self._bar is not None and len(self._records) > 1:
            self._bar.note = f"{len(self._records)} files"
        if record.status == FAILED:
            self._say(f"{record.input}: {record.cause}")

    def end(self, records: Iterable[Conversion]) -> None:
        """Tell what was done, if all went well and somebody watches, or has waited for long."""
        if (
            self._bar is not None
            and self._bar.is_watched
            and all(record.status in (CONVERTED, SKIPPED) for record in records)
        ):
            self._say(told(records))

    def _say(self, message: str) -> None:
        if self._bar is not None:
            self._bar.clear()
        with contextlib.suppress(OSError):
            print(on_one_line(f"ds convert: {message}"), file=sys.stderr)
