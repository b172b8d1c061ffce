"""How ranges of remote files are requested."""

from __future__ import annotations

from types import TracebackType
from typing import Any, NamedTuple


class RequestSettings(NamedTuple):
    """Settings of requests; see `remote`."""

    gap: int = 256 * 1024
    piece: int = 8 * 1024 * 1024
    lanes: int = 8
    timeout: float = 30.0
    retries: int = 3
    total: float = 300.0
    whole: int = 1 << 30


_current: list[RequestSettings] = [RequestSettings()]
"""The settings of the process: threads that request ranges have no context of their own."""


def current() -> RequestSettings:
    """Return the settings that apply now."""
    return _current[0]


class remote:
    """Set how remote files are read, from now on or for a `with` block.

    Parameters
    ----------
    gap : int, optional
        Ranges of a file at most this many bytes apart are read as one. By default 262144. A smaller gap reads fewer
        bytes with more requests.
    piece : int, optional
        Maximum size of a request in bytes. Larger ranges are divided. By default 8388608.
    lanes : int, optional
        Maximum number of requests of one read at the same time. By default 8.
    timeout : float, optional
        Seconds without any byte after which a request fails, all retries included. By default 30.
    retries : int, optional
        How often a request is repeated after a failure that may be temporary: a lost connection, a short answer, the
        status 429 or 5xx. By default 3.
    total : float, optional
        Seconds that one request to a web server may take, even if bytes arrive all the time. By default 300. A file
        that is read whole may take as long for each `piece`.
    whole : int, optional
        Maximum size in bytes of a file that is read whole, because its web server does not support ranges. By default
        1073741824.

    Raises
    ------
    ValueError
        If a setting is out of range.

    Examples
    --------
    >>> import ds_format as ds
    >>> with ds.remote(lanes=32, timeout=10):
    ...     ds.remote().settings.lanes
    32
    >>> ds.remote().settings.lanes
    8
    """

    def __init__(
        self,
        *,
        gap: int | None = None,
        piece: int | None = None,
        lanes: int | None = None,
        timeout: float | None = None,
        retries: int | None = None,
        total: float | None = None,
        whole: int | None = None,
    ):
        options: list[Any] = [gap, piece, lanes, timeout, retries, total, whole]
        given = {name: value for name, value in zip(RequestSettings._fields, options, strict=True) if value is not None}
        for name, value in given.items():
            least = 0 if name in ("gap", "retries") else 1
            is_time = name in ("timeout", "total")
            if not (value > 0 if is_time else value >= least):
                expected = "more than 0" if is_time else f"at least {least}"
                raise ValueError(f"{name}: found {value!r}, expected {expected}")
        self._before = current()
        self.settings = _current[0] = self._before._replace(**given)

    def __enter__(self) -> RequestSettings:
        return self.settings

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _current[0] = self._before
