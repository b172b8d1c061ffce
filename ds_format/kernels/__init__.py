"""Compiled loops and system calls: buffers in, buffers out.

adler           the checksum of zlib
bits            flags and masks, eight to a byte
values          byte swap; present values to and from their places
strings         length-prefixed strings ↔ Python strings
numpy_strings   the same ↔ NumPy's StringDType
files           whole files in one call
batch           many small files in one call
ranges          ranges of open files
hashes          hashes of many strings, and Bloom filters of them
keys            any of many msgpack strings, without objects of the others
lookup          from the hash of a key to its number
walk            steps over msgpack values
pieces          bytes, cut into pieces
fetch           one of the pieces of an open file
pack, unpack    usual messages of msgpack ↔ Python objects and arrays
json_check      whether lines are JSON, and where their `_id` is
json_values, json_write   Python values and documents → JSON, always the same bytes
ids, spans, zdx   ids → places of lines, as in an index of ZDS
zdx_text          the same as text
lines           lines of JSON → such an index
document_fetch  the document of an id, from an open file
pickle_stack    the stack and the memo of a pickle, within a budget of memory
pickle_machine  opcodes of a pickle → objects, without importing or running anything
presence        what stands under a name, without an error taken for an absent file
portable        what `files`, `batch` and `ranges` do, on systems without their calls
"""

import os

if os.name != "posix":  # elsewhere each is imported when it is asked for
    from . import portable as batch  # noqa: F401
    from . import portable as files  # noqa: F401
    from . import portable as ranges  # noqa: F401
