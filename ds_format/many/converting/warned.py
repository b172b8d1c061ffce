"""The warnings of each file, whatever thread converts it.

`warnings.catch_warnings` is the process's. So the first thread that begins has all warnings go by here, and the last
one restores what was. What other threads warn of meanwhile is shown as before.
"""

from __future__ import annotations

import threading
import warnings
from typing import Any

Warned = tuple[type[Warning], str]
"""Category and text of a warning."""

_lock = threading.Lock()
_taken: dict[int, list[Warned]] = {}
_saved: list[warnings.catch_warnings[Any]] = []


class noticing:
    """Take what the thread of a `with` block warns of."""

    def __enter__(self) -> list[Warned]:
        with _lock:
            if not _taken:
                saved = warnings.catch_warnings()
                saved.__enter__()
                _saved.append(saved)
                warnings.simplefilter("always", UserWarning)  # others are the concern of who wrote the program
                _route(warnings.showwarning)
            return _taken.setdefault(threading.get_ident(), [])

    def __exit__(self, *error: object) -> None:
        with _lock:
            del _taken[threading.get_ident()]
            if not _taken:
                _saved.pop().__exit__(None, None, None)


def _route(shown: Any) -> None:
    def take(message: Warning | str, category: type[Warning], *about: Any, **more: Any) -> None:
        told = _taken.get(threading.get_ident())
        if told is None:
            shown(message, category, *about, **more)
        else:
            told.append((category, str(message)))

    warnings.showwarning = take
