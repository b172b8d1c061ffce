"""Records: a dataset as samples or documents, one for each position along one dimension, and back.

Everything that is the same for all records is in a sidecar file: a ds file of the whole dataset in which that one
dimension has the size 0. It has the variables without the dimension, all attributes, types, names and the order. So
the data are plain for other programs, and nothing is lost here. The sidecar file identifies its data. Without it, or
next to other data, variables are inferred from the records, as with data of other programs. Shared by all containers::

    sidecar.py     everything that is the same for all records
    schema.py      records of other programs → variables
    columns.py     arrays ↔ values of records
    sink.py  source.py

and the two drivers::

    datadings.py   samples of msgpack: arrays of each type
    zds.py         documents of JSON: numbers, text, and lists of these
"""
