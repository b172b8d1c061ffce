"""`ds convert`: convert many files."""

from __future__ import annotations

import contextlib
import os
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from .. import drivers
from ..base.text import on_one_line
from ..errors import DsError
from ..many.converting import running as converting
from ..many.converting.inputs import has_wildcard, suffix_of
from ..many.converting.running import CONVERTED, FAILED, PLANNED, SKIPPED, STATUSES, Conversion, RunOptions
from . import pst
from .arguments import ArgumentError, Command, Option, Request, integer, names, word as text_kind
from .progress import Lines
from .select_ import DIM, KEY, SKIP_UNSUPPORTED, WRITTEN, Matching, matching

_WORD = re.compile(r"([\w-]*)([:=]?)(.*)", re.DOTALL)
FLAGS = ("dry-run", "fail-fast", "overwrite", "resume", "verify")
TEXT = text_kind("text")


def run(request: Request) -> Iterator[Any]:
    """Convert the files, and yield what would be done or, with `-j`, what was done.

    Raises
    ------
    DsError
        If a file failed.
    DsError, OSError
        If nothing can be done at all.
    """
    request.check_count(2)
    _check_words(request)
    *inputs, last = request.at_least(2)
    with _executor(request) as executor:
        watch = _Watch(request)
        flags: dict[str, Any] = {name.replace("-", "_"): request.flag(name) for name in FLAGS}
        how = RunOptions(
            executor,
            request.get("jobs"),
            **flags,
            report=request.get("report"),
            progress=watch.bar,
            each=watch.take,
        )
        try:
            if _is_one_file(inputs, last):
                for name in ("resume", "to"):
                    if request.options.get(name):
                        raise ArgumentError(
                            f"{last}: {name} is possible with a folder as the last word, not with one file"
                        )
                records = converting.run_one(inputs[0], last, _matching(request, last), how)
            else:
                suffix = suffix_of(request.get("to") or "ds")
                watch.begin(0)
                how = how._replace(begin=watch.begin)
                records = converting.run(inputs, last, suffix, _matching(request, f"x{suffix}"), how)
                watch.end(records)
        except KeyboardInterrupt:
            watch.interrupt()
            raise
    if request.flag("j"):
        yield [record.report() for record in records]
    elif request.flag("dry-run"):
        yield from ([record.input, record.output] for record in records if record.status == PLANNED)
    if any(record.status == FAILED for record in records):
        raise DsError(counts(records) if len(records) > 1 else "the file failed")


def _check_words(request: Request) -> None:
    """Check that no word is an option in another spelling: any word can be the folder of the outputs.

    A word in quotes of PST or after `--`, and the name of an existing file are what they say.

    Raises
    ------
    ArgumentError
        If one is.
    """
    n = len(request.words)
    for i, word in enumerate(request.words):
        if not isinstance(word, pst.Bare) or os.path.lexists(word):
            continue
        name, sign, value = _WORD.findall(word)[0]
        option = request.known.get(name)
        if option is None or (not sign and (value or len(name) == 1 or n < 3)):
            continue
        if not sign and i + 1 < n:
            value = request.words[i + 1]
        right = f"{name}: {value or option.value}" if option.value else f"--{name}"
        raise ArgumentError(f'{word}: to set the option {name} write "{right}"; for a file or folder write "./{word}"')


def counts(records: Iterable[Conversion]) -> str:
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


def _matching(request: Request, output: str) -> Matching:
    return matching(request, request.get("variables", []), [], output)


def _executor(request: Request) -> Any:
    address = request.get("scheduler")
    if address is None:
        return contextlib.nullcontext()
    from ..xarray_ import scheduler

    return scheduler.executor(address)


