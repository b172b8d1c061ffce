"""Parquet and Arrow IPC files: tables whose columns are variables of one dimension, through the library pyarrow.

::

    containers.py   the two kinds of files: their schema, and columns piece by piece
    source.py       columns → a Source
    sink.py         a Sink → groups of rows

`ds_format.tables.columns` defines what becomes of types and attributes. A dataset of this package is read back
unchanged; `docs/formats.md` lists the exceptions.
"""

from .sink import IpcSink as create_arrow, ParquetSink as create_parquet
from .source import IpcSource as open_arrow, ParquetSource as open_parquet

__all__ = ["create_arrow", "create_parquet", "open_arrow", "open_parquet"]
