"""A sample → what can be printed, shortened if wanted."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...errors import UnsupportedError

VALUES = 8
"""Values of an array that are still printed where long texts are cut."""


def shown(value: Any, limit: int | None) -> Any:
    """Return a value made of what `output.plain` knows.

    Parameters
    ----------
    value : object
        As messages are decoded.
    limit : int, optional
        Characters of a text or bytes; then larger arrays become a text of type and shape.

    Raises
    ------
    UnsupportedError
        If lists and dictionaries are too deeply inside of one another.
    """
    try:
        return _shown(value, limit)
    except RecursionError:
        raise UnsupportedError("lists and maps are too deeply inside of one another to be shown") from None


def _shown(value: Any, limit: int | None) -> Any:
    if isinstance(value, dict):
        return {_key(name, value): _shown(part, limit) for name, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_shown(part, limit) for part in value]
    if isinstance(value, (str, bytes)):
        return _cut(value, limit)
    if isinstance(value, np.ndarray) and limit is not None and value.size > VALUES:
        return described(value)
    if isinstance(value, (np.ndarray, np.generic)):
        return _shown(value.tolist() if value.dtype.kind not in "mM" else value.astype(str).tolist(), limit)
    if value is None or isinstance(value, (bool, int, float)):
        return value
    return str(value)


def _key(name: Any, among: dict[Any, Any]) -> str:
    """Return the text of a key, which that of no other one is: a map may have 1 as well as "1"."""
    if isinstance(name, str):
        return name
    text = repr(name)
    while text in among:
        text += f" ({type(name).__name__})"
    return text


def _cut(value: Any, limit: int | None) -> Any:
    if limit is None or len(value) <= limit:
        return value
    return value[:limit] + ("..." if isinstance(value, str) else b"...")


def described(value: Any) -> str:
    """Return the type of a value in words, and the shape of an array."""
    if isinstance(value, np.ndarray):
        return f"{value.dtype} {list(value.shape)}"
    return str(value.dtype) if isinstance(value, np.generic) else type(value).__name__
