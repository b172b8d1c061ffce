"""A classic file, copied by the netCDF4 library from its own view of it."""

from __future__ import annotations

from pathlib import Path

import netCDF4


def copied(path: Path, copy: Path) -> bytes:
    """Copy dimensions, attributes, variables and values in their order, and return the bytes of the copy."""
    with netCDF4.Dataset(path) as file, netCDF4.Dataset(copy, "w", format=file.data_model) as target:
        for name, dimension in file.dimensions.items():
            target.createDimension(name, None if dimension.isunlimited() else len(dimension))
        target.setncatts({name: file.getncattr(name) for name in file.ncattrs()})
        for name, variable in file.variables.items():
            attributes = {key: variable.getncattr(key) for key in variable.ncattrs()}
            # it pads with the fill value that a variable has when it is made
            fill = attributes.pop("_FillValue", None)
            made = target.createVariable(name, variable.dtype, variable.dimensions, fill_value=fill)
            made.setncatts(attributes)
        for name, variable in file.variables.items():
            made = target[name]
            for each in (variable, made):
                each.set_auto_maskandscale(False)
                each.set_auto_chartostring(False)
            if variable.size:
                made[...] = variable[...]
    return copy.read_bytes()
