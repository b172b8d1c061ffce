"""Converting one of many files: into the folder of the run, with checks, then renamed to its final name.

An output only gets its name after two checks: the input has not changed meanwhile and, on demand, the output equals the
input. A ds file must contain everything: values bit by bit, masks, types, dimensions and attributes. For other formats
values, masks, dimensions and existing attributes are compared. Types may differ, and the Sink has warned of anything
that the format does not support. Tables of text have no dimensions, and after such a warning their values are not
compared either.
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
from functools import partial
from time import perf_counter, sleep, time_ns
from typing import Any, NamedTuple, Protocol

from ... import drivers
from ...api.conversion import convert_selection
from ...api.creation import Coding
from ...base import modes
from ...base.error_text import cause_of
from ...base.progress import Progress
from ...base.text import on_one_line, unescape
from ...body import Address, Location, path_text, size_of
from ...body.body import FIRST_SIZE
from ...body.locating import arriving, version_number
from ...body.stamp import Stamp
from ...body.target import FolderTarget, Target, place_folder
from ...comparison.values import Rule, Tally, alike_attributes, pairs, same_attributes, tally
from ...datasets import META, attrs, dims
from ...errors import DsError, IntegrityError, ReplacedError
from ...model.selection import Selection
from ...views.subset import Subset, open_subset

INTERVAL = 0.2
"""Seconds after which outcomes are reported, if not all files are converted by then."""

STEP = 20_000_000
"""Nanoseconds within which two changes of a file may have the same time, since file systems use a coarse clock."""
WAIT = 0.1
"""Maximum number of seconds between two reports of progress."""
PATIENCE = 10.0
"""Seconds that a run waits, at its end, for conversions that it stops."""
LOOKS = 5
"""Number of times to wait for this period. A file that is changed so often is being written."""
DATE_ERROR = 1e-6
"""Maximum difference, in days, of Julian dates that were written in other units."""

_PROPERTIES = (".size", ".type", ".dims", ".missing", ".records")
_numbers = itertools.count()

CaughtWarning = tuple[type[Warning], str]
"""Category and text of a warning."""

_lock = threading.Lock()
_caught: dict[int, list[CaughtWarning]] = {}
_saved: list[warnings.catch_warnings[Any]] = []


class FilePart(Protocol):
    """A part of any file, for pickling."""

    @property
    def options(self) -> Mapping[str, Any]:
        """Options of the format of the target."""
        ...

    @property
    def jd(self) -> bool:
        """Whether times are converted to Julian dates."""
        ...

    def convert(self, source: Location, target: str, progress: Progress | None, **options: Any) -> None:
        """Write the part of one file to another; options and errors as for `ds_format.convert`."""
        ...

    def opened(self, source: Location, *, verify: bool = False) -> Any:
        """Return a context with the part of an open file, as a `Subset`.

        With `verify`, checksums are compared if the format has them.
        """
        ...

    def parameters(self) -> Mapping[str, Any]:
        """Return everything that determines the output, except the suffix of the target."""
        ...


class Selected(NamedTuple):
    """The same variables and positions of each file; see `ds_format.convert`."""

    selection: Selection
    skip_unsupported: bool
    options: Mapping[str, Any]
    """Options of the format of the target."""
    reading: Mapping[str, Any] | None = None
    """Options of the format of the files."""

    @property
    def jd(self) -> bool:
        """See `FilePart`."""
        return self.selection.jd

    def convert(self, source: Location, target: str, progress: Progress | None, **options: Any) -> None:
        """See `FilePart`."""
        how: dict[str, Any] = {"skip_unsupported": self.skip_unsupported, "progress": progress, "reading": self.reading}
        convert_selection(source, target, self.selection, **how, **self.options, **options)

    @contextlib.contextmanager
    def opened(self, source: Location, *, verify: bool = False) -> Iterator[Subset]:
        """See `FilePart`."""
        how: dict[str, Any] = verifying(source) if verify else {}
        how |= {"skip_unsupported": self.skip_unsupported, "reading": self.reading}
        with open_subset(source, self.selection, **how) as part:
            yield part

    def parameters(self) -> Mapping[str, Any]:
        """See `FilePart`."""
        return {
            "variables": self.selection.variables,
            "selectors": self.selection.selectors(),
            "jd": self.jd,
            "skip_unsupported": self.skip_unsupported,
            "options": self.options,
            **({"reading": self.reading} if self.reading else {}),
        }


def verifying(source: Location) -> dict[str, Any]:
    """Return the option of opening a file that compares its checksums, or nothing if its format has none."""
    return {"verify": True} if "verify" in drivers.find_existing(source).options else {}


class FileOrder(NamedTuple):
    """A file to convert. It is sent to the worker."""

    number: int
    source: Location
    """Absolute path, or an address."""
    target: str
    """Absolute path, or the name of an address; see `Settings.place`."""
    size: int
    """Size of the source, in bytes; 0 if it is not known."""
    exists: bool
    """Whether the target existed at the start of the run. At an address: whether it may exist."""


class Settings(NamedTuple):
    """Settings for all files of a run. They are sent to the workers, too."""

    work: str
    """The folder of unfinished outputs."""
    part: FilePart
    suffix: str
    """Suffix of the targets."""
    is_one_file: bool
    """Whether a target is written as one file. Containers of records are written in a separate folder."""
    verify: bool = False
    fail_fast: bool = False
    """Whether to stop after an order that fails."""
    mode: tuple[str, str | None, str] = ("soft", None, "warn")
    """See `modes.current`."""
    place: Address | None = None
    """The address below which targets are, if they are not local."""

    def address(self, target: str) -> Address | None:
        """Return the address of a target, whose name begins with that of `place`; None if it is a local path."""
        return None if self.place is None else self.place.sibling(target[len(self.place.name) :])

    def digest(self) -> str:
        """Return a digest of the options."""
        text = json.dumps([self.suffix, dict(self.part.parameters())], sort_keys=True, default=_plain)
        return hashlib.sha256(text.encode()).hexdigest()[:16]


class Outcome(NamedTuple):
    """Result of one conversion."""

    number: int
    cause: str | None
    """Cause of a failure."""
    seconds: float = 0.0
    size: int = 0
    """Size of the output, in bytes."""
    stamp: tuple[int, int] = (0, 0)
    """Size and modification time (ns) of the input, before it was read; see `PlannedFile.mtime`."""
    warnings: tuple[CaughtWarning, ...] = ()


Batch = list[FileOrder]
Take = Callable[[list[Outcome], float], None]
"""Called with results of conversions, and the number of bytes of the current sources that are done."""


class Stopped(BaseException):
    """The run ends before a file is finished."""


def _plain(value: Any) -> Any:
    """Return an option in the types of JSON: arrays as lists."""
    return value.tolist() if hasattr(value, "tolist") else repr(value)


def carried_out(
    orders: Iterable[FileOrder], settings: Settings, report: Callable[[float], None] | None = None
) -> Iterator[list[Outcome]]:
    """Convert files one after another, and iterate over lists of outcomes, at intervals and at the end.

    Parameters
    ----------
    orders : iterable of FileOrder
    settings : Settings
    report : callable, optional
        Called with the bytes of sources that are done since the last list. An exception that it raises ends the
        conversion.
    """
    left, ahead = itertools.tee(orders)
    arrived = arriving(order.source for order in ahead)
    is_end = False
    while not is_end:
        outcomes: list[Outcome] = []
        placed: list[Outcome] = []
        due = perf_counter() + INTERVAL
        share = None if report is None else _Share(report)
        try:
            with modes.use(*settings.mode), collecting_warnings() as caught:
                while perf_counter() < due:
                    order = next(left, None)
                    if order is None:
                        is_end = True
                        break
                    next(arrived)
                    placed.clear()
                    outcomes.append(_outcome(order, settings, caught, share, placed))
                    if settings.fail_fast and outcomes[-1].cause is not None:
                        is_end = True
                        break
        except BaseException:
            yield outcomes + [each for each in placed if each not in outcomes[-1:]]
            raise
        yield outcomes


def _outcome(
    order: FileOrder, settings: Settings, caught: list[CaughtWarning], share: _Share | None, placed: list[Outcome]
) -> Outcome:
    """Convert one file, and return its outcome.

    If this is interrupted after the file got its name, `placed` has the outcome.
    """
    begin = perf_counter()
    caught.clear()
    unique = f"{settings.work}/{os.getpid():x}-{next(_numbers):x}"
    staged = unique + settings.suffix if settings.is_one_file else f"{unique}/{os.path.basename(order.target)}"

    def outcome(cause: str | None, size: int = 0, stamp: tuple[int, int] = (0, 0)) -> Outcome:
        warnings = tuple((kind, text.replace(staged, order.target)) for kind, text in caught)
        return Outcome(order.number, cause, perf_counter() - begin, size, stamp, warnings)

    try:
        if share is not None:
            share.begin(order.size)
        _convert(order, staged, settings, caught, share, placed, partial(outcome, None))
        return placed[0]
    except Exception as error:  # noqa: BLE001 - a fault of one file must not end the others
        placed.clear()
        return outcome(cause_of(error, path_text(order.source)).replace(on_one_line(staged), on_one_line(order.target)))


class _Share:
    """Converts progress of data in memory to progress in bytes of files."""

    def __init__(self, report: Callable[[float], None]):
        self._report = report
        self._before = self._size = 0

    def begin(self, size: int) -> None:
        """Start a file of `size` bytes. Earlier files are done."""
        self._before += self._size
        self._size = size

    def __call__(self, done: int, total: int) -> None:
        self._report(self._before + self._size * done / max(total, 1))


def all_of(orders: list[FileOrder], settings: Settings) -> list[Outcome]:
    """Convert files one after another, and return their outcomes; for executors."""
    return [outcome for some in carried_out(orders, settings) for outcome in some]


def _convert(
    order: FileOrder,
    staged: str,
    settings: Settings,
    caught: list[CaughtWarning],
    progress: Progress | None,
    placed: list[Outcome],
    outcome: Callable[[int, tuple[int, int]], Outcome],
) -> None:
    """Convert, compare and rename one file; add its outcome, made of the size of the output and the stamp of the input.

    It is added before the file gets its name, and taken back if it does not: an interruption may come at any moment.
    """
    before = _settled(order.source)
    if not settings.is_one_file:
        os.mkdir(os.path.dirname(staged), 0o700)
    try:
        if settings.is_one_file:
            settings.part.convert(order.source, staged, progress, atomic=False)
        else:
            settings.part.convert(order.source, staged, progress)
        if settings.verify:
            if isinstance(order.source, Address):  # an input that is local is compared below
                _check_unchanged(order.source, before, _settled(order.source))
            with settings.part.opened(order.source, verify=True) as part:
                coded = {name: settings.part.options.get(name) for name in ("times", "widen")}
                compare(part, staged, jd=settings.part.jd, lossy=bool(caught), **coded)
        if isinstance(order.source, str):  # of other files, each answer was compared
            _check_unchanged(order.source, before, Stamp.of_path(order.source))
        stamp = before.size, before.mtime if isinstance(order.source, str) else version_number(before)
        placed.append(outcome(size_of(staged), stamp))
        address = settings.address(order.target)
        if address is not None:
            _upload(staged, address, order.exists)
        else:
            (_move if settings.is_one_file else _publish)(staged, order.target, order.exists)
    except BaseException:
        if settings.place is not None or not settings.is_one_file or os.path.lexists(staged):
            placed.clear()
        with contextlib.suppress(OSError):
            os.unlink(staged)
        if not settings.is_one_file:
            shutil.rmtree(os.path.dirname(staged), ignore_errors=True)
        raise


def _check_unchanged(path: Location, before: Stamp, after: Stamp) -> None:
    if after != before:
        raise ReplacedError("the file was changed while it was converted", path=path)


def _settled(path: Location) -> Stamp:
    """Return the stamp of a file, when it is so old that any later change gets another time.

    For a file that is elsewhere, return size and version. Opening it then takes the bytes that came with these. A
    folder has those of the file that marks it.
    """
    if isinstance(path, Address):
        try:
            body = path.open(FIRST_SIZE)
        except OSError:
            found = drivers.of_folder_elsewhere(path)
            if found is None:
                raise
            body = found[1]
        else:
            path.keep(body)
        return body.watch.stamp or Stamp(body.size, 0, b"", "", 0)
    for _ in range(LOOKS):
        stamp = Stamp.of_path(path)
        age = time_ns() - stamp.mtime
        if not 0 <= age < STEP:
            return stamp
        sleep((STEP - age) / 1e9)
    raise ReplacedError("the file is being written", path=path)


def _publish(staged: str, target: str, exists: bool) -> None:
    """Rename a finished container. If it consists of several files, its driver replaces all of them together."""
    publish = drivers.load(drivers.find(target)).publish
    if publish is not None:
        os.makedirs(os.path.dirname(target), exist_ok=True)
        publish(staged, target, _replace)
    else:
        _move(staged, target, exists)
    shutil.rmtree(os.path.dirname(staged))


def _upload(staged: str, target: Address, exists: bool) -> None:
    """Upload a finished file, which must not exist there unless `exists`."""
    target.uploader(create=not exists)(staged)
    os.unlink(staged)


def _move(staged: str, target: str, exists: bool) -> None:
    """Rename a finished file, with the permissions of the file that it replaces."""
    if exists:
        target = os.path.realpath(target)
        with contextlib.suppress(FileNotFoundError):  # a broken link
            os.chmod(staged, os.stat(target).st_mode & 0o7777)
    try:
        _replace(staged, target)
    except FileNotFoundError:
        os.makedirs(os.path.dirname(target), exist_ok=True)
        _replace(staged, target)


def _replace(staged: str, target: str) -> None:
    """Do the same as `os.replace`, also on another disk, and for a folder that replaces one that is a dataset."""
    try:
        if os.path.isdir(staged):
            _folder_target(target)
            place_folder(staged, target)
        else:
            os.replace(staged, target)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        _copied(staged, target)


def _folder_target(path: str) -> FolderTarget:
    return FolderTarget(path, replaces=lambda folder: drivers.of_folder(folder) is not None)


def _copied(staged: str, target: str) -> None:
    """Do the same as `_replace`, for a target on another disk."""
    there = _folder_target(target) if os.path.isdir(staged) else Target(target)
    try:
        if isinstance(there, FolderTarget):
            shutil.copytree(staged, there.create(), dirs_exist_ok=True)
        else:
            with os.fdopen(there.create(), "wb") as out, open(staged, "rb") as file:
                shutil.copyfileobj(file, out)
        there.commit()
    except BaseException:
        there.abort()
        raise
    shutil.rmtree(staged) if os.path.isdir(staged) else os.unlink(staged)


def compare(part: Subset, written: str, *, jd: bool = False, lossy: bool = False, **coded: Any) -> None:
    """Check that a file equals its source.

    Parameters
    ----------
    part : Subset
        The source.
    written : str
        The file.
    jd : bool
        Whether times were read as Julian dates.
    lossy : bool
        Whether a warning has reported that the file does not contain everything.
    **coded
        Options of writing `times` and `widen`; see `creation.create_sink`.

    Raises
    ------
    IntegrityError
        If something differs.
    """
    format = drivers.find(written)
    exact, shaped = format.is_exact, format.is_shaped
    coding = Coding(part.meta, format, part.source.meta, **coded)
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


class collecting_warnings:
    """Collect the warnings of the current thread in a `with` block.

    `warnings.catch_warnings` affects the whole process. So the first thread installs a handler for all warnings, and
    the last one restores the state before. Warnings of other threads are shown as before.
    """

    def __enter__(self) -> list[CaughtWarning]:
        with _lock:
            if not _caught:
                saved = warnings.catch_warnings()
                saved.__enter__()
                _saved.append(saved)
                warnings.simplefilter("always", UserWarning)  # other categories are for developers of the program
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
