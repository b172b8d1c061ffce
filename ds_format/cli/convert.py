"""`ds convert`: convert one file or many files."""

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
from ..many.converting.inputs import selects_many, suffix_of
from ..many.converting.running import CONVERTED, FAILED, PLANNED, SKIPPED, STATUSES, Conversion, RunOptions
from . import pst
from .arguments import ArgumentError, Command, Option, Request, integer, names, word as text_kind
from .progress import Lines
from .select_ import DIM, KEY, READ, SKIP_UNSUPPORTED, STORED, WRITTEN, Matching, matching

_WORD = re.compile(r"([\w-]*)([:=]?)(.*)", re.DOTALL)
FLAGS = ("dry-run", "fail-fast", "overwrite", "resume", "verify")
TEXT = text_kind("text")


def run(request: Request) -> Iterator[Any]:
    """Convert the files. Yield the planned conversions with `--dry-run`, and a report with `-j`.

    Raises
    ------
    DsError
        If a file failed.
    DsError, OSError
        If no conversion can start.
    """
    *inputs, last = request.names("INPUT... OUTPUT")
    _check_words(request)
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
    if len(records) == 1 and records[0].status == FAILED:
        raise DsError(f"{records[0].input}: {records[0].cause}")
    if any(record.status == FAILED for record in records):
        raise DsError(counts(records))


def _check_words(request: Request) -> None:
    """Refuse misspelt options, because any word can be the folder of the outputs.

    Words in PST quotes or after `--`, and names of existing files, are taken literally.

    Raises
    ------
    ArgumentError
        If a word is a misspelt option.
    """
    n = len(request.words)
    for i, word in enumerate(request.words):
        if not isinstance(word, pst.Bare) or os.path.lexists(word):
            continue
        name, sign, value = _WORD.findall(word)[0]
        option = request.known_options.get(name)
        if option is None or (not sign and (value or len(name) == 1 or n < 3)):
            continue
        if not sign and i + 1 < n:
            value = request.words[i + 1]
        right = f"{name}: {value or option.value}" if option.value else f"--{name}"
        raise ArgumentError(f'{word}: to set the option {name} write "{right}"; for a file or folder write "./{word}"')


def counts(records: Iterable[Conversion]) -> str:
    """Return the number of files with each status as text."""
    found = Counter(record.status for record in records)
    return ", ".join(f"{found[status]} {status}" for status in STATUSES if found[status])


