"""The parts of a dataset that each file format supports: the specification of `test_any_to_any`. Add new formats here.

A format is described by a function from a dataset to a `Passage`: the dataset that is read back, and all messages.
It is written from `docs/formats.md`, not from the drivers.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from typing import Any

import netCDF4
import numpy as np

from ds_format.base.text import escape, on_one_line
from ds_format.datasets import as_array, attrs, dims
from ds_format.testing import Loss, Passage, exactly, variables

# ------------------------------------------------------------------------------------------------------------- NaN


def payload(data: Any) -> Any:
    """Return which values are NaN with other bits than those of the plain one; the sign of a NaN means nothing."""
    values = np.ma.getdata(data)
    values = values.astype(values.dtype.newbyteorder("="))
    bits = values.view(f"u{values.itemsize}")
    sign = np.array(1, bits.dtype) << np.array(8 * values.itemsize - 1, bits.dtype)
    plain = np.array(np.nan, values.dtype).view(bits.dtype)
    return np.isnan(values) & ((bits & ~sign) != plain) & ~np.ma.getmaskarray(data)


def one_nan(data: Any) -> Any:
    """Return data with every NaN as the plain one."""
    array = as_array(data)
    if array is None or array.dtype.kind != "f":
        return array
    values = np.ma.getdata(array).copy()
    values[np.isnan(values)] = np.nan
    return np.ma.MaskedArray(values, np.ma.getmaskarray(array))


def loses_nan(array: Any) -> bool:
    return array is not None and array.dtype.kind == "f" and bool(payload(array).any())


# ------------------------------------------------------------------------------------------------------------ JSON


def json_(dataset: dict[str, Any]) -> Passage:
    passage = exactly(dataset)
    for key, name, array, _ in variables(dataset):
        passage.dataset[key] = one_nan(array)
        if loses_nan(array):
            passage.warnings.append(Loss(name, "NaN"))
    return passage


# ------------------------------------------------------------------------------------------------------------ HDF5


def hdf5(dataset: dict[str, Any]) -> Passage:
    passage = exactly(dataset)
    for key, name, array, entry in variables(passage.dataset):
        put_time_units(passage.dataset["."][key])
        if array is not None and array.dtype.kind in "fiu" and {"_FillValue", "missing_value"} & attrs(entry).keys():
            passage.notes.append(Loss(name, "which means missing to other programs"))
    return passage


def put_time_units(entry: dict[str, Any]) -> None:
    if entry.get(".time"):
        entry.update(units="days since -4713-11-24 12:00 UTC", calendar="proleptic_gregorian")


# ------------------------------------------------------------------------------------------------------------- CSV


def csv_(dataset: dict[str, Any]) -> Passage:
    passage = Passage({".": {".": {}}})
    lengths: set[int] = set()
    if attrs(dataset["."].get(".", {})):
        passage.warnings.append(Loss(None, "attributes .*the dataset"))
    columns: list[str] = []
    has_scalars_only = all(array is not None and not array.ndim for _, _, array, _ in variables(dataset))
    for key, name, array, entry in variables(dataset):
        if array is None:
            passage.errors.append(Loss(name, "no data"))
            continue
        if array.ndim > 1:
            passage.errors.append(Loss(name, f"{array.ndim} dimensions, expected one"))
            continue
        if attrs(entry) or entry.get(".time"):
            passage.warnings.append(Loss(name, "attributes"))
        if not array.ndim and not has_scalars_only:
            passage.warnings.append(Loss(name, "scalars"))
            continue
        columns.append(name)
        lengths.add(array.size)
        if not array.ndim:
            column(passage, key, name, np.ma.array(array, ndmin=1))
            continue
        dim = dims(key, entry, 1)[0]
        if dim != "i" and ".dims" in entry:
            passage.warnings.append(Loss(dim, "names of dimensions"))
        column(passage, key, name, array)
    if len(lengths) > 1:
        passage.errors.append(Loss(None, 'variable ".*": has .* values, but ".*" has'))
    if columns and columns[0].startswith("\ufeff"):
        passage.errors.append(Loss(columns[0], "byte order mark"))
    return passage


def column(passage: Passage, key: str, name: str, array: Any) -> None:
    """Predict one column from the text of its cells."""
    present = ~np.ma.getmaskarray(array)
    values = np.ma.getdata(array)
    is_single = values.dtype.kind == "f" and values.dtype.itemsize == 4
    items = [float(str(value)) for value in values.flat] if is_single else values.tolist()
    try:
        items = [item.decode() if isinstance(item, bytes) else item for item in np.array(items, object)[present]]
    except UnicodeDecodeError:
        passage.errors.append(Loss(name, "not UTF-8"))
        return
    cells = [str(item) for item in items]
    present[present] = [cell != "" for cell in cells]
    if "" in cells:
        passage.warnings.append(Loss(name, "empty texts"))
    cells = [cell for cell in cells if cell]
    kind, code = inferred(cells, array.size)
    expected = {"i": "int64", "u": "uint64", "f": "float64", "O": "unicode"}[code[0]]
    if expected != type_name(array):
        passage.warnings.append(Loss(name, f"read as {expected} instead of {type_name(array)}"))
    if loses_nan(array):
        passage.warnings.append(Loss(name, "NaN"))
    out: Any = np.zeros(array.size, code)
    out[present] = np.array(list(map(kind, cells)), code)
    passage.dataset[key] = np.ma.MaskedArray(out, ~present)
    passage.dataset["."][key] = {".dims": ["i"]}


def inferred(cells: list[str], n: int) -> tuple[Callable[[str], Any], str]:
    """Return the Python values of the cells of a column, and their NumPy code."""
    if not n:
        return float, "f8"
    if not all(cell.isascii() and "_" not in cell for cell in cells):
        return str, "O"
    try:
        found = [int(cell) for cell in cells]
    except ValueError:
        try:
            return (float, "f8") if [float(cell) for cell in cells] else (str, "O")
        except ValueError:
            return str, "O"
    for code in ("i8", "u8"):
        if all(np.iinfo(code).min <= number <= np.iinfo(code).max for number in found):
            return int, code
    return str, "O"


def type_name(array: Any) -> str:
    if array.dtype.kind != "O":
        return str(array.dtype.newbyteorder("=").name)
    present = np.ma.compressed(np.ma.MaskedArray(array))
    if present.size:
        return "str" if isinstance(present[0], bytes) else "unicode"
    return "unicode" if array.size else "str"


# ------------------------------------------------------------------------------------------------- Parquet and Arrow


def arrow(dataset: dict[str, Any]) -> Passage:
    passage = exactly(dataset)
    lengths: set[int] = set()
    has_scalars_only = all(array is not None and not array.ndim for _, _, array, _ in variables(dataset))
    for key, name, array, _ in variables(dataset):
        put_time_units(passage.dataset["."][key])
        if array is None:
            passage.errors.append(Loss(name, "no data"))
        elif array.ndim > 1:
            passage.errors.append(Loss(name, f"{array.ndim} dimensions, expected one"))
        elif array.ndim:
            lengths.add(array.size)
        elif has_scalars_only:
            passage.dataset[key] = array.reshape(1)
            passage.dataset["."][key][".dims"] = ["i"]
        else:
            passage.warnings.append(Loss(name, "scalars"))
            del passage.dataset[key], passage.dataset["."][key]
    if len(lengths) > 1:
        passage.errors.append(Loss(None, 'variable ".*": has .* values, but ".*" has'))
    return passage


# ---------------------------------------------------------------------------------------------------------- NetCDF

NETCDF_PART = re.compile(r"[A-Za-z0-9_\x80-\U0010ffff]([ -~\x80-\U0010ffff]*[!-~\x80-\U0010ffff])?")


def is_netcdf_name(name: str, parts: bool = True) -> bool:
    found = name.split("/") if parts else [name]
    fits = all("/" not in part and NETCDF_PART.fullmatch(part) and len(part.encode()) <= 255 for part in found)
    return fits and unicodedata.is_normalized("NFC", name)


def netcdf(dataset: dict[str, Any]) -> Passage:
    passage = exactly(dataset)
    groups = {
        "/".join(name.split("/")[: i + 1])
        for _, name, array, entry in variables(dataset)
        for name in (name, *dims(escape(name), entry, 0 if array is None else array.ndim))
        for i in range(name.count("/"))
    }
    for name, value in attrs(dataset["."].get(".", {})).items():
        group, slash, base = name.rpartition("/")
        if (slash and group not in groups) or not is_netcdf_name(base):
            passage.errors.append(Loss(None, f'attribute "{re.escape(on_one_line(name))}"'))
        put_attribute(passage, None, ".", name, value)
    for key, name, array, entry in variables(dataset):
        if not is_netcdf_name(name) or name in groups:
            passage.errors.append(Loss(name, "the name"))
        for dim in dims(key, entry, 0 if array is None else array.ndim):
            if not is_netcdf_name(dim):
                passage.errors.append(Loss(name, f'"{re.escape(on_one_line(dim))}"'))
        put_time_units(passage.dataset["."][key])
        passage.dataset["."][key].pop(".time", None)
        for attribute, value in attrs(passage.dataset["."][key]).items():
            if not is_netcdf_name(attribute, parts=False):
                passage.errors.append(Loss(name, f'attribute "{re.escape(on_one_line(attribute))}"'))
            put_attribute(passage, name, key, attribute, value)
            if attribute in OF_VARIABLE and array is not None and array.dtype.kind in "fiu":
                passage.dataset["."][key][escape(attribute)] = of_variable(value, array.dtype.newbyteorder("="))
        if array is not None and array.dtype.kind == "O":
            put_strings(passage, name, array)
        elif array is not None and array.dtype.str[1:] == "f2":
            passage.errors.append(Loss(name, "NetCDF has no type float16"))
        elif array is not None:
            put_numbers(passage, key, name, array)
    return passage


OF_VARIABLE = ("_FillValue", "missing_value", "valid_min", "valid_max", "valid_range")
"""Attributes whose plain Python numbers are of the type of the variable, if that has them."""


def of_variable(value: Any, dtype: np.dtype[Any]) -> Any:
    if isinstance(value, (np.generic, np.ndarray)) or (dtype.kind != "f" and not is_in(value, np.iinfo(dtype))):
        return netcdf_attribute(value)[0]
    return dtype.type(value)


def is_in(value: float, limits: Any) -> bool:
    return int(value) == value and bool(limits.min <= value <= limits.max)


def put_attribute(passage: Passage, variable: str | None, key: str, name: str, value: Any) -> None:
    """Predict the attribute that is read back from NetCDF."""
    found, said = netcdf_attribute(value)
    passage.dataset["."][key][escape(name)] = found
    if said:
        passage.warnings.append(Loss(variable, f'attribute "{re.escape(on_one_line(name))}" .*{said}'))


def netcdf_attribute(value: Any) -> tuple[Any, str]:
    """Return the attribute in a NetCDF file, and its message. Numbers are those of NumPy; one number is a scalar."""
    if isinstance(value, str):
        return str(value), "JSON" if value.endswith("\0") or re.search("[\ud800-\udc7f\udd00-\udfff]", value) else ""
    if isinstance(value, np.float16):
        return np.float64(value), "float64"
    if isinstance(value, (bool, np.bool_, dict)) or value is None:
        return plain(value), "JSON"
    if isinstance(value, int):
        return integers([value], value)
    if isinstance(value, float):
        return np.float64(value), ""
    if isinstance(value, np.ndarray) and value.ndim == 0:
        return netcdf_attribute(value[()])
    if isinstance(value, np.ndarray) and value.ndim == 1 and value.dtype.kind in "fiu":
        if value.dtype == np.float16:
            return (value.astype("f8") if value.size != 1 else np.float64(value[0])), "float64"
        return (value if value.size != 1 else value[0]), ""
    if isinstance(value, np.ndarray) and (value.ndim != 1 or value.dtype.kind == "b"):
        return value.tolist(), "JSON"
    if isinstance(value, (list, np.ndarray)):
        return netcdf_list(list(value) if isinstance(value, list) else value.tolist())
    return value, ""


def netcdf_list(value: list[Any]) -> tuple[Any, str]:
    if not value:
        return np.zeros(0), ""
    if all(isinstance(item, str) for item in value):
        if any("\0" in item for item in value):
            return value, "JSON"
        return (value if len(value) > 1 else value[0]), ""
    kinds = {type(item) for item in value}
    if kinds == {int}:
        return integers(value, value)
    if kinds <= {int, float}:
        array = np.array(value, "f8")
        if all(int(array[i]) == item for i, item in enumerate(value) if type(item) is int):
            return (array if len(value) > 1 else array[0]), ""
    return value, "JSON"


def integers(items: list[int], value: Any) -> tuple[Any, str]:
    for code in ("i8", "u8"):
        limits = np.iinfo(code)
        if min(items) >= limits.min and max(items) <= limits.max:
            array = np.array(items, code)
            return (array if len(items) > 1 else array[0]), ""
    if max(map(abs, items)) <= 1 << 53:
        return (np.array(items, "f8") if len(items) > 1 else np.float64(items[0])), "float64"
    return value, "JSON"


def plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def put_strings(passage: Passage, name: str, array: Any) -> None:
    for item in np.ma.compressed(np.ma.MaskedArray(array)):
        if (isinstance(item, bytes) and item.endswith(b"\0")) or (isinstance(item, str) and "\0" in item):
            passage.errors.append(Loss(name, "has a NUL"))


def put_numbers(passage: Passage, key: str, name: str, array: Any) -> None:
    """Predict the effect of sentinels on numbers."""
    entry = passage.dataset["."][key]
    marks = [entry[mark] for mark in ("_FillValue", "missing_value") if mark in entry]
    mask = np.ma.getmaskarray(array)
    values = np.ma.getdata(array)
    clashes = np.zeros(array.shape, bool)
    for mark in marks:
        clashes |= (values == mark) & ~mask
    if clashes.any():
        passage.warnings.append(Loss(name, "present values equal"))
        passage.dataset[key] = np.ma.MaskedArray(values, mask | clashes)
    if mask.any() and not marks:
        entry["_FillValue"] = ...
        default = netCDF4.default_fillvals.get(values.dtype.str[1:])
        if values.dtype.itemsize > 2 and (values == default)[~mask].any():
            passage.errors.append(Loss(name, "which was chosen to mark missing ones"))


# ------------------------------------------------------------------------------------------------------------ Zarr


def zarr_(dataset: dict[str, Any]) -> Passage:
    passage = exactly(dataset)
    for key, name, array, _ in variables(dataset):
        put_time_units(passage.dataset["."][key])
        if array is not None and array.dtype.kind in "iuf":
            put_numbers(passage, key, name, array)
            entry = passage.dataset["."][key]
            if entry.get("_FillValue") is ...:  # it is not shown
                del entry["_FillValue"]
    return passage


HOLDINGS: dict[str, Callable[[dict[str, Any]], Passage]] = {
    "arrow": arrow,
    "binpickle": exactly,
    "csv": csv_,
    "datadings": exactly,
    "ds": exactly,
    "hdf5": hdf5,
    "json": json_,
    "netcdf": netcdf,
    "parquet": arrow,
    "zarr": zarr_,
    "zds": exactly,
}
"""By the names in `drivers.FORMATS`."""
