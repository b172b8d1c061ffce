"""Records in a datadings dataset: samples.

A sample has the entry `key`, and one for each variable that has the dimension, without that dimension::

    {"key": "0", "time": 6.0, "pressure": array of (lat, lon), "pressure.mask": array of bool, "name": "Brno"}

Numbers are NumPy scalars of their type; int64, float64 and booleans are those of msgpack; text and byte strings are
what they are, in lists where a record has several. A missing value is nil; for arrays of numbers the entry with
`.mask` says which values are missing, in all samples of a variable that has any. The companion is the file `D.meta` of
the data file D::

    columns.py           arrays ↔ values of samples
    reading.py           samples → records
    writing.py           records → samples
    companion_file.py    the file `D.meta`
    check.py             what is wrong with all these files
"""

from __future__ import annotations

from typing import Any

from ....datadings.claim import publish
from ....datadings.writer import reindex
from ..source import RecordSource
from .check import check
from .reading import SampleRecords
from .writing import SampleSink as create

__all__ = ["check", "create", "open", "publish", "reindex"]


def open(path: Any, *, skip_unsupported: bool = False) -> RecordSource:
    """Open a datadings dataset.

    Parameters
    ----------
    path : str, bytes or PathLike
    skip_unsupported : bool
        See `RecordSource`.

    Raises
    ------
    OSError
        If there is no such file, or no index of it.
    FormatError
        If it is damaged; the message names the file and the sample.
    """
    return RecordSource(SampleRecords(path), skip_unsupported=skip_unsupported)
