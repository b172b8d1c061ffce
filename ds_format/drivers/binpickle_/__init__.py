"""BinPickle: a dataset as a Python object with mappable arrays.

::

    {"x": array, "y": masked array, "name": "text", ..., ".": {"x": {".dims": [...], attribute: value}, ".": {...}}}

Any program with Python and NumPy can load it by `pickle`, without this package::

    numbers, booleans      arrays out of band, little-endian, in C order
    missing values         `numpy.ma.MaskedArray(data, mask)`, both arrays out of band, 0 where a value is missing
    text, byte strings     arrays of objects, in the pickle
    no dimensions          NumPy's scalars, `str`, `bytes`
    no data                None
    metadata               as from `ds_format.read`

All files are read by the machine that runs no code::

    sink.py
    foreign.py    objects of other programs, such as pandas → variables
    source.py     also the check of a file for `verify`
"""

from __future__ import annotations

from .sink import BinPickleSink as create
from .source import BinPickleSource as open, check

__all__ = ["check", "create", "open"]
