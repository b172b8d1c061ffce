"""`ds vrt`: describe a variable for GDAL, which then reads it without a driver for the format.

A virtual raster (VRT) says where the rows of each band are. Format: "GDAL Virtual Format", section "VRTRawRasterBand".
"""

from __future__ import annotations

import itertools
import math
import os
from collections.abc import Iterator
from typing import Any
from xml.etree.ElementTree import Element, SubElement, indent, tostring

import numpy as np

from ..base.text import escape, unescape
from ..body.target import Target, naming
from ..classic import ClassicVariable, end_of
from ..codec.layout import check_numbers
from ..datasets import META, attrs, dims
from ..drivers.base import Source
from ..drivers.ds.source import DsSource
from ..drivers.native import NativeSource
from ..errors import DsError, TruncatedError, UnsupportedError
from ..model.conventions import kind_of
from ..views.subset import open_subset
from .arguments import ArgumentError, Command, Request
from .lookup import Finder
from .pst import Text

TYPES = {"u1": "Byte", "f4": "Float32", "f8": "Float64"} | {
    f"{kind}{bits // 8}": f"{name}{bits}"
    for kind, name in (("i", "Int"), ("u", "UInt"))
    for bits in (8, 16, 32, 64)
    if (kind, bits) != ("u", 8)
}
"""NumPy kind and bytes of a value → GDAL's name of the type."""
MAX_BANDS = 65536
"""Bands that GDAL opens at most by default."""


def run(request: Request) -> Iterator[Any]:
    """Yield the description, or write it.

    Raises
    ------
    DsError, OSError
        If a file cannot be read or written.
    UnsupportedError
        If the values of the variable are not in rows of the file.
    ArgumentError
        If GDAL would not find the file.
    """
    request.check_words("VAR INPUT [OUTPUT]", lister="ls")
    pattern, path, *outputs = request.names("VAR INPUT [OUTPUT]")
    folder = os.path.dirname(os.path.abspath(outputs[0] if outputs else path))
    name = os.path.relpath(os.path.abspath(path), folder)
    if name.startswith(os.pardir):
        raise ArgumentError(f"{outputs[0]}: expected the folder of {path}, or one above: GDAL reads no other files")
    with open_subset(path) as subset:
        known = sorted(unescape(key) for key in subset.meta if key != META)
        finder = Finder(path, request)
        key = escape(finder.only(finder.require(pattern, known, "variable"), pattern, "variable"))
        try:
            made = describe(subset.source, key, name)
        except DsError as error:
            raise error.at(path=path, variable=unescape(key))
    indent(made)
    text = tostring(made, "unicode")
    if not outputs:
        yield Text(text)
        return
    target = Target(outputs[0])
    try:
        with naming(outputs[0]), open(target.create(), "w", encoding="utf-8") as file:
            file.write(f"{text}\n")
        target.commit()
    except BaseException:
        target.abort()
        raise


def describe(source: Source, key: str, name: str) -> Element:
    """Return the description of a variable.

    Parameters
    ----------
    source : Source
    key : str
    name : str
        Path of the file from the folder of the description.

    Raises
    ------
    UnsupportedError
        If the values of the variable are not in rows of the file.
    """
    offset, dtype, strides = _layout(source, key)
    entry = source.meta[key]
    shape, attributes = entry[".size"], attrs(entry)
    names = dims(key, entry, len(shape))
    made = Element("VRTDataset", rasterXSize=str(shape[-1]), rasterYSize=str(shape[-2]))
    _locate(source, names, made)
    for i, index in enumerate(itertools.product(*map(range, shape[:-2])), 1):
        band = SubElement(
            made, "VRTRasterBand", dataType=TYPES[dtype.str[1:]], band=str(i), subClass="VRTRawRasterBand"
        )
        places = (f"{dim}={at}" for dim, at in zip(names, index, strict=False))
        fields = {
            "Description": " ".join((unescape(key), *places)),
            "UnitType": attributes.get("units"),
            "NoDataValue": attributes.get("_FillValue", attributes.get("missing_value")),
            "Offset": attributes.get("add_offset"),
            "Scale": attributes.get("scale_factor"),
        }
        for field, value in fields.items():
            if value is not None and np.ndim(value) == 0:
                SubElement(band, field).text = str(value)
        SubElement(band, "SourceFilename", relativeToVRT="1").text = name
        start = offset + sum(at * step for at, step in zip(index, strides, strict=False))
        for field, n in (("ImageOffset", start), ("PixelOffset", strides[-1]), ("LineOffset", strides[-2])):
            SubElement(band, field).text = str(n)
        SubElement(band, "ByteOrder").text = "MSB" if dtype.str[0] == ">" else "LSB"
    return made


