"""Datasets ↔ tables of Arrow, with pyarrow, or by the streams of any library."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..base.text import escape
from ..datasets import META, Dataset, arrays_of
from ..errors import DsError
from .columns import Table, table_of
from .libraries import check_names, pyarrow
from .rows import rows_of, shapes_of


def table(d: Mapping[str, Any], dim: str | None = None, *, explode: bool = False) -> Table:
    """Return variables of a dataset as a `Table`, which has an Arrow stream; see `to_arrow`, which needs pyarrow."""
    arrays, meta = arrays_of(d)
    return table_of(rows_of(shapes_of(arrays, meta), dim, explode), arrays, meta)


def parquet(columns: Mapping[str, Any]) -> memoryview:
    """Return the bytes of a Parquet file with columns of numbers, and of text and bytes, which may be None.

    Raises
    ------
    DriverError
        If pyarrow is not installed.
    """
    use = "Parquet files"
    out = pyarrow(use).BufferOutputStream()
    # with statistics, without which fastparquet makes floats of integers
    pyarrow(use, "pyarrow.parquet").write_table(pyarrow(use).table(dict(columns)), out, compression="zstd")
    return memoryview(out.getvalue())


def to_arrow(d: Mapping[str, Any], dim: str | None = None, *, explode: bool = False) -> Any:
    """Return the variables of one dimension as an Arrow table.

    Text becomes text without an object for each string. The page "Tables" of the documents lists how each type is
    converted.

    Parameters
    ----------
    d : dict
        A dataset.
    dim : str, optional
        The dimension. By default it is that of all variables with dimensions. Scalars, and variables of other
        dimensions, are left out.
    explode : bool
        Include variables of several dimensions, and scalars: each is repeated along the dimensions that it lacks.

    Returns
    -------
    pyarrow.Table
        Attributes are metadata of the fields and of the schema.

    Raises
    ------
    DriverError
        If pyarrow is not installed.
    MissingError
        If no variable has the dimension.
    UnsupportedError
        If variables have several dimensions, without `explode`; or a time is not one.

    Examples
    --------
    >>> import ds_format as ds
    >>> rain = {"day": [0, 1], "rain": [0.5, None]}
    >>> rain["."] = {
    ...     "day": {".dims": ["day"], "units": "days since 2026-01-01"},
    ...     "rain": {".dims": ["day"], "units": "mm"},
    ... }
    >>> table = ds.to_arrow(rain, "day")
    >>> table.schema.types, table["rain"].null_count
    ([TimestampType(timestamp[s]), DataType(double)], 1)
    """
    return pyarrow("to_arrow").table(table(d, dim, explode=explode))


def from_arrow(stream: Any) -> Dataset:
    """Return a table as a dataset.

    Parameters
    ----------
    stream : object
        A table of pyarrow, polars, DuckDB or another library with `__arrow_c_stream__`.

    Returns
    -------
    Dataset
        One variable for each column. Their dimension is that of the dataset from which the table was made, else `i`.
        Dictionaries become their values, dates and times numbers with CF units.

    Raises
    ------
    DriverError
        If pyarrow is not installed.
    UnsupportedError
        If two columns have the same name, or one has a type that ds does not have, such as lists or decimals.

    Warns
    -----
    DsWarning
        If times lose their time zone; they are in UTC.
    """
    arrow = pyarrow("this table")
    from .fields import described, entry_of, values_of

    found = arrow.table(stream)
    check_names(found.schema.names)
    about, dim = described(found.schema)
    dataset, meta = Dataset(), {META: about}
    for field, column in zip(found.schema, found.columns, strict=True):
        key = escape(field.name)
        try:
            entry = entry_of(field)
            dataset[key] = values_of(column, entry[".type"])
        except DsError as error:
            raise error.at(variable=field.name)
        meta[key] = {".dims": [dim], **entry}
        if dataset[key].dtype.kind in "mM":
            del meta[key][".type"]  # `write` chooses it
    dataset[META] = meta
    return dataset
