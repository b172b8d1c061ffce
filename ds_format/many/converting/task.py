"""One file of many: converted into the folder of the run, checked, and moved to its name.

So an output stands under its name only after its input has been seen to be the same as before, and what was written has
been compared with it, on demand. A ds file must hold everything: values bit by bit, masks, types, dimensions and
attributes. Of other formats values, masks and dimensions are compared, and attributes that are there: types may be
others, and the Sink has warned of what a format does not hold. Tables of text have no dimensions, and after such a
warning values are not compared either.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import itertools
import json
import os
import shutil
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from time import perf_counter, sleep, time_ns
from typing import Any, NamedTuple, Protocol

from ... import drivers
from ...api.conversion import convert_selection
from ...api.creation import Coding
from ...base import modes
from ...base.error_text import cause_of
from ...base.progress import Progress
from ...base.text import on_one_line, unescape
from ...body.stamp import Stamp
from ...body.target import Target
from ...comparison.values import Rule, Tally, alike_attributes, pairs, same_attributes, tally
from ...dataset import META, attrs, dims
from ...errors import DsError, IntegrityError, ReplacedError
from ...model.selection import Selection
from ...views.subset import Subset, open_subset

INTERVAL = 0.2
"""Seconds after which somebody is told what became of files, if not all are done by then."""

STEP = 20_000_000
"""Nanoseconds in which a file may be changed twice and have the same time: systems look at the clock now and then."""
LOOKS = 5
"""How often that time is waited for: a file that is changed so often is being written."""
DATE_ERROR = 1e-6
"""Days by which Julian dates may differ that were written in other units."""

_PROPERTIES = (".size", ".type", ".dims", ".missing", ".records")
_numbers = itertools.count()

CaughtWarning = tuple[type[Warning], str]
"""Category and text of a warning."""

_lock = threading.Lock()
_caught: dict[int, list[CaughtWarning]] = {}
_saved: list[warnings.catch_warnings[Any]] = []


class FilePart(Protocol):
    """A part of any file. It can be pickled."""

    @property
    def options(self) -> Mapping[str, Any]:
        """Of the format of the target."""
        ...

    @property
    def jd(self) -> bool:
        """Whether times become Julian dates."""
        ...

    def convert(self, source: str, target: str, progress: Progress | None, **options: Any) -> None:
        """Write the part of one file to another; options and errors as `ds_format.convert`."""
        ...

    def opened(self, source: str, *, verify: bool = False) -> Any:
        """Return a context that has the part of a file open, as a `Subset`.

        With `verify` checksums are compared, if the format has them.
        """
        ...

    def parameters(self) -> Mapping[str, Any]:
        """Return all that decides what is written, but for the suffix of the target."""
        ...


class Selected(NamedTuple):
    """The same variables and positions of each file; see `ds_format.convert`."""

    selection: Selection
    skip_unsupported: bool
    options: Mapping[str, Any]
    """Of the format of the target."""

    @property
    def jd(self) -> bool:
        """See `FilePart`."""
        return self.selection.jd

    def convert(self, source: str, target: str, progress: Progress | None, **options: Any) -> None:
        """See `FilePart`."""
        how: dict[str, Any] = {"skip_unsupported": self.skip_unsupported, "progress": progress}
        convert_selection(source, target, self.selection, **how, **self.options, **options)

    @contextlib.contextmanager
    def opened(self, source: str, *, verify: bool = False) -> Iterator[Subset]:
        """See `FilePart`."""
        how = verifying(source) if verify else {}
        with open_subset(source, self.selection, skip_unsupported=self.skip_unsupported, **how) as part:
            yield part

    def parameters(self) -> Mapping[str, Any]:
        """See `FilePart`."""
        return {
            "variables": self.selection.variables,
            "selectors": self.selection.selectors(),
            "jd": self.jd,
            "skip_unsupported": self.skip_unsupported,
            "options": self.options,
        }


def verifying(source: str) -> dict[str, Any]:
    """Return the option of opening a file that compares its checksums; nothing if its format has none."""
    return {"verify": True} if "verify" in drivers.find_existing(source).options else {}


class FileOrder(NamedTuple):
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
    part: FilePart
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
        text = json.dumps([self.suffix, dict(self.part.parameters())], sort_keys=True, default=_plain)
        return hashlib.sha256(text.encode()).hexdigest()[:16]


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
    warnings: tuple[CaughtWarning, ...] = ()


def _plain(value: Any) -> Any:
    """Return an option as JSON has it: arrays as lists."""
    return value.tolist() if hasattr(value, "tolist") else repr(value)


def carried_out(
    orders: Iterable[FileOrder], settings: Settings, report: Callable[[float], None] | None = None
) -> Iterator[list[Outcome]]:
    """Convert files one after another, and yield what became of them, now and then and at the end.

    Parameters
    ----------
    orders : iterable of FileOrder
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
            with modes.use(*settings.mode), noticing() as caught:
                while perf_counter() < due:
                    order = next(left, None)
                    if order is None:
                        is_end = True
                        break
                    outcomes.append(_outcome(order, settings, caught, share))
                    if settings.fail_fast and outcomes[-1].cause is not None:
                        is_end = True
                        break
        except BaseException:
            yield outcomes
            raise
        yield outcomes


