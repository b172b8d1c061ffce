r"""Text of files for the eyes: what a terminal would obey is told, and not sent.

These are the control characters of ASCII and Latin-1 but LF and TAB, those which turn the direction of writing, and
separators of lines. Halves of surrogate pairs, which no stream takes, are among them. Each becomes what Python writes
for it: `\x1b`, `\u202e`.
"""

import re
from collections.abc import Sequence

_OBEYED = (
    "[\\x00-\\x08\\x0b-\\x1f\\x7f-\\x9f"
    "\\u061c\\u200e\\u200f\\u2028-\\u202e\\u2066-\\u2069"  # marks, separators, embeddings and isolates
    "\\ud800-\\udfff]"
)


def visible(text: str) -> str:
    r"""Return text with escapes for all that a terminal would obey.

    Examples
    --------
    >>> print(visible("a\x1b[31m b\u202ec"))
    a\x1b[31m b\u202ec
    """
    return re.sub(_OBEYED, _escape, text)


def on_one_line(text: str) -> str:
    r"""Return text as `visible` does, with escapes also for LF and TAB: a line stays a line.

    Examples
    --------
    >>> print(on_one_line("a\tb\x1b[31m"))
    a\tb\x1b[31m
    """
    return text if text.isprintable() else visible(text).replace("\n", "\\n").replace("\t", "\\t")


def counted(paths: Sequence[str], message: str) -> str | None:
    """Return a line with a message about the first of some paths and the number of the others; None without paths.

    Examples
    --------
    >>> counted(["a.txt", "b.txt"], "left out")
    'a.txt: left out, and 1 more'
    """
    if not paths:
        return None
    more = f", and {len(paths) - 1} more" if len(paths) > 1 else ""
    return on_one_line(f"{paths[0]}: {message}{more}")


def _escape(match: re.Match[str]) -> str:
    return ascii(match[0])[1:-1]
