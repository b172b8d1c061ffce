"""The body of a remote file: the bytes that are known, and requests for the others."""

from __future__ import annotations

import bisect
import contextlib
import errno
import functools
import itertools
import queue
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from ...base.threads import renew_lock
from ...errors import ReplacedError, TruncatedError
from ..body import Body, MemoryBody, ended, parts_of
from ..stamp import REPLACED, Stamp, Watch
from .settings import RequestSettings, current
from .stores import Answer, Store, repeated

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

T = TypeVar("T")

MAX_ANSWERS = 1000
"""Short answers that are continued; a server may send a byte in each."""
MAX_PLANS = 4
"""Announcements of which bytes are kept that were not read yet."""

Spans = list[tuple[int, int]]
"""Ranges of bytes: from, and up to (exclusive)."""


class RemoteWatch(Watch):
    """The stamp of a remote file. There is nothing to compare it with: each answer is compared."""

    __slots__ = ()

    def check(self) -> None:
        """Do nothing."""


def remote_stamp(size: int, version: str) -> Stamp:
    """Return the stamp of a remote file; the version is in place of a digest."""
    return Stamp(size, 0, version.encode(), "", 0)


class HeldBody(MemoryBody):
    """A remote file that came whole with the first request, or a part of it."""

    __slots__ = ("watch",)
    is_elsewhere = True

    @classmethod
    def of(cls, name: str, data: Any, version: str) -> HeldBody:
        """Return the body of a whole file."""
        body = cls(name, data)
        body.watch = RemoteWatch(name, remote_stamp(len(data), version))
        return body

    def section(self, offset: int, size: int | None = None) -> HeldBody:
        """Return a part of the same memory."""
        part = super().section(offset, size)
        part.watch = self.watch
        return part


class _Piece:
    """A range of bytes that is requested at once."""

    __slots__ = ("data", "left", "start", "stop")

    def __init__(self, start: int, stop: int):
        self.start = start
        self.stop = stop
        self.left = 0
        """Bytes that were announced, and not read yet. The piece is dropped when there are none."""
        self.data: memoryview | None = None


