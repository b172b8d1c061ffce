"""Text and HTML view of a dataset: from metadata, and what of data in memory is told at once.

What is shown may be a dataset that is not right: nothing here raises because metadata are missing or of a wrong kind.
No file is read, no list is converted, and of an array only some values are looked at.

::

    written.py  a value, a name, dimensions → short text
    preview.py  data in memory → some of their values, and the bytes of text
    view.py     a dataset or metadata → what is shown of it: View, with a Row of each variable
    plain.py    a View → lines of text
    page.py     a View → HTML
"""

from __future__ import annotations

from .page import html, html_of_meta
from .plain import text

__all__ = ["html", "html_of_meta", "text"]
"""How a dataset shows itself, and an open file or a variable of one."""
