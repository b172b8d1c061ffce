"""GNU Octave reads the NetCDF files that we write, with its package netcdf.

The package reads numbers and characters, but no strings. So text in netCDF-4 files is bytes here. Octave has the
axes of an array in the reverse order.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from typing import Any

import numpy as np
import pytest

import ds_format as ds

pytestmark = pytest.mark.skipif(shutil.which("octave") is None, reason="needs octave")

LACKING = 3
"""The exit status if Octave has no package netcdf."""

PROGRAM = f"if isempty(pkg('list', 'netcdf')), exit({LACKING}), end"
PROGRAM += """
pkg load netcdf

function result = all_bits(x)
  result = struct("class", class(x), "bytes", sprintf("%02x", typecast(x(:), "uint8")));
end

function result = attributes(file, variable, n)
  result = {};
  for i = 0:n - 1
    name = netcdf_inqAttName(file, variable, i);
    result{end + 1} = {name, all_bits(netcdf_getAtt(file, variable, name))};
  end
end

files = {};
for path = glob("*.nc")'
  file = netcdf_open(path{1}, "NC_NOWRITE");
  [n_dimensions, n_variables, n_attributes] = netcdf_inq(file);
  dimensions = names = variables = {};
  for i = 0:n_dimensions - 1
    [names{end + 1}, n] = netcdf_inqDim(file, i);
    dimensions{end + 1} = {names{end}, n};
  end
  for i = 0:n_variables - 1
    [name, ~, axes, n] = netcdf_inqVar(file, i);
    variables{end + 1} = {name, struct( ...
      "axes", {names(axes + 1)}, "values", all_bits(ncread(path{1}, name)), "attributes", {attributes(file, i, n)})};
  end
  files{end + 1} = {path{1}, struct( ...
    "dimensions", {dimensions}, "unlimited", {names(netcdf_inqUnlimDims(file) + 1)}, ...
    "variables", {variables}, "attributes", {attributes(file, -1, n_attributes)})};
  netcdf_close(file);
end
disp(jsonencode(files))
"""


def var(values: Any, *dims: str, storage: Any = None, **attributes: Any) -> tuple[Any, dict[str, Any]]:
    return values, {**attributes, ".dims": [*dims], ".netcdf": storage or {}}


def dataset(*unlimited: str, **variables: tuple[Any, dict[str, Any]]) -> dict[str, Any]:
    meta = {name: entry for name, (_, entry) in variables.items()}
    meta["."] = {**OF_FILE, ".netcdf": {"unlimited": [*unlimited]}}
    return {**{name: values for name, (values, _) in variables.items()}, ".": meta}


OF_FILE = {"title": "Höhe", "empty": "", "numbers": np.array([1, -2], "i2"), "one": np.float32(0.1)}
CLASSIC = ("i1", "i2", "i4", "f4", "f8")
MORE = ("u1", "u2", "u4", "u8", "i8")


def numbers(*codes: str) -> dict[str, Any]:
    """Return a dataset with large and small values of types, and with attributes of these types."""
    made = {}
    for code in codes:
        limits: Any = np.finfo(code) if code[0] == "f" else np.iinfo(code)
        large = limits.max - 2  # of unsigned types, the two numbers above it may mark missing values
        values = np.array([[0, 1, large], [limits.min, 7, 100]], code)
        made[f"of_{code}"] = var(values, "y", "x", units="K", some=values[:, 2], one=values[0, 1])
    return dataset(**made)


FIELD = np.arange(12, dtype="f4").reshape(3, 4) / 3
SHORTS = np.arange(12, dtype="i2").reshape(3, 4)
HOLES = SHORTS % 5 == 1
FIELD_WITH_HOLES, SHORTS_WITH_HOLES = np.ma.array(FIELD, mask=HOLES), np.ma.array(SHORTS, mask=HOLES)
TIME = var(np.arange(3) / 3, "time", units="days since 2000-01-01")
NAMES = var(np.array([b"a", b"", b"bcd"], object), "time")
SCALE = {"scale_factor": np.float64(0.1), "add_offset": np.float64(273.15)}

USUAL = {
    "no variable": dataset(),
    "missing values": dataset(
        field=var(FIELD_WITH_HOLES, "time", "x"),
        shorts=var(SHORTS_WITH_HOLES, "time", "x", _FillValue=np.int16(-9)),
        packed=var(SHORTS_WITH_HOLES, "time", "x", **SCALE),
    ),
    "an unlimited dimension": dataset(
        "time",
        time=TIME,
        fixed=var(np.arange(4, dtype="i1"), "x"),
        field=var(FIELD, "time", "x"),
        odd=var(SHORTS[:, :3], "time", "z"),
        name=NAMES,
        scalar=var(np.float64(0.1)),
    ),
    "one variable of records": dataset(
        "time", records=var(SHORTS[:, :3].astype("i1"), "time", "z"), z=var(np.arange(3.0), "z")
    ),
    "text": dataset(
        names=NAMES,
        word=var(np.array(b"Wien", object)),
        table=var(np.array([[b"a", b"bc"], [b"", b"d"]], object), "y", "x"),
    ),
    "booleans": dataset(flags=var(np.array([True, False, True]), "x")),
}
UNICODE = dataset(names=var(np.array(["a", "søren", ""], object), "x"), word=var(np.array("Höhe", object)))
STORED = dataset(
    "time",
    deflated=var(FIELD, "time", "x", storage={"compression": "zlib", "level": 5, "shuffle": True}),
    chunked=var(SHORTS, "time", "x", storage={"chunks": [2, 3], "fletcher32": True}),
    big=var(SHORTS, "time", "x", storage={"endian": "big"}),
    gaps=var(FIELD_WITH_HOLES, "time", "x", storage={"compression": "zlib"}),
)
CASES = {
    format: {**USUAL, **more}
    for format, more in {
        "NETCDF3_CLASSIC": {"numbers": numbers(*CLASSIC), "unicode": UNICODE},
        "NETCDF3_64BIT_OFFSET": {"numbers": numbers(*CLASSIC), "unicode": UNICODE},
        "NETCDF3_64BIT_DATA": {"numbers": numbers(*CLASSIC, *MORE), "unicode": UNICODE},
        "NETCDF4_CLASSIC": {"numbers": numbers(*CLASSIC), "unicode": UNICODE, "storage": STORED},
        "NETCDF4": {"numbers": numbers(*CLASSIC, *MORE), "storage": STORED},
    }.items()
}


@pytest.fixture(scope="module")
def read(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What Octave reads from each file, by the names of files."""
    folder = tmp_path_factory.mktemp("octave")
    for format, datasets in CASES.items():
        for name, data in datasets.items():
            ds.write(folder / f"{format} {name}.nc", data, format=format)
    words = ["octave", "--no-gui", "--norc", "--no-history", "--eval", PROGRAM]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode == LACKING:
        pytest.skip("needs the package netcdf of octave")
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout))


