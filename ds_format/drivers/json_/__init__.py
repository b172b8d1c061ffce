"""JSON: a dataset as the object that it is in Python, variables as nested lists, null where a value is missing.

::

    {"x": [1, null], ..., ".": {"x": {".dims": [...], ".type": ..., ".size": [...], attribute: value}, ".": {...}}}

`.type` and `.size` tell what the lists do not: the width of numbers, the shape of arrays without values, whether a text
stands for bytes. Files without them are read, too; the data decide. Bytes are the text that they are in UTF-8, with one
lone surrogate U+DC80...U+DCFF for each byte that is not (the error handler `surrogateescape` of Python), so that each
sequence of bytes has one text and each text at most one sequence.
"""

from __future__ import annotations

from .sink import JsonSink as create
from .source import JsonSource as open

__all__ = ["create", "open"]
