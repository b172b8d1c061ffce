"""A run: what is to be done, what is done, and who is told."""

from __future__ import annotations

import contextlib
import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Executor
from typing import NamedTuple

from ... import drivers
from ...base import modes
from ...base.messages import describe
from ...base.progress import Progress
from ...body.target import resolve
from ...errors import UnsupportedError
from ...views.subset import Path
from .execution import execute
from .journal import Done, Journal
from .plan import Item, check_absent, check_case
from .records import CANCELLED, CONVERTED, FAILED, PLANNED, SKIPPED, Conversion, write_report
from .task import Order, Outcome, Settings
from .wanted import Wanted
from .workspace import JOURNAL, LOCK, WORK, Beside, Workspace

Each = Callable[[Conversion], None]


class _Failed(Exception):
    """A file failed, and no other is to be converted."""


class How(NamedTuple):
    """How a run goes; see `running.convert_many`."""

    executor: Executor | None = None
    jobs: int | None = None
    resume: bool = False
    overwrite: bool = False
    fail_fast: bool = False
    verify: bool = False
    dry_run: bool = False
    report: Path | None = None
    progress: Progress | None = None
    each: Each | None = None
    begin: Callable[[int], None] | None = None
    """Called with the number of inputs, before the first is converted."""

    def check(self) -> None:
        """Check that these go together.

        Raises
        ------
        ValueError
            If not.
        """
        if self.resume and self.overwrite:
            raise ValueError("resume and overwrite exclude each other")
        if self.jobs is not None and (type(self.jobs) is not int or self.jobs < 1):
            raise ValueError(f"jobs: expected a number of 1 or more, found {self.jobs!r}")


