"""The datadings dataset format: samples as msgpack messages, one after another, with index files next to them.

From low to high::

    format          the files of a dataset, their suffixes, and the names that no data file may have
    messages        samples ↔ messages, with NumPy values as maps in them
    index_files     encode and decode each index file, with every check that needs only this file
    dataset_files   which files count while a writer exchanges them; opening all files together
    sample_index    number, offsets and keys of the samples; the sample that has a key
    claim           one writer at a time: the exchange of all files, and the repair after a killed writer
    writer          samples → a dataset; data → their index files
    verify          all files compared with one another
    base, reader, sharded, lists, directories   sources of samples, by index, by key and in sequence
    order           other orders and parts of a source
    torch_          sources as datasets of PyTorch

This room does not use datasets of this package or its drivers.
"""
