"""Formats that a library reads and writes: what those drivers have in common.

Kinds of values, names, storage and attributes are each format's own::

    plan.py      metadata → variables of a file
    groups.py    names with groups in them
    encoding.py  strings → bytes
    spool.py     blocks to go through twice
    writing.py   one variable, slab by slab
    sink.py      a file as a Sink
"""
