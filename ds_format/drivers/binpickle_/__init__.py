"""BinPickle: a dataset as the object that it is in Python, its arrays mappable.

::

    {"x": array, "y": masked array, "name": "text", ..., ".": {"x": {".dims": [...], attribute: value}, ".": {...}}}

Any program with Python and NumPy has the same from `pickle`, which knows nothing of this package::

    numbers, booleans      arrays out of band, little-endian, in C order
    missing values         `numpy.ma.MaskedArray(data, mask)`, both arrays out of band, 0 where a value is missing
    text, byte strings     arrays of objects, in the pickle
    no dimensions          NumPy's scalars, `str`, `bytes`
    no data                None
    metadata               as `ds_format.read` returns them

All files are read by the machine that runs no code::

    sink.py
    foreign.py    objects of other programs, pandas among them → variables
    source.py     also what is wrong with a file beyond its variables
"""

from __future__ import annotations

from .sink import BinPickleSink as create
from .source import BinPickleSource as open, check

__all__ = ["check", "create", "open"]
