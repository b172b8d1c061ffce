"""HDF5 files, netCDF-4 among them: bytes → where values are → arrays. Nothing here opens a file or knows a dataset.

From low to high::

    records    what the metadata say, as plain records
    reading    parsing with the bytes that are known, and reading those that it lacks
    header     bytes of a body → all objects of the file, by a kernel; every check the metadata alone decide
    links      soft links and further hard links → all names of the objects
    arrays     a dataset and the body of its file → where its chunks are → array, whole or in part
    composing  objects of a small file → its bytes
    auditing   damage: checks before a library reads a file, structures that reading does not need, written parts
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..errors import Unusual
from .header import SIGNATURE, check_dataset, content, read_file, read_header
from .records import (
    HDF5Attribute,
    HDF5Dataset,
    HDF5File,
    HDF5Filter,
    HDF5Group,
    HDF5Layout,
    HDF5Type,
)

if TYPE_CHECKING:
    from .arrays import (
        DatasetPlace,
        DatasetPlaces,
        check_size,
        find_index,
        load_indexes,
        place_of,
        ranges_of,
        small_values,
        stored_of,
        values,
    )
    from .auditing import Audit, check_unread, written_parts
    from .links import LeftOut, with_links

__all__ = [
    "SIGNATURE",
    "Audit",
    "DatasetPlace",
    "DatasetPlaces",
    "HDF5Attribute",
    "HDF5Dataset",
    "HDF5File",
    "HDF5Filter",
    "HDF5Group",
    "HDF5Layout",
    "HDF5Type",
    "LeftOut",
    "Unusual",
    "check_dataset",
    "check_size",
    "check_unread",
    "content",
    "find_index",
    "load_indexes",
    "place_of",
    "ranges_of",
    "read_file",
    "read_header",
    "small_values",
    "stored_of",
    "values",
    "with_links",
    "written_parts",
]


def __getattr__(name: str) -> Any:
    """Load what reads values or follows links, which usual metadata do not need."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name in ("LeftOut", "with_links"):
        from . import links

        found = getattr(links, name)
    elif name in ("Audit", "check_unread", "written_parts"):
        from . import auditing

        found = getattr(auditing, name)
    else:
        from . import arrays

        found = getattr(arrays, name)
    globals()[name] = found
    return found
