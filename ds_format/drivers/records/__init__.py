"""Records: a dataset as samples or documents, one for each position along one dimension, and back.

What is the same for all records stands in a companion, a ds file of the whole dataset in which that one dimension has
the size 0: variables without the dimension, all attributes, types, names and order. So the data are plain for other
programs, and nothing is lost here. The companion knows the data that it belongs to; without it, or beside other data,
the variables are inferred from the records, as with data of other programs. Shared by all containers::

    plan.py       which variables become records, along which axis, and what their keys are
    companion.py  what is the same for all records
    schema.py     records of other programs → variables
    sink.py  source.py

and in what they differ::

    datadings/    samples of msgpack: arrays of each type
    zds/          documents of JSON: numbers, text, and lists of these

Each of both is a driver.
"""