class _Plan:
    """Ranges of bytes that will be read, as pieces to request."""

    def __init__(self, spans: Spans, settings: RequestSettings):
        self.pieces: list[_Piece] = []
        near: Spans = []
        end = 0
        for start, stop in sorted(spans):
            if near and start > end + settings.gap:
                self._add(near, end, settings.piece)
                near = []
            near.append((start, stop))
            end = max(end, stop) if len(near) > 1 else stop
        if near:
            self._add(near, end, settings.piece)
        self.starts = [piece.start for piece in self.pieces]

    def _add(self, spans: Spans, end: int, most: int) -> None:
        """Add the pieces of ranges that are close to each other."""
        first = spans[0][0]
        pieces = [_Piece(start, min(start + most, end)) for start in range(first, end, most)]
        for start, stop in spans:
            for i in range((start - first) // most, (stop - 1 - first) // most + 1):
                piece = pieces[i]
                piece.left += min(stop, piece.stop) - max(start, piece.start)
        self.pieces += [piece for piece in pieces if piece.left]

    def at(self, position: int) -> int | None:
        """Return the number of the piece that has a byte."""
        i = bisect.bisect_right(self.starts, position) - 1
        return i if i >= 0 and position < self.pieces[i].stop and self.pieces[i].left > 0 else None


class Fetcher:
    """An open remote file.

    Parameters
    ----------
    name : str
        For messages.
    store : Store
    size : int
        Size of the file in bytes.
    version : str
        Its version, with which that of each answer is compared; empty if it has none.
    known : iterable of (int, buffer)
        Bytes that are known, and where they begin.
    """

    def __init__(self, name: str, store: Store, size: int, version: str, known: Iterable[tuple[int, Any]] = ()):
        self.name = name
        self.size = size
        self.version = version
        self.settings = current()
        self._store = store
        self._known = [(start, memoryview(data)) for start, data in known if len(data)]
        self._plans: deque[_Plan] = deque(maxlen=MAX_PLANS)
        self._lock = threading.Lock()
        renew_lock(self, threading.Lock)

    def announce(self, spans: Iterable[tuple[int, int]]) -> None:
        """Note which bytes will be read next. They are requested as soon as one of them is read."""
        with self._lock:
            missing = [gap for start, stop in spans for gap in self._missing(start, min(stop, self.size))]
            if missing:
                self._plans.append(_Plan(missing, self.settings))

    def fill(self, parts: Sequence[tuple[int, memoryview]]) -> None:
        """Fill buffers with bytes of the file; those that are not known come side by side.

        Parameters
        ----------
        parts : sequence of (int, memoryview)
            Position in the file, and the buffer.

        Raises
        ------
        TruncatedError
            If the file ends before.
        ReplacedError
            If the file was replaced since it was opened.
        OSError
            If it cannot be read.
        """
        for start, out in parts:
            if start + len(out) > self.size:
                raise ended(self.name, start, len(out), self.size)
        with self._lock:
            missing = [gap for start, out in parts for gap in self._missing(start, start + len(out))]
        own = _Plan(missing, self.settings) if missing else None
        for start, out in parts:
            at = 0
            while at < len(out):
                at += self._copy(start + at, out[at:], own)

    def known(self, start: int, size: int) -> list[tuple[int, memoryview]]:
        """Return the bytes of a part of the file that came when it was opened, and where they begin in this part."""
        found: list[tuple[int, memoryview]] = []
        for first, data in self._known:
            begin = max(first, start + (found[-1][0] + len(found[-1][1]) if found else 0))
            part = data[begin - first : max(start + size - first, 0)] if begin < first + len(data) else data[:0]
            if len(part):
                found.append((begin - start, part))
        return found

    def view(self, start: int, size: int) -> memoryview | None:
        """Return bytes if they are known in one piece of memory."""
        for first, data in self._known:
            if first <= start and start + size <= first + len(data):
                return data[start - first : start - first + size]
        return None

    def _missing(self, start: int, stop: int) -> Spans:
        """Return the ranges between two positions of which nothing is known, and which no plan has."""
        missing: Spans = []
        while start < stop:
            end = self._end_of_known(start)
            if end is not None:
                start = end
                continue
            end = min([stop, *(first for first, _ in self._known if first > start)])
            for plan in self._plans:
                i = bisect.bisect_right(plan.starts, start)
                if i < len(plan.starts):
                    end = min(end, plan.starts[i])
            missing.append((start, end))
            start = end
        return missing

    def _end_of_known(self, position: int) -> int | None:
        for first, data in self._known:
            if first <= position < first + len(data):
                return first + len(data)
        for plan in self._plans:
            i = plan.at(position)
            if i is not None:
                return plan.pieces[i].stop
        return None

    def _copy(self, position: int, out: memoryview, own: _Plan | None) -> int:
        """Copy bytes from one source to a buffer, and return how many."""
        for first, data in self._known:
            if first <= position < first + len(data):
                return _copied(data[position - first :], out)
        with self._lock:
            for plan in self._plans:
                i = plan.at(position)
                if i is not None:
                    return self._take(plan, i, position, out)
        i = None if own is None else own.at(position)
        if own is None or i is None:  # another thread has read it, and dropped the piece
            own = _Plan([(position, position + min(len(out), self.settings.piece))], self.settings)
            i = 0
        return self._take(own, i, position, out)

    def _take(self, plan: _Plan, i: int, position: int, out: memoryview) -> int:
        piece = plan.pieces[i]
        if piece.data is None:
            self._request(plan, i)
        if piece.data is None:
            raise self.replaced("the file ends before its size")
        n = _copied(piece.data[position - piece.start :], out)
        piece.left -= n
        if piece.left <= 0:
            piece.data = None
        return n

    def _request(self, plan: _Plan, i: int) -> None:
        """Request a piece, and as many of those that follow as may be in memory at a time."""
        spare = self.settings.lanes * self.settings.piece
        pieces: list[_Piece] = []
        for piece in plan.pieces[i:]:
            spare -= piece.stop - piece.start
            if pieces and spare < 0:
                break
            if piece.data is None and piece.left > 0:
                pieces.append(piece)
        side_by_side([functools.partial(self._fetch, piece) for piece in pieces], self.settings.lanes)
        after = self._store.now()
        if after is not None:
            self._compare(after)

    def _fetch(self, piece: _Piece) -> None:
        """Request one piece. A short answer is continued where it ended."""
        found: list[Any] = []
        at = piece.start
        end = time.monotonic() + self.settings.total
        while at < piece.stop:
            if len(found) >= MAX_ANSWERS or time.monotonic() > end:
                message = f"bytes {piece.start} to {piece.stop}: not complete after {len(found)} short answers"
                raise OSError(errno.ETIMEDOUT, message, self.name)
            what = f"bytes {at} to {piece.stop}"
            answer = repeated(functools.partial(self._store.get, at, piece.stop), self.name, what)
            self._compare(answer)
            data = memoryview(answer.data)[: piece.stop - at]
            if not len(data):
                raise TruncatedError(
                    f"{what}: the answer is empty, expected a file of {self.size} bytes", path=self.name
                )
            found.append(data)
            at += len(data)
        piece.data = memoryview(found[0] if len(found) == 1 else b"".join(found))

    def _compare(self, answer: Answer) -> None:
        """Compare size and version in an answer with those of the file that was opened."""
        if answer.size is not None and answer.size != self.size:
            raise self.replaced(f"found {answer.size} bytes, expected {self.size}")
        if answer.version is not None and answer.version != self.version:
            raise self.replaced("its version differs" if answer.version else "it has no version any more")

    def replaced(self, what: str) -> ReplacedError:
        """Return the error for a file that is not the one that was opened."""
        return ReplacedError(f"{REPLACED}: {what}; open it again", path=self.name)


def _copied(source: memoryview, out: memoryview) -> int:
    n = min(len(source), len(out))
    out[:n] = source[:n]
    return n


class RemoteBody(Body):
    """A remote file that did not come whole with the first request, or a part of it.

    Parameters
    ----------
    fetcher : Fetcher
    start, size : int
        Which bytes of the file.
    """

    __slots__ = ("_fetcher", "name", "size", "start", "watch")
    is_elsewhere = True
    is_far = True

    def __init__(self, fetcher: Fetcher, start: int, size: int):
        self._fetcher = fetcher
        self.name = fetcher.name
        self.start = start
        self.size = size
        self.watch = RemoteWatch(fetcher.name, remote_stamp(fetcher.size, fetcher.version))

    @property
    def gap(self) -> int:  # type: ignore[override]
        """Bytes between two ranges that are read as one."""
        return self._fetcher.settings.gap

    @property
    def batch(self) -> int:  # type: ignore[override]
        """Bytes of one request at most."""
        return self._fetcher.settings.piece

    @property
    def at_hand(self) -> list[tuple[int, Any]]:
        """Bytes that came when the file was opened, and where they begin."""
        return [*self._fetcher.known(self.start, self.size)]

    def section(self, offset: int, size: int | None = None) -> RemoteBody:
        """Return a part of the same file."""
        if size is None:
            size = max(self.size - offset, 0)
        return RemoteBody(self._fetcher, self.start + offset, size)

    def read(self, offset: int, size: int) -> Any:
        """Return a buffer."""
        found = self._fetcher.view(self.start + offset, size)
        if found is not None:
            return found
        if self.start + offset + size > self._fetcher.size:
            raise ended(self.name, self.start + offset, size, self._fetcher.size)
        out = bytearray(size)
        self.read_into(offset, out)
        return out

    def read_into(self, offset: int, out: Any) -> None:
        """Fill a buffer."""
        target = memoryview(out)
        if target.nbytes:
            self._fetcher.fill([(self.start + offset, target.cast("B"))])

    def ranges(self, offsets: NDArray[np.int64], sizes: NDArray[np.int64], outs: list[Any]) -> None:
        """Fill buffers with ranges, merged where they are close, and requested side by side."""
        self._fetcher.fill([*parts_of(offsets + self.start, sizes, outs)])

    def announce(self, offsets: NDArray[np.int64], sizes: NDArray[np.int64]) -> None:
        """Note which ranges will be read next."""
        starts = (offsets + self.start).tolist()
        self._fetcher.announce(zip(starts, (offsets + self.start + sizes).tolist(), strict=True))


def open_remote(name: str, store: Store, first: int, last: int = 0) -> Body:
    """Open a file with one request, or two side by side.

    Parameters
    ----------
    name : str
        For messages.
    store : Store
    first, last : int
        Bytes from the start and from the end of the file.

    Returns
    -------
    HeldBody or RemoteBody
        The first one if these bytes are the whole file.
    """
    answers: dict[str, Any] = {}

    def get_first() -> None:
        answers["first"] = repeated(lambda: store.first(first), name, f"bytes 0 to {first}")

    def get_last() -> None:
        try:
            answers["last"] = store.last(last)
        except OSError:  # the bytes are requested again if they are needed
            answers["last"] = None

    side_by_side([get_first, get_last] if last else [get_first], 2)
    answer: Answer = answers["first"]
    size = len(answer.data) if answer.size is None else answer.size
    if len(answer.data) >= size:
        data = answer.data if isinstance(answer.data, (bytes, bytearray)) else bytes(answer.data)
        return HeldBody.of(name, data, answer.version or "")
    known = [(0, answer.data)]
    if answers.get("last") is not None:
        start, tail = answers["last"]
        if (tail.size, tail.version) == (size, answer.version):
            known.append((start, tail.data))
    return RemoteBody(Fetcher(name, store, size, answer.version or "", known), 0, size)


def side_by_side(tasks: Sequence[Callable[[], object]], lanes: int) -> None:
    """Call functions in threads, at most `lanes` at a time, and raise the first exception of any of them."""
    if len(tasks) == 1:
        tasks[0]()
        return
    for _ in in_order(tasks, lanes, len(tasks)):
        pass


def in_order(tasks: Iterable[Callable[[], T]], lanes: int, ahead: int) -> Iterator[T]:
    """Call functions in threads, at most `lanes` at a time, and yield their results in the order of the functions.

    The first exception of any of them is raised. The threads are daemons: Ctrl-C ends the program at once, whatever
    they are waiting for.

    Parameters
    ----------
    tasks : iterable of callable
    lanes : int
    ahead : int
        Maximum number of functions that are called before their results are requested.
    """
    left, given, taken, n_lanes = iter(tasks), 0, 0, 0
    todo: queue.SimpleQueue[tuple[int, Callable[[], T]] | None] = queue.SimpleQueue()
    results: queue.SimpleQueue[tuple[int, Any, BaseException | None]] = queue.SimpleQueue()
    done: dict[int, T] = {}

    def work() -> None:
        while (item := todo.get()) is not None:
            number, task = item
            try:
                results.put((number, task(), None))
            except BaseException as error:  # noqa: BLE001 - raised by the thread that waits
                results.put((number, None, error))

    try:
        while True:
            for task in itertools.islice(left, ahead - (given - taken)):
                todo.put((given, task))
                given += 1
                if n_lanes < lanes:
                    threading.Thread(target=work, name=f"ds_format lane {n_lanes}", daemon=True).start()
                    n_lanes += 1
            if taken == given:
                return
            while taken not in done:
                number, result, error = results.get()
                if error is not None:
                    raise error
                done[number] = result
            yield done.pop(taken)
            taken += 1
    finally:
        with contextlib.suppress(queue.Empty):
            while True:
                todo.get_nowait()
        for _ in range(n_lanes):
            todo.put(None)
