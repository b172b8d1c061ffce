"""The two forms of a name: as people know it, and as a key of a dataset."""

from __future__ import annotations

from collections.abc import Iterable
from typing import overload


@overload
def escape(name: str) -> str: ...


@overload
def escape(name: None) -> None: ...


def escape(name: str | None) -> str | None:
    r"""Return the key of a variable or attribute: a name that begins with `.` or ``\`` gets one ``\`` before it.

    Keys that begin with a bare `.` are thereby free for properties (ds-1.0, name escaping). None stays None.

    Examples
    --------
    >>> print(escape(".hidden"), escape("time"))
    \.hidden time
    """
    return None if name is None else "\\" + name if name.startswith((".", "\\")) else name


@overload
def unescape(name: str) -> str: ...


@overload
def unescape(name: None) -> None: ...


def unescape(name: str | None) -> str | None:
    r"""Return the name behind a key made by `escape`; a ``\`` before any other character stays.

    None stays None.

    Examples
    --------
    >>> unescape(escape(".hidden"))
    '.hidden'
    """
    return None if name is None else name[1:] if name.startswith(("\\.", "\\\\")) else name


def keys_of(variables: str | Iterable[str]) -> dict[str, None]:
    """Return the keys of variables, each once, in their order."""
    if isinstance(variables, str):
        return {escape(variables): None}
    return dict.fromkeys(map(escape, variables))