def array(found: dict[str, str]) -> Any:
    """Return values that Octave has read, in one dimension."""
    return np.frombuffer(bytes.fromhex(found["bytes"]), {"char": "S1"}.get(found["class"], found["class"]))


def characters(text: Any) -> Any:
    """Return the characters of text, which have one more dimension than the text."""
    encoded = np.array([each.encode() if isinstance(each, str) else each for each in text.ravel()], "S")
    return encoded.view("S1").reshape(*text.shape, -1)


def expected_values(values: Any, attributes: dict[str, Any]) -> Any:
    """Return what `ncread` makes of the values of a variable: doubles, if they may be missing or are packed."""
    if values.dtype == object:
        return characters(values)
    if np.ma.isMaskedArray(values) or "_FillValue" in attributes:
        values = np.ma.filled(values.astype("f8"), np.nan)
    if "scale_factor" in attributes:
        values = values * attributes["scale_factor"] + attributes["add_offset"]
    return values.astype("i1") if values.dtype == bool else values


def compare_attributes(found: list[Any], given: dict[str, Any]) -> None:
    """Compare attributes; those that only this package needs may be there, too."""
    by_name = dict(found)
    assert by_name.keys() - {"_FillValue", "ds_format", "dtype", "_Encoding"} == given.keys() - {"_FillValue"}
    for name, value in given.items():
        if isinstance(value, str):  # the netCDF4 library, too, writes a NUL to classic files for text that is empty
            assert array(by_name[name]).tobytes().rstrip(b"\0") == value.encode(), name
        else:
            np.testing.assert_array_equal(array(by_name[name]), np.atleast_1d(value), name, strict=True)


@pytest.mark.parametrize(("format", "name"), [(format, name) for format, each in CASES.items() for name in each])
def test_files_that_we_wrote(format: str, name: str, read: dict[str, Any]) -> None:
    data, found = CASES[format][name], read[f"{format} {name}.nc"]
    meta = data["."]
    lengths, variables = dict(found["dimensions"]), dict(found["variables"])
    assert found["unlimited"] == meta["."][".netcdf"]["unlimited"]
    compare_attributes(found["attributes"], OF_FILE)
    assert [*variables] == [key for key in data if key != "."]
    for key, variable in variables.items():
        dims = variable["axes"][::-1]
        given = {attribute: value for attribute, value in meta[key].items() if attribute[0] != "."}
        expected = expected_values(data[key], given)
        assert dims[: data[key].ndim] == meta[key][".dims"]
        assert tuple(lengths[dim] for dim in dims) == expected.shape
        np.testing.assert_array_equal(array(variable["values"]), expected.ravel(), key, strict=True)
        compare_attributes(variable["attributes"], given)