def _outcome(order: FileOrder, settings: Settings, caught: list[CaughtWarning], share: _Share | None) -> Outcome:
    """Convert one file, and return what became of it."""
    begin = perf_counter()
    caught.clear()
    unique = f"{settings.work}/{os.getpid():x}-{next(_numbers):x}"
    staged = unique + settings.suffix if settings.is_one_file else f"{unique}/{os.path.basename(order.target)}"
    size, stamp, cause = 0, (0, 0), None
    try:
        if share is not None:
            share.begin(order.size)
        size, stamp = _convert(order, staged, settings, caught, share)
    except Exception as error:  # noqa: BLE001 - whatever is wrong with one file, the others are converted
        cause = cause_of(error, order.source).replace(on_one_line(staged), on_one_line(order.target))
    warnings = tuple((kind, text.replace(staged, order.target)) for kind, text in caught)
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


def all_of(orders: list[FileOrder], settings: Settings) -> list[Outcome]:
    """Convert files one after another, and return what became of each: for executors."""
    return [outcome for some in carried_out(orders, settings) for outcome in some]


def _convert(
    order: FileOrder, staged: str, settings: Settings, caught: list[CaughtWarning], progress: Progress | None
) -> tuple[int, tuple[int, int]]:
    """Convert one file, compare, and move it to its name; return the size of the output, and the stamp of the input."""
    before = _settled(order.source)
    if not settings.is_one_file:
        os.mkdir(os.path.dirname(staged), 0o700)
    try:
        if settings.is_one_file:
            settings.part.convert(order.source, staged, progress, atomic=False)
        else:
            settings.part.convert(order.source, staged, progress)
        if settings.verify:
            with settings.part.opened(order.source, verify=True) as part:
                times = settings.part.options.get("times")
                compare(part, staged, jd=settings.part.jd, lossy=bool(caught), times=times)
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


def compare(part: Subset, written: str, *, jd: bool = False, lossy: bool = False, times: str | None = None) -> None:
    """Check that a file holds what it was made of.

    Parameters
    ----------
    part : Subset
        What it was made of.
    written : str
        The file.
    jd : bool
        Whether times were read as Julian dates.
    lossy : bool
        Whether it was said already that the file does not hold everything.
    times : str, optional
        How times were written; see `creation.create_sink`.

    Raises
    ------
    IntegrityError
        If something differs.
    """
    format = drivers.find(written)
    exact, shaped = format.is_exact, format.is_shaped
    coding = Coding(part.meta, format, part.source.meta, times=times)
    with open_subset(written, Selection(jd=jd and not exact), format=format, verify="verify" in format.options) as back:
        for key, entry in coding.meta.items():
            found = back.meta.get(key)
            name = None if key == META else unescape(key)
            try:
                if found is None:
                    if not lossy and (exact or entry.get(".size") is not None):
                        raise IntegrityError("it is not there when the file is read back")
                    continue
                _compare_attributes(attrs(entry), attrs(found), exact=exact)
                if key != META:
                    if shaped:
                        _compare_shape(key, entry, found, (".size", ".type") if exact else (".size",))
                    if shaped or not lossy:
                        blocks = coding.blocks(key, part.blocks(key))
                        is_date = entry.get(".time") is True and not exact
                        _compare_values(blocks, back.blocks(key), exact=exact, is_date=is_date)
            except DsError as error:
                raise error.at(path=written, variable=name)


def _compare_attributes(given: Mapping[str, Any], found: Mapping[str, Any], *, exact: bool) -> None:
    for name, value in given.items():
        if name.startswith(".") and (name in _PROPERTIES or not exact):
            continue
        if name not in found:
            if exact:
                raise IntegrityError(f'attribute "{name}" is not there when the file is read back')
        elif not (same_attributes if exact else alike_attributes)(value, found[name]):
            raise IntegrityError(f'attribute "{name}": read back {found[name]!r}, expected {value!r}')


def _compare_shape(key: str, given: Mapping[str, Any], found: Mapping[str, Any], names: tuple[str, ...]) -> None:
    for name in names:
        if given.get(name) != found.get(name) and given.get(".size") is not None:
            raise IntegrityError(f"{name}: read back {found.get(name)}, expected {given.get(name)}")
    n = len(given.get(".size") or ())
    ours, theirs = list(dims(key, given, n)), list(dims(key, found, n))
    if ours != theirs:
        raise IntegrityError(f".dims: read back {theirs}, expected {ours}")


def _compare_values(blocks: Iterator[Any], back: Iterator[Any], *, exact: bool, is_date: bool) -> None:
    rule = Rule(atol=DATE_ERROR if is_date else 0.0, bits=exact, loose=not exact)
    found = tally(pairs(blocks, back), rule, first=True)
    if found.differs:
        raise IntegrityError(f"value {_first(found)} differs when the file is read back")


def _first(found: Tally) -> int:
    return min(one.position for one in (found.first, found.first_missing) if one is not None)


class noticing:
    """Take what the thread of a `with` block warns of.

    `warnings.catch_warnings` is the process's. So the first thread that begins has all warnings go by here, and the
    last one restores what was. What other threads warn of meanwhile is shown as before.
    """

    def __enter__(self) -> list[CaughtWarning]:
        with _lock:
            if not _caught:
                saved = warnings.catch_warnings()
                saved.__enter__()
                _saved.append(saved)
                warnings.simplefilter("always", UserWarning)  # others are the concern of who wrote the program
                _route(warnings.showwarning)
            return _caught.setdefault(threading.get_ident(), [])

    def __exit__(self, *error: object) -> None:
        with _lock:
            del _caught[threading.get_ident()]
            if not _caught:
                _saved.pop().__exit__(None, None, None)


def _route(shown: Any) -> None:
    def take(message: Warning | str, category: type[Warning], *about: Any, **more: Any) -> None:
        caught = _caught.get(threading.get_ident())
        if caught is None:
            shown(message, category, *about, **more)
        else:
            caught.append((category, str(message)))

    warnings.showwarning = take
