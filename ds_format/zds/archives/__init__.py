"""A store in a ZIP archive.

From low to high::

    directory    what the archive says of its members, and where their bytes are
    names        which members are files of the store, and which could do harm
    members      the bytes of one member: as they lie there, or inflated
    archive      the store, read where it lies
    snapshot     what a reader sees of a collection in a folder, for packing
    packing      a folder ↔ an archive

Records are read and written by the standard library's `zipfile`.
"""
