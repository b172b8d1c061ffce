"""Datasets ↔ the bytes of files in memory."""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Unpack

from .. import drivers
from ..base import signatures
from ..base.text import keys_of
from ..body import name_of
from ..datasets import META, Dataset
from ..errors import DriverError
from .files import prepared, read, wants_numpy
from .writing import without_xarray, write

if TYPE_CHECKING:
    from .options import DumpOptions, ReadOptions

FAST = frozenset({"full", "strings", "unpack"})
"""Options of reading with which `Driver.loads` reads a file in memory."""


def dumps(d: Any, *, format: str = "ds", **options: Unpack[DumpOptions]) -> bytes:
    r"""Return the bytes of the file that `ds_format.write` would write.

    Parameters
    ----------
    d : dict, xarray.Dataset, xarray.DataArray or xarray.DataTree
        As for `ds_format.write`.
    format : str
        The format: a name such as "netcdf", or a suffix such as "json". Formats of several files are not possible.
    **options
        Options of the format; see `ds_format.write`. `atomic` and `durable` are options for files.

    Returns
    -------
    bytes
        A ds file is made in memory, and so is an ordinary small netCDF-4 file. Others are written to a temporary file
        first.

    Raises
    ------
    DriverError, UnsupportedError, ValueError
        As `ds_format.write`.

    Examples
    --------
    >>> import ds_format as ds
    >>> data = ds.dumps({"rain": [0.0, None, 2.5], ".": {"rain": {".dims": ["day"]}}})
    >>> data[:7], ds.loads(data)["rain"].tolist()
    (b'ds-1.0\n', [0.0, None, 2.5])
    >>> ds.dumps({"rain": [0.0, 2.5]}, format="csv")
    b'rain\r\n0.0\r\n2.5\r\n'
    """
    for name in drivers.FILE & options.keys():
        raise DriverError(f"{name}: an option for files, which bytes in memory do not have")
    known = drivers.FORMATS.get(format) if type(d) in (dict, Dataset) else None
    if known is not None and not drivers.CODED & options.keys() and (fast := drivers.load(known).dumps) is not None:
        given = drivers.creation_options(known, "<bytes>", options) if options else {}
        data = fast(*prepared(without_xarray(d)), **given)
        if data is not None:
            return data
    file = io.BytesIO()
    write(file, d, format=format, **options)
    return file.getvalue()


def loads(
    buffer: Any,
    variables: str | Iterable[str] | None = None,
    sel: Mapping[str, Any] | None = None,
    *,
    format: str | None = None,
    **options: Unpack[ReadOptions],
) -> Dataset:
    """Read a dataset from the bytes of a file in memory.

    Parameters
    ----------
    buffer : bytes, bytearray, memoryview, mmap, array of uint8, or another contiguous buffer
        All bytes of a file of any supported format. The content determines the format.
    variables, sel
        As `ds_format.read`.
    format : str, optional
        The format, whatever the content: a name such as "netcdf", or a suffix such as "csv". Text formats need it,
        except JSON.
    **options
        `range_`, `at`, `between`, `full`, `jd`, `unpack`, `strings`, `skip_unsupported`, `verify`, and the
        options for CSV files of `ds_format.read`.

    Returns
    -------
    Dataset
        As `ds_format.read`. Without selectors, arrays of a ds file are views of the buffer if they are numbers without
        missing values in native byte order, and aligned. These are read-only if the buffer is, as `bytes` are;
        otherwise, changing them changes the buffer. Use `array.copy()` for an array of your own. All other arrays are
        new.

    Raises
    ------
    TypeError
        If it is not a contiguous buffer.
    DriverError, FormatError, IndexError, UnsupportedError
        As `ds_format.read`.

    Examples
    --------
    >>> import ds_format as ds
    >>> data = ds.dumps({"x": [1.5, 2.5, 3.5], ".": {"x": {".dims": ["t"]}}})
    >>> ds.loads(data)["x"]
    array([1.5, 2.5, 3.5])
    >>> ds.loads(data, "x", sel={"t": -1})["x"]
    np.float64(3.5)
    >>> ds.loads(data)["x"].flags.writeable, ds.loads(bytearray(data))["x"].flags.writeable
    (False, True)
    """
    view = memoryview(buffer)
    view = view.cast("B") if view.nbytes else memoryview(b"")
    known = drivers.of_mark(bytes(view[: signatures.N])) if format is None else drivers.of_format(format)
    fast = None if known is None or sel or not FAST.issuperset(options) else drivers.load(known).loads
    if fast is not None:
        keys = None if variables is None else keys_of(variables)
        text = wants_numpy(options.get("strings", "object"))
        found: Dataset = fast(name_of(buffer), view, keys, options.get("full", False), text, options.get("unpack"))
        if keys is None or (META not in keys and found.keys() >= keys.keys()):
            return found
    from ..body.remote.addresses import HandedAddress

    return read(HandedAddress(view, name_of(buffer)), variables, sel, format=format, **options)
