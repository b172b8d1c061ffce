"""One file of many: converted into the folder of the run, checked, and moved to its name.

So an output stands under its name only after its input has been seen to be the same as before, and what was written has
been compared with it, if that is wanted.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import itertools
import json
import os
import shutil
from collections.abc import Callable, Iterable, Iterator
from time import perf_counter, sleep, time_ns
from typing import Any, NamedTuple

from ... import drivers
from ...base import modes
from ...base.messages import cause_of
from ...base.progress import Progress
from ...base.wording import on_one_line
from ...body.stamp import Stamp
from ...body.target import Target
from ...errors import ReplacedError
from .comparing import compare
from .wanted import Wanted
from .warned import Warned, noticing

INTERVAL = 0.2
"""Seconds after which somebody is told what became of files, if not all are done by then."""

STEP = 20_000_000
"""Nanoseconds in which a file may be changed twice and have the same time: systems look at the clock now and then."""
LOOKS = 5
"""How often that time is waited for: a file that is changed so often is being written."""

_numbers = itertools.count()


class Order(NamedTuple):
    """A file to be converted. It travels to whoever converts it."""

    number: int
    source: str
    """Absolute, as `target`."""
    target: str
    size: int
    """Of the source, in bytes."""
    exists: bool
    """Whether the target was there when the run began."""


class Settings(NamedTuple):
    """What is asked for, for all files. It travels, too."""

    work: str
    """The folder of what is not whole yet."""
    wanted: Wanted
    suffix: str
    """Of the targets."""
    is_one_file: bool
    """Whether a target is written as one file. Containers of records are written in a folder of their own."""
    verify: bool = False
    fail_fast: bool = False
    """Whether orders end behind one that fails."""
    mode: tuple[str, str | None, str] = ("soft", None, "warn")
    """See `modes.current`."""

    def digest(self) -> str:
        """Return what tells options from others."""
        told = json.dumps([self.suffix, dict(self.wanted.told())], sort_keys=True, default=_plain)
        return hashlib.sha256(told.encode()).hexdigest()[:16]


class Outcome(NamedTuple):
    """What became of an order."""

    number: int
    cause: str | None
    """Why it failed."""
    seconds: float = 0.0
    size: int = 0
    """Of the output, in bytes."""
    stamp: tuple[int, int] = (0, 0)
    """Size and time of change (ns) of the input, as they were before it was read."""
    warnings: tuple[Warned, ...] = ()


def _plain(value: Any) -> Any:
    """Return an option as JSON has it: arrays as lists."""
    return value.tolist() if hasattr(value, "tolist") else repr(value)


def carried_out(
    orders: Iterable[Order], settings: Settings, report: Callable[[float], None] | None = None
) -> Iterator[list[Outcome]]:
    """Convert files one after another, and yield what became of them, now and then and at the end.

    Parameters
    ----------
    orders : iterable of Order
    settings : Settings
    report : callable, optional
        Called meanwhile with how many bytes of sources are done since the last time that something was yielded. What it
        raises ends the conversion.
    """
    left = iter(orders)
    is_end = False
    while not is_end:
        outcomes: list[Outcome] = []
        due = perf_counter() + INTERVAL
        share = None if report is None else _Share(report)
        try:
            with modes.use(*settings.mode), noticing() as told:
                while perf_counter() < due:
                    order = next(left, None)
                    if order is None:
                        is_end = True
                        break
                    outcomes.append(_outcome(order, settings, told, share))
                    if settings.fail_fast and outcomes[-1].cause is not None:
                        is_end = True
                        break
        except BaseException:
            yield outcomes
            raise
        yield outcomes


def _outcome(order: Order, settings: Settings, told: list[Warned], share: _Share | None) -> Outcome:
    """Convert one file, and return what became of it."""
    begin = perf_counter()
    told.clear()
    unique = f"{settings.work}/{os.getpid():x}-{next(_numbers):x}"
    staged = unique + settings.suffix if settings.is_one_file else f"{unique}/{os.path.basename(order.target)}"
    size, stamp, cause = 0, (0, 0), None
    try:
        if share is not None:
            share.begin(order.size)
        size, stamp = _convert(order, staged, settings, told, share)
    except Exception as error:  # noqa: BLE001 - whatever is wrong with one file, the others are converted
        cause = _told(error, order, staged)
    warnings = tuple((kind, text.replace(staged, order.target)) for kind, text in told)
    return Outcome(order.number, cause, perf_counter() - begin, size, stamp, warnings)


class _Share:
    """Progress of data in memory → of the bytes of files."""

    def __init__(self, report: Callable[[float], None]):
        self._report = report
        self._before = self._size = 0

    def begin(self, size: int) -> None:
        """Begin with a file of some bytes; those before it are done."""
        self._before += self._size
        self._size = size

    def __call__(self, done: int, total: int) -> None:
        self._report(self._before + self._size * done / max(total, 1))


def all_of(orders: list[Order], settings: Settings) -> list[Outcome]:
    """Convert files one after another, and return what became of each: for executors."""
    return [outcome for some in carried_out(orders, settings) for outcome in some]


def _convert(order: Order, staged: str, settings: Settings, told: list[Warned], progress: Progress | None) -> _Written:
    """Convert one file, compare, and move it to its name."""
    before = _settled(order.source)
    if not settings.is_one_file:
        os.mkdir(os.path.dirname(staged), 0o700)
    try:
        if settings.is_one_file:
            settings.wanted.convert(order.source, staged, progress, atomic=False)
        else:
            settings.wanted.convert(order.source, staged, progress)
        if settings.verify:
            with settings.wanted.opened(order.source, verify=True) as part:
                times = settings.wanted.options.get("times")
                compare(part, staged, jd=settings.wanted.jd, lossy=bool(told), times=times)
        after = os.stat(order.source)
        if Stamp.of(after) != Stamp.of(before):
            raise ReplacedError("the file was changed while it was converted", path=order.source)
        size = (_moved if settings.is_one_file else _published)(staged, order.target, order.exists)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(staged)
        if not settings.is_one_file:
            shutil.rmtree(os.path.dirname(staged), ignore_errors=True)
        raise
    return size, (before.st_size, before.st_mtime_ns)


def _settled(path: str) -> os.stat_result:
    """Return what the system knows of a file, as soon as its time would tell of a change from now on."""
    for _ in range(LOOKS):
        status = os.stat(path)
        age = time_ns() - status.st_mtime_ns
        if not 0 <= age < STEP:
            return status
        sleep((STEP - age) / 1e9)
    raise ReplacedError("the file is being written", path=path)


_Written = tuple[int, tuple[int, int]]
"""Size of the output; size and time of change of the input."""


def _published(staged: str, target: str, exists: bool) -> int:
    """Move a finished container to its name, and return the bytes of the file of that name.

    If it consists of several files, its driver exchanges all of them at once.
    """
    publish = drivers.load(drivers.find(target)).publish
    if publish is not None:
        size = os.stat(staged).st_size
        os.makedirs(os.path.dirname(target), exist_ok=True)
        publish(staged, target, _replace)
    else:
        size = _moved(staged, target, exists)
    shutil.rmtree(os.path.dirname(staged))
    return size


def _moved(staged: str, target: str, exists: bool) -> int:
    """Move a finished file to its name, with the permissions of the one that it replaces; return its size."""
    size = os.stat(staged).st_size
    if exists:
        target = os.path.realpath(target)
        with contextlib.suppress(FileNotFoundError):  # behind a link
            os.chmod(staged, os.stat(target).st_mode & 0o7777)
    try:
        _replace(staged, target)
    except FileNotFoundError:
        os.makedirs(os.path.dirname(target), exist_ok=True)
        _replace(staged, target)
    return size


def _replace(staged: str, target: str) -> None:
    """Do as `os.replace`, also to a folder that is on another disk."""
    try:
        os.replace(staged, target)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        _copied(staged, target)


def _copied(staged: str, target: str) -> None:
    """Do as `os.replace`, to a folder that is on another disk."""
    there = Target(target)
    try:
        with os.fdopen(there.create(), "wb") as out, open(staged, "rb") as file:
            shutil.copyfileobj(file, out)
        there.commit()
    except BaseException:
        there.abort()
        raise
    os.unlink(staged)


def _told(error: Exception, order: Order, staged: str) -> str:
    """Return why a file could not be converted, in the names that the user knows."""
    return cause_of(error, order.source).replace(on_one_line(staged), on_one_line(order.target))
