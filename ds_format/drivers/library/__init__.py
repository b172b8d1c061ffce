"""Formats that a library reads and writes: what those drivers have in common.

Kinds of values, names, storage and attributes are each format's own::

    lock.py      one thread at a time
    guard.py     the libraries' errors
    missing.py   numbers that mean "missing" ↔ masks
    extents.py   variables that are shorter than their dimensions
    groups.py    names with groups in them
    catalog.py   what a file holds
    reading.py   raw values → as ds has them
    source.py    a file as a Source
    plan.py      metadata → variables of a file
    encoding.py  strings → bytes
    spool.py     blocks to go through twice
    writing.py   one variable, slab by slab
    sink.py      a file as a Sink
"""