class Run:
    """One run.

    Parameters
    ----------
    items : list of Item
    outdir : str or None
        None: there is one file, and its output has a place of its own.
    suffix : str
        Of the outputs.
    wanted : Wanted
    how : How
    """

    def __init__(self, items: list[Item], outdir: str | None, suffix: str, wanted: Wanted, how: How):
        self._items = items
        self._outdir = outdir
        is_one_file = "atomic" in drivers.find(suffix).creation
        self._settings = Settings("", wanted, suffix, is_one_file, how.verify, how.fail_fast, modes.current())
        self._digest = self._settings.digest()
        self._here = os.getcwd()
        self._how = how
        self._records: dict[int, Conversion] = {}
        self._journal: Journal | None = None
        self._unwritten: list[Done] = []
        self._is_warned = False
        self._is_ending = False
        self._size = 0
        self._total = self._shown = 0

    def run(self) -> list[Conversion]:
        """Do it, and return a record for each file."""
        self._check_report()
        if self._how.dry_run:
            with contextlib.suppress(_Failed):
                journal = None if self._outdir is None else Journal(os.path.join(self._outdir, JOURNAL))
                self._prepare(journal)
            return self._all(PLANNED)
        place = Workspace(self._outdir) if self._outdir is not None else Beside(self._items[0].output or "")
        try:
            if place.folds_case():
                check_case(self._items)
            self._journal = place.journal
            with contextlib.suppress(_Failed), self._reported():
                orders = self._prepare(place.journal)
                if orders or self._how.resume:
                    place.begin()
                settings = self._settings._replace(work=place.work)
                execute(orders, settings, self._take, jobs=self._how.jobs or 1, executor=self._how.executor)
        finally:
            try:
                self._write()
            finally:
                place.close()
        return self._all(CANCELLED)

    def _prepare(self, journal: Journal | None) -> list[Order]:
        """Find out what is left to be done."""
        if self._how.begin is not None:
            self._how.begin(len(self._items))
        if not (self._how.resume or self._how.overwrite):
            check_absent(self._items, resumes=self._outdir is not None)
        done: Mapping[str, Done] = journal.done if journal is not None and self._how.resume else {}
        orders = []
        for i, item in enumerate(self._items):
            if item.output is None or item.cause is not None:
                self._records[i] = Conversion(item.input, item.output, FAILED, item.cause)
                continue
            source, target = self._absolute(item.input), self._absolute(item.output)
            known = done.get(item.place)
            if known is not None and known == self._line(item, known.output_size) and _size_of(target) == known[-1]:
                self._records[i] = Conversion(item.input, item.output, SKIPPED, size=known.output_size)
            else:
                orders.append(Order(i, source, target, item.size, item.exists))
        if self._how.each is not None:
            for record in self._records.values():
                self._how.each(record)
        self._total = sum(order.size for order in orders)
        self._end_if_failed(self._records.values())
        return orders

    def _line(self, item: Item, size: int) -> Done:
        source = self._absolute(item.input)
        if "/." in source or "//" in source:
            source = os.path.normpath(source)
        return Done(source, item.size, item.mtime, self._digest, item.place, size)

    def _absolute(self, path: str) -> str:
        return path if path.startswith("/") else f"{self._here}/{path}"

    def _take(self, outcomes: list[Outcome], current: float) -> None:
        """Note what became of files; see `execution.Take`."""
        records = []
        for outcome in outcomes:
            item = self._items[outcome.number]
            if outcome.number in self._records:
                continue  # a signal has come when they were taken before
            if outcome.cause is None:
                size, mtime = outcome.stamp
                self._unwritten.append(self._line(item._replace(size=size, mtime=mtime), outcome.size))
            status = CONVERTED if outcome.cause is None else FAILED
            cause = None if outcome.cause is None else _as_known(outcome.cause, item)
            told = [(kind, _as_known(text, item)) for kind, text in outcome.warnings]
            texts = tuple(text for _, text in told)
            record = Conversion(item.input, item.output, status, cause, outcome.seconds, outcome.size, texts)
            self._records[outcome.number] = record
            self._size += item.size
            records.append((record, told))
        self._write()
        for record, told in records:
            for kind, text in told:
                warnings.warn(text, kind, stacklevel=2)
            if self._how.each is not None:
                self._how.each(record)
        if self._how.progress is not None:
            self._shown = max(self._shown, min(int(self._size + current), self._total))
            self._how.progress(self._shown, self._total)
        self._end_if_failed(record for record, _ in records)

    def _write(self) -> None:
        """Write what is done to the journal. If that is not possible now, it is tried again, and the run goes on."""
        if self._journal is not None and self._unwritten:
            try:
                self._journal.add(self._unwritten)
            except OSError as error:
                if not self._is_warned:
                    self._is_warned = True
                    warnings.warn(f"the journal cannot be written: {describe(error)}", stacklevel=2)
                return
        self._unwritten = []

    def _end_if_failed(self, records: Iterable[Conversion]) -> None:
        if self._how.fail_fast and not self._is_ending and any(record.status == FAILED for record in records):
            self._is_ending = True
            raise _Failed

    def _all(self, left: str) -> list[Conversion]:
        """Return a record of each file; those that have none get the status `left`."""
        return [self._records.get(i) or Conversion(item.input, item.output, left) for i, item in enumerate(self._items)]

    def _check_report(self) -> None:
        """Check that the report can be written, and takes the place of nothing that is needed."""
        if self._how.report is None:
            return
        path = os.fsdecode(self._how.report)
        real, mode = resolve(path)
        real = os.path.realpath(real)
        folder, name = os.path.split(real)
        is_beside = self._outdir is not None and folder == os.path.realpath(self._outdir)
        if is_beside and name in (JOURNAL, LOCK, WORK):
            raise UnsupportedError("the report would replace what runs keep in the folder of the outputs", path=path)
        if not is_beside and not os.path.isdir(folder):
            raise FileNotFoundError(f"{path}: the folder of the report does not exist")
        there = None if mode is None else _identity(real)
        for item in self._items:
            for other in (item.input, item.output):
                if other is None:
                    continue
                # what is behind all links takes long to find out
                may_be = item.exists or os.path.basename(other) == name if there is None else _identity(other) == there
                if may_be and os.path.realpath(other) == real:
                    raise UnsupportedError("the report would replace an input or output", path=path)

    @contextlib.contextmanager
    def _reported(self) -> Iterator[None]:
        """Write the report after a `with` block, however that ends."""
        try:
            yield
        finally:
            if self._how.report is not None:
                write_report(self._how.report, self._all(CANCELLED))


def _as_known(text: str, item: Item) -> str:
    """Return a message with paths as the user knows them."""
    for path in (item.output, item.input):
        if path is not None:
            text = text.replace(os.path.join(os.getcwd(), path), path)
    return text


def _identity(path: str) -> tuple[int, int] | None:
    """Return what tells a file from others, behind all links; None if there is none."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _size_of(path: str) -> int | None:
    try:
        return os.stat(path).st_size
    except OSError:
        return None
