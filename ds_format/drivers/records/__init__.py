"""Records: a dataset as samples of a datadings dataset, one for each position along one dimension, and back.

A sample has the entry `key`, and one for each variable that has the dimension, without that dimension::

    {"key": "0", "time": 6.0, "pressure": array of (lat, lon), "pressure.mask": array of bool, "name": "Brno"}

Numbers are NumPy scalars of their type; int64, float64 and booleans are those of msgpack; text and byte strings are
what they are, in lists where a record has several. A missing value is nil; for arrays of numbers the entry with
`.mask` says which values are missing, in all samples of a variable that has any.

What is the same for all records stands in the companion `D.meta`, a ds file of the whole dataset in which that one
dimension has the size 0: variables without the dimension, all attributes, types, names and order. So the data are a
plain dataset for other programs, and nothing is lost here. The companion knows the data that it belongs to; without it,
or beside other data, the variables are inferred from the samples, as with datasets of other programs::

    companion.py  the file `D.meta`
    plan.py       which variables become records, along which axis, and what their keys are
    columns.py    arrays ↔ values of samples
    schema.py     samples of other programs → variables
    sink.py  source.py
    check.py      what is wrong with all these files
"""

from __future__ import annotations

from ...datadings.reindex import reindex
from .check import check
from .sink import RecordSink as create
from .source import RecordSource as open

__all__ = ["check", "create", "open", "reindex"]