def _is_one_file(inputs: list[str], last: str) -> bool:
    """Whether the last word is the name of a file.

    Raises
    ------
    ArgumentError
        If it is and a folder is needed, or if it is probably a file with an unknown suffix.
    """
    if os.path.isdir(last) or last.endswith("/"):
        return False
    path = inputs[0]
    if not drivers.is_known(drivers.located(last)):
        if len(inputs) == 1 and os.path.isfile(path) and os.path.splitext(last)[1] and not os.path.exists(last):
            known = " ".join(drivers.all_suffixes())
            raise ArgumentError(f'{last}: unknown file format: expected one of {known}, or "{last}/" for a folder')
        return False
    if len(inputs) > 1 or selects_many(drivers.located(path)):
        raise ArgumentError(
            f"{last}: expected a folder as the last word, because there may be several inputs; found a file"
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
    """Prints progress, failed files and a summary.

    Attributes
    ----------
    bar : Progress or Lines
        Called with the number of bytes processed, and their total; None: nothing is printed.
    """

    def __init__(self, request: Request):
        self._is_quiet = request.flag("q")
        self.bar: Any = request.progress
        if self.bar is None and not self._is_quiet:
            self.bar = Lines(sys.stderr, "ds convert")
        self._records: list[Conversion] = []
        self._n: int | None = None

    def interrupt(self) -> None:
        """Print how many files were converted before the program was interrupted."""
        if self._is_quiet or self._n is None:
            return
        others = [record for record in self._records if record.status != CONVERTED]
        prefix = f"{counts(others)}, " if others else ""
        n_converted = len(self._records) - len(others)
        done = (
            f"{prefix}{n_converted} of {self._n} converted; --resume continues" if self._n else "nothing was converted"
        )
        self._say(f"ended early: {done}")

    def begin(self, n: int) -> None:
        """Take the number of inputs; 0 while the search is running."""
        self._n = n

    def take(self, record: Conversion) -> None:
        """Record the result for one file."""
        self._records.append(record)
        if self.bar is not None and len(self._records) > 1:
            self.bar.note = f"{len(self._records)} files"
        if record.status == FAILED and (self._n or 1) > 1:  # a single failure is the error of the command
            self._say(f"{record.input}: {record.cause}")

    def end(self, records: Iterable[Conversion]) -> None:
        """Print a summary if no file failed and progress was shown."""
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
        about="Converts INPUT to OUTPUT, or each of many files to a file in OUTDIR. The suffix of OUTPUT determines "
        "its format. In OUTDIR, files keep their folders relative to the given folder, or to the part of a pattern "
        "before its first wildcard. Outputs are written atomically. Failures are reported, and the remaining files "
        "are converted; the exit status is then 1. A journal in OUTDIR lists the finished files. After Ctrl-C, the "
        "same command with --resume continues.",
        arguments=(
            (
                "INPUT",
                (
                    "A file, a folder, or a pattern in quotes with *, ?, [...] and ** for any folders. In folders, and "
                    "among matches of a pattern, files with a known suffix or recognised content are converted, except "
                    "hidden files. A warning counts the others. Links to folders are not followed there, and OUTDIR is "
                    "skipped. All of these can be addresses: s3://bucket/2026/ is a folder. Web servers do not list "
                    "files."
                ),
            ),
            ("OUTDIR", "The folder of the outputs, or its address. It is created if missing."),
            ("OUTPUT", "The file to write, or its address, with the suffix of a format."),
        ),
        options=(
            Option("dry-run", "Print each input with its output, and write nothing."),
            Option("fail-fast", "Stop at the first file that fails."),
            Option(
                "overwrite",
                "Convert all files, and replace existing outputs. By default, existing outputs are an error.",
            ),
            Option(
                "resume",
                "Skip finished files if input, options and output are unchanged, and replace other outputs. Temporary "
                "files of a killed run are removed.",
            ),
            SKIP_UNSUPPORTED,
            Option("verify", "Read each output back, and compare it before it is renamed into place."),
            DIM,
            Option(
                "jobs",
                "Number of files to convert in parallel; 1 by default.",
                "N",
                integer(1, "expected a number of 1 or more"),
            ),
            KEY,
            *WRITTEN,
            *STORED,
            *READ,
            Option(
                "report", "Write input, output, status, cause, seconds and bytes of each file as JSON.", "FILE", TEXT
            ),
            Option(
                "scheduler",
                "Convert on the workers of this dask.distributed scheduler, which need access to the files.",
                "ADDRESS",
                TEXT,
            ),
            Option("to", "Suffix of the outputs, which determines their format; ds by default.", "SUFFIX", TEXT),
            Option("variables", "Convert only these: a name, a pattern or { NAME... }.", "VARS", names),
        ),
        examples=(
            ("One file:", "ds convert input.nc output.ds"),
            ("An archive, by two processes:", "ds convert 'archive/**/*.nc' out/ jobs: 2"),
            ("Compress an archive:", "ds convert archive compressed/ to: nc compression: zlib level: 1"),
            ("Continue after an interruption:", "ds convert 'archive/**/*.nc' out/ jobs: 2 --resume"),
            (
                "One variable of all files in a folder, at the first time:",
                "ds convert archive first/ variables: temperature sel: '{ time: 0 }'",
            ),
            ("List the conversions without running them:", "ds convert --dry-run archive out/ to: nc"),
            ("Compare after writing, and write a report:", "ds convert --verify archive checked/ report: report.json"),
        ),
        run=run,
    ),
}
