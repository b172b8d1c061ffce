"""Values of attributes as text on one line."""

from __future__ import annotations

from typing import Any

from ...base.wording import on_one_line

MAX_TEXT = 120
"""Characters of a value, unless all are wanted."""
MAX_ITEMS = 8
"""Items of an array, unless all are wanted."""


def shown(value: Any, *, is_long: bool = False, limit: int = MAX_TEXT) -> tuple[str, bool]:
    r"""Return a value as text, with escapes for what a terminal would obey, and whether it was cut.

    Parameters
    ----------
    value : object
        As drivers have it: text, numbers, lists, objects of JSON, scalars and arrays of NumPy.
    is_long : bool
        Whether all of it is wanted. Otherwise blanks and ends of lines in a text become one blank each.
    limit : int
        Characters, unless all are wanted.

    Examples
    --------
    >>> shown("made by\n\x1b[31mme"), shown([1.0, 2.5]), shown(list(range(12)))
    (('made by \\x1b[31mme', False), ('1.0, 2.5', False), ('0, 1, 2, 3, 4, 5, 6, 7, ... 12 in all', True))
    """
    if isinstance(value, bytes):
        value = value.decode("utf-8", "surrogateescape")
    if isinstance(value, str):
        start = value if is_long else " ".join(value[: 4 * limit].split())
        text, is_cut = on_one_line(start), len(value) > 4 * limit and not is_long
    else:
        text, is_cut = _of_items(value, is_long)
        text = on_one_line(text)
    if is_long or (len(text) <= limit and not is_cut):
        return text, False
    return text if text.endswith(" in all") and len(text) <= limit else f"{text[: limit - 3]}...", True


def _of_items(value: Any, is_long: bool) -> tuple[str, bool]:
    """Return the text of numbers, lists and objects, and whether items were left out."""
    if getattr(value, "ndim", 0):
        value = list(value.reshape(-1))
    if not isinstance(value, (list, tuple)):
        return _of_one(value), False
    told = value if is_long else value[:MAX_ITEMS]
    text = ", ".join(map(_of_one, told))
    if len(told) < len(value):
        return f"{text}, ... {len(value)} in all", True
    return text or "[]", False


def _of_one(value: Any) -> str:
    if isinstance(value, bool) or value is None:
        return {None: "none", True: "true", False: "false"}[value]
    if isinstance(value, bytes):
        return value.decode("utf-8", "surrogateescape")
    return str(value)
