"""Records: a dataset as samples or documents, one for each position along one dimension, and back.

What is the same for all records stands in a companion, a ds file of the whole dataset in which that one dimension has
the size 0: variables without the dimension, all attributes, types, names and order. So the data are plain for other
programs, and nothing is lost here. The companion knows the data that it belongs to; without it, or beside other data,
the variables are inferred from the records, as with data of other programs. Shared by all containers::

    companion.py   what is the same for all records
    schema.py      records of other programs → variables
    columns.py     arrays ↔ values of records
    sink.py  source.py

and the two drivers::

    datadings.py   samples of msgpack: arrays of each type
    zds.py         documents of JSON: numbers, text, and lists of these
"""
