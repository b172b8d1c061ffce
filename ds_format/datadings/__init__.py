"""The datadings dataset format: samples as msgpack messages, one after another, with an index beside them.

From low to high::

    format          the files of a dataset, their suffixes, and the names that no data file may have
    messages        samples ↔ messages, with NumPy values as maps in them
    index_files     one index file each: encode, decode, and every check that it allows
    dataset_files   which files count while a writer exchanges them, and all of them opened at once
    sample_index    how many samples, where they are, what they are called, and which has a key
    claim           one writer at a time; how it exchanges all files, and repairs what a killed one left
    writer          samples → a dataset; data → their index files
    verify          all files against one another
    base, reader, sharded, lists, directories   sources of samples, by index, key and in a row
    order           other orders and parts of a source
    torch_          sources as datasets of PyTorch

Nothing here knows datasets of this package or its drivers.
"""
