"""The datadings dataset format: samples as msgpack messages, one after another, with an index beside them.

From low to high::

    format     the files of a dataset, their suffixes, and the names that no data file may have
    parts      the bytes of one of these files: read if it is small, mapped if it is large
    arrays     NumPy values ↔ the maps that stand for them in messages
    messages   samples ↔ messages
    offsets, keys, hashes, bloom, md5, legacy   one file each: encode, decode, and every check that it allows
    scan       what the data alone say: where messages are, and their keys
    journal    the hidden files of a writer, and which files count while it exchanges them
    opening    all files at once, so that they belong together whatever a writer does meanwhile
    index      all of it together: how many samples, where they are, what they are called, and which has a key
    publish    all index files, made of keys and ends
    claim      one writer at a time; how it exchanges all files, and puts right what a killed one left
    writer     samples → a dataset
    reindex    data → their index files
    verify     all files against one another
    base, reader, sharded, lists, directories, zips   sources of samples, by index, key and in a row
    order      other orders and parts of a source
    torch_     sources as datasets of PyTorch

Nothing here knows datasets of this package or its drivers.
"""
