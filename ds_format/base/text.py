r"""Names as keys of a dataset, and text of messages: on one line, amounts with units, suggestions for misspelt names.

Characters that a terminal would interpret are replaced by escapes: control characters of ASCII and Latin-1 except LF
and TAB, marks that change the direction of text, and line separators. Lone surrogates are replaced, too, because no
stream can encode them. The escapes are those of Python: `\x1b`, `\u202e`.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Collection, Iterable, Sequence
from typing import overload

_OBEYED = (
    "[\\x00-\\x08\\x0b-\\x1f\\x7f-\\x9f"
    "\\u061c\\u200e\\u200f\\u2028-\\u202e\\u2066-\\u2069"  # marks, separators, embeddings and isolates
    "\\ud800-\\udfff]"
)
ABBREVIATED = 3
"""Characters that an abbreviation has at least, so that it can identify a name."""


def visible(text: str) -> str:
    r"""Return text with escapes for characters that a terminal would interpret.

    Examples
    --------
    >>> print(visible("a\x1b[31m b\u202ec"))
    a\x1b[31m b\u202ec
    """
    return re.sub(_OBEYED, _escape, text)


def on_one_line(text: str) -> str:
    r"""Return text like `visible`, with escapes for LF and TAB, too, so that it stays on one line.

    Examples
    --------
    >>> print(on_one_line("a\tb\x1b[31m"))
    a\tb\x1b[31m
    """
    return text if text.isprintable() else visible(text).replace("\n", "\\n").replace("\t", "\\t")


def counted(paths: Sequence[str], message: str) -> str | None:
    """Return a message about the first of some paths, and the number of the others. Without paths, return None.

    Examples
    --------
    >>> counted(["a.txt", "b.txt"], "left out")
    'a.txt: left out, and 1 more'
    """
    if not paths:
        return None
    more = f", and {len(paths) - 1} more" if len(paths) > 1 else ""
    return on_one_line(f"{paths[0]}: {message}{more}")


def bytes_of(n: float) -> str:
    """Return a number of bytes with three digits and a unit.

    Examples
    --------
    >>> bytes_of(999), bytes_of(22532), bytes_of(1_500_000)
    ('999 B', '22.5 kB', '1.5 MB')
    """
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if n < 999.5:
            return f"{n:.3g} {unit}"
        n /= 1000
    return f"{n:.3g} PB" if n < 999.5 else f"{n:.0f} PB"


def aligned(rows: Sequence[Sequence[str]], most: Sequence[int] = (), right: Collection[int] = ()) -> list[list[str]]:
    """Return the rows of a table with each cell as wide as its column.

    Parameters
    ----------
    rows : sequence of sequence of str
        All of the same length.
    most : sequence of int
        Maximum width, in characters, to which cells of the first columns are padded. Longer cells are not changed.
    right : collection of int
        Positions of columns that are aligned on the right.

    Examples
    --------
    >>> aligned([("a", "1"), ("long", "10")], most=(3,), right=(1,))
    [['a  ', ' 1'], ['long', '10']]
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    widths[: len(most)] = map(min, widths, most)
    pads = [str.rjust if i in right else str.ljust for i in range(len(widths))]
    return [[pad(cell, width) for cell, width, pad in zip(row, widths, pads, strict=True)] for row in rows]


def nearest(name: str, names: Iterable[str], least: float = 0.6) -> str | None:
    """Return the name that is most similar to `name`; None if no name is.

    A variable of the same name in a group is preferred. Next come names with a similarity of at least `least`, from 0
    to 1. Otherwise, the only name that begins with `name`, or with which `name` begins, is returned.

    Examples
    --------
    >>> nearest("temperatur", ["pressure", "temperature"])
    'temperature'
    >>> nearest("TIME", ["item", "time"])
    'time'
    >>> nearest("latitude", ["lat", "lon"])
    'lat'
    >>> nearest("DBZ", ["sweep_0/DBZ", "sweep_1/DBZ"])
    'sweep_0/DBZ'
    """
    others = list(names)
    in_groups = [other for other in others if "/" in other and other.rpartition("/")[2] == name.rpartition("/")[2]]
    if in_groups:
        return in_groups[0]
    folded = {other.lower(): other for other in reversed(others)}
    difflib = importlib.import_module("difflib")  # imported after a mistake only, because it takes long to load
    found = difflib.get_close_matches(name.lower(), folded, 1, least)
    if not found and len(name) >= ABBREVIATED:
        begun = (other for other in folded if len(other) >= ABBREVIATED)
        found = [other for other in begun if other.startswith(name.lower()) or name.lower().startswith(other)]
    return folded[found[0]] if len(found) == 1 else None


def hint(name: str, names: Iterable[str], least: float = 0.6) -> str:
    """Return the end of a message about a name that does not exist, which suggests another; "" if none is similar.

    Examples
    --------
    >>> hint("temperatur", ["pressure", "temperature"])
    ': did you mean temperature?'
    """
    found = nearest(name, names, least)
    return "" if found is None else f": did you mean {on_one_line(found)}?"


def _escape(match: re.Match[str]) -> str:
    return ascii(match[0])[1:-1]


@overload
def escape(name: str) -> str: ...


@overload
def escape(name: None) -> None: ...


def escape(name: str | None) -> str | None:
    r"""Return the key of a variable or attribute: a name that begins with `.` or ``\`` gets one ``\`` before it.

    Keys that begin with an unescaped `.` are reserved for properties (ds-1.0, name escaping). None stays None.

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
    r"""Return the name of a key made by `escape`. A ``\`` before any other character stays.

    None stays None.

    Examples
    --------
    >>> unescape(escape(".hidden"))
    '.hidden'
    """
    return None if name is None else name[1:] if name.startswith(("\\.", "\\\\")) else name


def keys_of(variables: str | Iterable[str]) -> dict[str, None]:
    """Return the keys of variables in their order, without duplicates."""
    if isinstance(variables, str):
        return {escape(variables): None}
    return dict.fromkeys(map(escape, variables))
