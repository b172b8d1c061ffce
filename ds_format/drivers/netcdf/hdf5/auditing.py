"""Checks of an HDF5 file before the netCDF library gets it: the library may end the process if a file is damaged.

A valid file with the filter LZF is read as other HDF5 files are, since the netCDF library does not have this filter.

Two kinds of valid files end the process, too: those with a dimension scale that has no dimension, which is an error
here, and those with floats that are not IEEE numbers of 4 or 8 bytes, which are read as other HDF5 files are.
"""

from __future__ import annotations

from .... import hdf5
from ....body.body import Body
from ....errors import DsError, FormatError
from ....model.settings import SCALE_CLASS
from ...base import OtherFormatError
from .description import LZF, variable_name

HALF = "f2"
"""Code of IEEE numbers of 2 bytes."""


def audited(body: Body) -> hdf5.Audit | None:
    """Check an HDF5 file that the netCDF library will read; None for other files.

    Raises
    ------
    FormatError
        If it is damaged.
    OtherFormatError
        If the driver for HDF5 must read it, for floats that end the process in the netCDF library, or the filter LZF.
    """
    try:
        if hdf5.content(body) is None:
            return None
        audit = hdf5.Audit(body, netcdf=True)
        for name, dataset in audit.datasets.items():
            if dataset.hidden.get("CLASS") == SCALE_CLASS and not dataset.shape:
                raise FormatError("a dimension scale without a dimension", variable=name)
            if dataset.type.kind == "unusual float" or (dataset.type.code or "")[1:] == HALF:
                size = dataset.type.size
                message = f"floats of {size} bytes, which end the process in the netCDF library"
                raise OtherFormatError(message, "hdf5").at(variable=name)
        for name, dataset in audit.datasets.items():
            if any(each.number == LZF for each in dataset.filters):
                message = "the filter LZF, which the netCDF library does not have"
                raise OtherFormatError(message, "hdf5").at(variable=name)
    except DsError as error:
        raise error.at(path=body.name)
    # a variable with the name of a dimension, but along others, has the name of the dimension scale only in NetCDF
    renamed = sorted(audit.datasets.items(), key=lambda item: variable_name(item[0]) != item[0])
    audit.datasets = {variable_name(name): each for name, each in renamed}
    return audit