def _layout(source: Source, key: str) -> tuple[int, np.dtype[Any], list[int]]:
    """Return the position of the first value in the file, the type, and the bytes from one value to the next."""
    shape = source.meta[key].get(".size") or []
    place = getattr(getattr(source, "variables", {}).get(key), "place", None)
    step = 0
    if isinstance(source, DsSource):
        var = source.variable(key)
        if var.missing:
            raise UnsupportedError(
                "rows of values have no fixed length, since missing ones take no space: write it to a classic NetCDF "
                'file, in Python by format="NETCDF3_64BIT_OFFSET"'
            )
        check_numbers(var, source.body.size)
        offset = source.header.body + var.offset
        dtype = np.dtype("O" if var.type is None else f"{'>' if var.big else '<'}{var.type.code}")
    elif isinstance(source, NativeSource) and isinstance(place, ClassicVariable):
        if end_of(place) > source.size:
            raise TruncatedError(f"found {source.size} bytes, expected {end_of(place)}")
        offset, dtype, step = place.begin, np.dtype(f">{place.code}"), place.step
    else:
        raise UnsupportedError("values may be compressed or in chunks: convert it to a ds file")
    if dtype.str[1:] not in TYPES or len(shape) < 2 or 0 in shape or math.prod(shape[:-2]) > MAX_BANDS:
        found = f"{source.meta[key].get('.type')} of the size {list(shape)}"
        raise UnsupportedError(
            f"found {found}, expected numbers that GDAL has, rows and columns, at most {MAX_BANDS} bands"
        )
    strides = [dtype.itemsize * math.prod(shape[i + 1 :]) for i in range(len(shape))]
    return offset, dtype, [step, *strides[1:]] if step else strides


def _locate(source: Source, names: list[str], made: Element) -> None:
    """Add the position of the grid, if rows and columns have regular coordinates."""
    columns, rows = (_regular(source, escape(name)) for name in (names[-1], names[-2]))
    if columns is None or rows is None:
        return
    kinds = [kind_of(source.meta[escape(name)]) for name in (names[-1], names[-2])]
    if kinds == ["longitude", "latitude"]:
        SubElement(made, "SRS", dataAxisToSRSAxisMapping="2,1").text = "EPSG:4326"
    (x, dx), (y, dy) = columns, rows
    numbers = (x - dx / 2, dx, 0.0, y - dy / 2, 0.0, dy)
    SubElement(made, "GeoTransform").text = ", ".join(map(repr, numbers))


def _regular(source: Source, key: str) -> tuple[float, float] | None:
    """Return the first value and the step of a coordinate; None if it is absent, or has other steps."""
    entry = source.meta.get(key, {})
    size = entry.get(".size") or []
    if len(size) != 1 or size[0] < 2 or entry.get(".type") not in ("float32", "float64", "int16", "int32", "int64"):
        return None
    values = source.read(key)
    if np.ma.is_masked(values) or "scale_factor" in entry or "add_offset" in entry:
        return None
    values = values.astype(np.float64)
    step = (values[-1] - values[0]) / (size[0] - 1)
    if not step or not np.allclose(np.diff(values), step, rtol=1e-3, atol=0):
        return None
    return float(values[0]), float(step)


COMMANDS = {
    "vrt": Command(
        usage=("ds vrt [OPTIONS] [--] VAR INPUT [OUTPUT]",),
        about="Describes a variable of a ds file or a classic NetCDF file as a virtual raster (VRT). GDAL, QGIS and "
        "other programs then read it from the file, without a driver for its format. The last two dimensions are rows "
        "and columns; each position along the others is a band. Nothing is copied, so keep both files together.",
        arguments=(
            ("VAR", "Name of a variable of numbers without missing values, or a pattern that matches one."),
            ("INPUT", "The file."),
            (
                "OUTPUT",
                (
                    "The file to write, with the suffix .vrt, in the folder of INPUT or one above. By default, the "
                    "description is printed. Save it in the folder of INPUT."
                ),
            ),
        ),
        options=(),
        examples=(
            ("Describe a variable for GDAL:", "ds vrt pressure data.ds pressure.vrt"),
            ("Print the description:", "ds vrt pressure data.ds"),
        ),
        run=run,
    ),
}
