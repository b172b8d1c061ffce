"""The ds driver: a ds file ↔ arrays and metadata.

variables   which variables, and how each is decoded
whole       a dataset in one go: small files in one read, any in one write
alike       small files that are merged alike, as one
columns     the values of one variable of these
source      variables, parts and blocks of any file
partial     which bytes a part needs
sink        a file from blocks
shared      a file that several processes write
regions     the place of a variable in such a file
plan        what is settled before the data are there
appending   variables at the end of an open file
stream      one variable from blocks
entries     metadata → entries of the header
composing   a dataset → the buffers of a file
checksums   the trailer with checksums
check       what is wrong with a file beyond its variables
"""

from ...codec.legacy import is_older
from .alike import AlikeFiles
from .check import check
from .sink import DsSink as create
from .source import DsSource as open
from .whole import WHOLE_SIZE, digest, from_held, held, read, write

__all__ = [
    "WHOLE_SIZE",
    "AlikeFiles",
    "check",
    "create",
    "digest",
    "from_held",
    "held",
    "open",
    "read",
    "recognises",
    "write",
]


def recognises(path: str, first: bytes) -> bool:
    """Whether a file that begins with some bytes, and has no version line, is a ds file of the layout 2.0.1."""
    return is_older(first)
