"""Writing whatever can be written: datasets, and objects of xarray, if somebody has loaded it."""

from __future__ import annotations

import sys
from typing import Any

from ..body import path_text
from ..dataset import Dataset
from ..errors import UnsupportedError
from ..views.subset import Path
from . import files


def write(
    filename: Path,
    d: Any,
    *,
    encoding: Any = None,
    unlimited_dims: Any = None,
    compute: Any = True,
    mask: Any = False,
    **options: Any,
) -> Any:
    """Write a dataset to a file of any supported format.

    The file appears whole under its name or not at all; a file that stood there stays as it was until then.

    Parameters
    ----------
    filename : str, bytes or PathLike
        The suffix tells the format.
    d : dict, xarray.Dataset, xarray.DataArray or xarray.DataTree
        A dict has key → data, `"."` → metadata; see `ds_format.dataset`. Objects of xarray are coded by the CF
        conventions, as their `encoding` says; what is null becomes missing where there is a `_FillValue`. Arrays of
        dask are written to ds files in parallel, by whatever runs dask, and to others block by block.
    encoding : dict, optional
        Of an object of xarray: name → encoding of the variable, instead of its own; of a DataTree by group.
    unlimited_dims : str or iterable of str, optional
        Of an object of xarray: dimensions that are unlimited in files of NetCDF and HDF5, instead of those in its
        `encoding`; of a DataTree a dict by group.
    compute : bool
        Of an object of xarray: False returns an object of `dask.delayed`, and writes nothing before that is computed.
    mask : bool
        Of an object of xarray: whether NaN in floats of dask becomes missing in a ds file, too, where there is a
        `_FillValue`; this computes them first. Else it stays NaN.
    **options
        Of the format. Those that most have:

        atomic : bool
            False: create the file, which must not exist yet, and write straight into it. Not for samples and documents.
        durable : bool
            Flush file and folder to the disk.
        time_units, calendar : str
            What variables of time are written in, those with a true `.time`. Not for ds files.
        times : {"iso"}
            Write all times as text by ISO 8601. For CSV files, samples and documents.
        version : {"1.0", "2.0.1"}
            Of the ds format.
        checksum : bool
            Of the ds format: add checksums of the header and of each variable, which `verify` and `read(verify=True)`
            compare.

    Returns
    -------
    None or dask.delayed.Delayed
        The latter for `compute=False`.

    Raises
    ------
    OSError
        If the file cannot be written.
    DriverError
        If no driver has the suffix, or the format has no such option.
    UnsupportedError, ValueError
        If the format cannot hold the dataset, or its metadata do not fit its data.

    Examples
    --------
    >>> from ds_format import read
    >>> write("rain.ds", {"rain": [0.0, None, 2.5], ".": {"rain": {".dims": ["day"], "units": "mm"}}})
    >>> read("rain.ds")["rain"].tolist()
    [0.0, None, 2.5]
    >>> write("rain.csv", {"rain": [0.0, None, 2.5]})
    >>> read("rain.csv")["rain"].tolist()
    [0.0, None, 2.5]
    """
    kind = type(d)
    if kind is not dict and kind is not Dataset and is_xarray(d):
        from ..xarray_ import writing

        asked = {"encoding": encoding, "unlimited_dims": unlimited_dims, "compute": compute, "mask": mask}
        return writing.write(filename, d, **asked, **options)
    if encoding is not None or unlimited_dims is not None or not compute or mask:
        given = {"encoding": encoding is not None, "unlimited_dims": unlimited_dims is not None}
        name = next(name for name, is_given in {**given, "compute": not compute, "mask": mask}.items() if is_given)
        message = f"the option `{name}` is one for objects of xarray, found an object of type {kind.__name__}"
        raise UnsupportedError(message, path=path_text(filename))
    return files.write(filename, d, **options)


def is_xarray(d: Any) -> bool:
    """Whether an object is one of xarray's; who has one has loaded it."""
    xarray = sys.modules.get("xarray")
    return xarray is not None and isinstance(d, (xarray.Dataset, xarray.DataArray, xarray.DataTree))
