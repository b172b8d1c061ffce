"""The two forms of a name: as people know it, and as a key of a dataset."""

from __future__ import annotations


def escape(name: str) -> str:
    r"""Return the key of a variable or attribute: a name that begins with `.` or ``\`` gets one ``\`` before it.

    Keys that begin with a bare `.` are thereby free for properties (ds-1.0, name escaping).
    """
    return "\\" + name if name.startswith((".", "\\")) else name


def unescape(key: str) -> str:
    r"""Return the name behind a key made by `escape`; a ``\`` before any other character stays."""
    return key[1:] if key.startswith(("\\.", "\\\\")) else key