class _Watch:
    """Prints progress, files that failed, and what was done in the end.

    Attributes
    ----------
    bar : Progress or Lines
        Takes the bytes done and the bytes in all; None: nothing is printed.
    """

    def __init__(self, request: Request):
        self._is_quiet = request.flag("q")
        self.bar: Any = request.progress
        if self.bar is None and not self._is_quiet:
            self.bar = Lines(sys.stderr, "ds convert")
        self._records: list[Conversion] = []
        self._n: int | None = None

    def interrupt(self) -> None:
        """Tell what was done until the program was ended."""
        if self._is_quiet or self._n is None:
            return
        others = [record for record in self._records if record.status != CONVERTED]
        told = f"{counts(others)}, " if others else ""
        n_converted = len(self._records) - len(others)
        done = f"{told}{n_converted} of {self._n} converted; --resume goes on" if self._n else "nothing is converted"
        self._say(f"ended early: {done}")

    def begin(self, n: int) -> None:
        """Take how many inputs there are; 0: they are still looked for."""
        self._n = n

    def take(self, record: Conversion) -> None:
        """Take what became of a file."""
        self._records.append(record)
        if self.bar is not None and len(self._records) > 1:
            self.bar.note = f"{len(self._records)} files"
        if record.status == FAILED:
            self._say(f"{record.input}: {record.cause}")

    def end(self, records: Iterable[Conversion]) -> None:
        """Tell what was done, if all went well and somebody watches, or has waited for long."""
        if (
            self.bar is not None
            and self.bar.is_watched
            and all(record.status in (CONVERTED, SKIPPED) for record in records)
        ):
            self._say(counts(records))

    def _say(self, message: str) -> None:
        if self.bar is not None:
            self.bar.clear()
        with contextlib.suppress(OSError):
            print(on_one_line(f"ds convert: {message}"), file=sys.stderr)


COMMANDS = {
    "convert": Command(
        usage=("ds convert [OPTIONS] [--] INPUT... OUTDIR", "ds convert [OPTIONS] [--] INPUT OUTPUT"),
        about="Converts each file to one of its own in OUTDIR. Files keep their folders below the one that was given, "
        "or below the part of a pattern before its first wildcard. Outputs are written atomically. Failures are "
        "reported, and the remaining files are converted; the exit status is then 1. A journal in OUTDIR lists the "
        "files that are done: after Ctrl-C, the same command with --resume continues.",
        arguments=(
            (
                "INPUT",
                (
                    "A file, a folder, or a pattern in quotes: * and ? and [...] in names, ** for any folders. Of "
                    "folders, and of what a pattern matches, files of a known suffix or with recognised content are "
                    "taken, but none that begin with a dot. A warning counts the others. Links to folders are not "
                    "followed there, and OUTDIR is left out."
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
                "Leave out what is done, if input, options and output are still the same, and replace other outputs. "
                "What a killed run has left is removed.",
            ),
            SKIP_UNSUPPORTED,
            Option("verify", "Read each output back and compare, before it gets its name."),
            DIM,
            Option(
                "jobs",
                "How many files are converted at once; 1 by default.",
                "N",
                integer(1, "expected a number of 1 or more"),
            ),
            KEY,
            *WRITTEN,
            Option("report", "A JSON file for input, output, status, cause, seconds and bytes of each.", "FILE", TEXT),
            Option(
                "scheduler",
                "Have the workers of this dask.distributed scheduler do it. The files must be where they see them.",
                "ADDRESS",
                TEXT,
            ),
            Option("to", "The suffix of the outputs, which tells the format; ds by default.", "SUFFIX", TEXT),
            Option("variables", "Only these: a name, a pattern or { NAME... }.", "VARS", names),
        ),
        examples=(
            ("An archive, by two processes:", "ds convert 'archive/**/*.nc' out/ jobs: 2"),
            ("The same, where it was ended:", "ds convert 'archive/**/*.nc' out/ jobs: 2 --resume"),
            (
                "A variable of the files of a folder, at the first time:",
                "ds convert archive first/ variables: temperature sel: '{ time: 0 }'",
            ),
            ("What would be done:", "ds convert --dry-run archive out/ to: nc"),
            ("Compared after writing, and with a report:", "ds convert --verify archive checked/ report: report.json"),
            ("One file:", "ds convert input.nc output.ds"),
        ),
        run=run,
    ),
}
