"""The engine "ds": what xarray makes of a ds file."""

import os
import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

xr = pytest.importorskip("xarray", reason="xarray is not installed")
netCDF4 = pytest.importorskip("netCDF4")

import ds_format as ds  # noqa: E402
from ds_format.xarray_ import engine, lazy_variables  # noqa: E402
from tests.descriptors import n_open  # noqa: E402
from tests.xarray_ import nc_files  # noqa: E402

ENCODED = ("dtype", "_FillValue", "missing_value", "scale_factor", "add_offset", "units", "calendar", "chunksizes")
VALUES = np.arange(5 * 6 * 7.0).reshape(5, 6, 7)


@pytest.fixture
def path(tmp_path):
    where = tmp_path / "a.ds"
    dataset = {
        "x": VALUES,
        "masked": np.ma.MaskedArray(VALUES, VALUES % 3 == 0),
        "flags": VALUES % 2 == 0,
        "text": np.array([f"t{i}" * (i % 3) for i in range(5)], object),
        ".": {name: {".dims": ["i", "j", "k"]} for name in ("x", "masked", "flags")} | {"text": {".dims": ["i"]}},
    }
    ds.write(where, dataset)
    return where


def same_encoding(left, right):
    for name in left.variables:
        for key in ENCODED:
            if key == "dtype" and left[name].dtype.kind in "UO":
                continue  # text: the engine netcdf4 reads it when it opens a file, to learn its dtype
            found, expected = right[name].encoding.get(key), left[name].encoding.get(key)
            assert np.array_equal(np.asarray(found), np.asarray(expected)) or found == expected or found != found, (
                name,
                key,
            )
    assert right.encoding["unlimited_dims"] == left.encoding["unlimited_dims"]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"mask_and_scale": False},
        {"decode_times": False},
        {"decode_cf": False},
        {"decode_timedelta": True},
        {"concat_characters": False},
        {"decode_coords": "all"},
        {"mask_and_scale": {"packed": False}, "decode_times": {"late": False}},
    ],
    ids=str,
)
@pytest.mark.filterwarnings("ignore:variable .* has multiple fill values", "ignore:In a future version")
@pytest.mark.parametrize("name", ["a.ds", "a.nc"])
def test_a_converted_file_is_what_the_netcdf_file_is(tmp_path, options, name):
    """So is the NetCDF file itself, as this engine opens it."""
    nc_files.make(tmp_path / "a.nc")
    ds.convert(tmp_path / "a.nc", tmp_path / "a.ds")
    with xr.open_dataset(tmp_path / "a.nc", engine="netcdf4", **options) as expected:
        found = xr.open_dataset(tmp_path / name, engine="ds", **options)
        xr.testing.assert_identical(found, expected)
        for name in expected.variables:
            assert found[name].dtype == expected[name].dtype or expected[name].dtype.kind == "U", name
        same_encoding(expected, found)


@pytest.mark.parametrize("name", ["a.ds", "a.nc"])
@pytest.mark.parametrize("encoding", [{}, {"_Encoding": "utf-8"}])
def test_characters_named_like_their_dimension(tmp_path, name, encoding):
    """Decoded to text they are no longer the bytes that mean missing."""
    path = tmp_path / "a.nc"
    with netCDF4.Dataset(path, "w") as file:
        file.createDimension("code", 3)
        nc_files.put(file, "code", "S1", ("code",), np.array([b"a", b"X", b"b"]), fill=b"X", **encoding)
    ds.convert(path, tmp_path / "a.ds")
    with xr.open_dataset(path, engine="netcdf4") as expected:
        found = xr.open_dataset(tmp_path / name, engine="ds")
        assert repr(found["code"].values.tolist()) == repr(expected["code"].values.tolist())
        assert repr(found["code"].encoding["_FillValue"]) == repr(expected["code"].encoding["_FillValue"])


@pytest.mark.parametrize("kind", ["NETCDF3_64BIT_OFFSET", "NETCDF4"])
def test_chunks_and_threads_of_a_netcdf_file(tmp_path, kind):
    pytest.importorskip("dask", reason="dask is not installed")
    x = np.arange(40.0).reshape(8, 5)
    chunks = {} if kind == "NETCDF3_64BIT_OFFSET" else {".netcdf": {"chunks": [3, 5], "compression": "zlib"}}
    meta = {"x": {".dims": ["i", "j"], **chunks}, ".": {".netcdf": {"unlimited": ["i"]}}}
    ds.write(tmp_path / "a.nc", {"x": x, ".": meta}, format=kind)
    os.rename(tmp_path / "a.nc", tmp_path / "renamed")  # its content decides
    lazy = xr.open_dataset(tmp_path / "renamed", engine="ds", chunks={})
    assert lazy["x"].encoding.get("preferred_chunks") == ({"i": 3, "j": 5} if chunks else None)
    assert lazy["x"].chunks == (((3, 3, 2), (5,)) if chunks else ((8,), (5,)))
    assert n_open(tmp_path / "renamed") == 0
    np.testing.assert_array_equal(lazy["x"].compute(scheduler="threads"), x)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(lazy))["x"][2:4], x[2:4])


def test_unwritten_flags_of_a_netcdf_file(tmp_path):
    with netCDF4.Dataset(tmp_path / "a.nc", "w") as file:
        file.createDimension("i", 4)
        file.createVariable("flags", "i1", ("i",)).setncattr("dtype", "bool")
        file["flags"][:2] = [0, 1]
    with xr.open_dataset(tmp_path / "a.nc", engine="netcdf4") as expected:
        ds.convert(tmp_path / "a.nc", tmp_path / "a.ds")
        for path in (tmp_path / "a.nc", tmp_path / "a.ds"):
            for found in (xr.open_dataset(path, engine="ds"), ds.open_many(path, "i")):
                xr.testing.assert_identical(found, expected)
                assert (found["flags"].dtype, found["flags"].values.tolist()) == (bool, [False, True, True, True])
            found = xr.open_dataset(path, engine="ds", default_fill="missing")
            assert found["flags"].isnull().values.tolist() == [False, False, True, True]


def test_groups_are_what_the_netcdf_file_has(tmp_path):
    nc_files.make_groups(tmp_path / "a.nc")
    ds.convert(tmp_path / "a.nc", tmp_path / "a.ds")
    with xr.open_datatree(tmp_path / "a.nc", engine="netcdf4") as expected:
        xr.testing.assert_identical(xr.open_datatree(tmp_path / "a.nc", engine="ds"), expected)
    with xr.open_datatree(tmp_path / "a.nc", engine="netcdf4") as expected:
        xr.testing.assert_identical(xr.open_datatree(tmp_path / "a.ds", engine="ds"), expected)
        assert "/empty/too" in expected.groups
    with xr.open_datatree(tmp_path / "a.nc", engine="netcdf4", group="a") as expected:
        xr.testing.assert_identical(xr.open_datatree(tmp_path / "a.ds", engine="ds", group="a"), expected)
    groups = xr.open_groups(tmp_path / "a.ds", engine="ds")
    assert list(groups) == ["/", "/a", "/a/b", "/empty", "/empty/too"]
    for name in groups:
        with xr.open_dataset(tmp_path / "a.nc", engine="netcdf4", group=name) as expected:
            found = xr.open_dataset(tmp_path / "a.ds", engine="ds", group=name)
            xr.testing.assert_identical(found, expected)
            assert found.encoding["unlimited_dims"] == expected.encoding["unlimited_dims"]
    with pytest.raises(ds.MissingGroupError, match=r'a\.ds: group "emty" not found: did you mean empty'):
        xr.open_dataset(tmp_path / "a.ds", engine="ds", group="emty")


def test_two_dimensions_of_one_name(tmp_path):
    ds.write(tmp_path / "a.ds", {"a/x": np.zeros((2, 3)), ".": {"a/x": {".dims": ["t", "a/t"]}}})
    with pytest.raises(ds.UnsupportedError, match=r'variable "a/x".*the name "t" twice'):
        xr.open_dataset(tmp_path / "a.ds", engine="ds", group="a")


INDEXES = [
    {"i": 2},
    {"i": -1, "k": slice(None, None, -2)},
    {"j": [4, 1, 1], "i": slice(1, 4)},
    {"k": [6, 0], "j": [5, 5, 2], "i": [0, 4]},
    {"i": []},
    {"i": slice(3, 3)},
    {"j": np.array([True, False, True, False, False, True])},
    {"i": xr.Variable("p", [0, 4, 2]), "k": xr.Variable("p", [1, 1, 6])},
    {"i": xr.Variable("p", [0, 4]), "j": slice(None, None, -1)},
    {"i": xr.Variable(("p", "q"), [[0, 1], [4, 4]]), "j": 3},
]


@pytest.mark.parametrize("index", INDEXES, ids=str)
@pytest.mark.parametrize("chunks", [None, {}, {"i": 2, "k": 3}], ids=str)
def test_indexing(path, index, chunks):
    if chunks is not None:
        pytest.importorskip("dask", reason="dask is not installed")
    expected = xr.load_dataset(path, engine="ds")
    lazy = xr.open_dataset(path, engine="ds", chunks=chunks)
    np.testing.assert_array_equal(expected["x"], VALUES)
    np.testing.assert_array_equal(expected["masked"], np.where(VALUES % 3 == 0, np.nan, VALUES))
    for name in expected:
        own = {dim: item for dim, item in index.items() if dim in expected[name].dims}
        xr.testing.assert_identical(lazy[name].isel(own).isel(own if not own else {}), expected[name].isel(own))


def test_nothing_is_read_before_it_is_asked_for(path):
    lazy = xr.open_dataset(path, engine="ds")
    assert not any(lazy[name].variable._in_memory for name in lazy)
    lazy["x"][0].load()
    repr(lazy), lazy._repr_html_()
    assert not any(lazy[name].variable._in_memory for name in lazy)


def test_no_descriptor_stays_open(path):
    opened = [xr.open_dataset(path, engine="ds") for _ in range(20)]
    for one in opened:
        one["x"][0].load()
    assert not n_open(path)


def test_one_dataset_in_many_threads(path):
    lazy = xr.open_dataset(path, engine="ds", cache=False)
    with ThreadPoolExecutor(8) as threads:
        found = threads.map(lambda i: lazy["masked"][i % 5].values, range(200))
    for i, values in enumerate(found):
        np.testing.assert_array_equal(values, np.where(VALUES % 3 == 0, np.nan, VALUES)[i % 5])


def test_values_can_be_changed_and_the_file_does_not(path):
    before = path.read_bytes()
    for lazy in (xr.open_dataset(path, engine="ds"), xr.load_dataset(path, engine="ds")):
        lazy["x"][0, 0, 0] = -1
        assert lazy["x"].values[0, 0, 0] == -1
    assert path.read_bytes() == before


def test_it_travels(path):
    lazy = xr.open_dataset(path, engine="ds")
    xr.testing.assert_identical(pickle.loads(pickle.dumps(lazy)), lazy)


@pytest.mark.parametrize("change", [lambda p: ds.write(p, {"x": [1]}), lambda p: os.truncate(p, 500), os.unlink])
def test_a_file_that_does_not_stay_is_an_error(path, change):
    lazy = xr.open_dataset(path, engine="ds")
    change(path)
    with pytest.raises((ds.ReplacedError, FileNotFoundError), match=r"a\.ds"):
        lazy["x"].load()


def test_many_files_by_xarray(tmp_path):
    pytest.importorskip("dask", reason="dask is not installed")
    for i in range(3):
        dataset = {"t": [2 * i, 2 * i + 1], "x": [0.5, i], ".": {"t": {".dims": ["t"]}, "x": {".dims": ["t"]}}}
        ds.write(tmp_path / f"{i}.ds", dataset)
    paths = sorted(map(str, tmp_path.glob("*.ds")))
    found = xr.open_mfdataset(paths, engine="ds", parallel=True, combine="nested", concat_dim="t", data_vars="all")
    assert found["t"].values.tolist() == [0, 1, 2, 3, 4, 5] and found["x"].values.tolist() == [0.5, 0, 0.5, 1, 0.5, 2]


def test_files_are_told_by_what_they_are(path, tmp_path):
    entrypoint = pytest.importorskip("ds_format.xarray_.entrypoint").DsBackendEntrypoint()
    assert entrypoint.guess_can_open(path) and entrypoint.guess_can_open(str(path))
    ds.write(tmp_path / "old.ds", {"x": [1]}, version="2.0.1")
    assert entrypoint.guess_can_open(tmp_path / "old.ds")
    (tmp_path / "a.json").write_text("{}")
    (tmp_path / "b.ds").write_text("CDF")
    os.mkdir(tmp_path / "meg.ds")
    os.mkfifo(tmp_path / "pipe.ds")
    for name in ("a.json", "b.ds", "meg.ds", "pipe.ds", "absent.ds"):
        assert not entrypoint.guess_can_open(tmp_path / name)
    assert not entrypoint.guess_can_open(b"ds-1.0\n") and not entrypoint.guess_can_open("a\0.ds")
    assert xr.open_dataset(path)["x"].shape == (5, 6, 7)
    for chosen in (None, "ds"):
        with pytest.raises(FileNotFoundError):
            xr.open_dataset(tmp_path / "absent.ds", engine=chosen)
    with pytest.raises(TypeError, match="found int, expected a path"):
        xr.open_dataset(5, engine="ds")
    with pytest.raises(ds.FormatError, match=r"b\.ds"):
        xr.open_dataset(tmp_path / "b.ds", engine="ds")


def test_what_is_imported(path):
    code = """
import sys, ds_format
assert not {"xarray", "dask", "numpy"} & set(sys.modules)
import xarray
before = set(sys.modules)
import ds_format.xarray_.entrypoint as entrypoint
new = {name for name in set(sys.modules) - before if not name.startswith("ds_format")}
assert not new, new
own = {name for name in sys.modules if name.startswith("ds_format")}
forks = {"ds_format.base", "ds_format.base.forks"}  # which registers what happens before a fork
assert own == forks | {"ds_format", "ds_format.xarray_", "ds_format.xarray_.entrypoint"}, own
xarray.backends.list_engines()
others = set(sys.modules)
entrypoint.DsBackendEntrypoint().guess_can_open(sys.argv[1])
xarray.open_dataset(sys.argv[1], engine="ds")
assert not {"netCDF4", "h5py"} & (set(sys.modules) - others)
"""
    subprocess.run([sys.executable, "-c", code, str(path)], check=True)


def test_a_dropped_variable_is_not_read(path):
    assert "x" not in xr.open_dataset(path, engine="ds", drop_variables=["x"])
    assert "text" not in xr.open_dataset(path, engine="ds", drop_variables="text")


def test_wrong_options(path):
    with pytest.raises(ValueError, match="default_fill: found 'nan'"):
        xr.open_dataset(path, engine="ds", default_fill="nan")


def test_dask_names_are_those_of_the_file(path):
    pytest.importorskip("dask", reason="dask is not installed")
    first, again = (xr.open_dataset(path, engine="ds", chunks={}) for _ in range(2))
    assert first["x"].data.name == again["x"].data.name


def test_without_xarray():
    code = """
import sys
sys.modules["xarray"] = None
import ds_format
from ds_format import *
for name in ("open_many", "to_xarray", "from_xarray"):
    try:
        getattr(ds_format, name)
    except ImportError as error:
        assert error.name == "xarray" and "pip install 'ds-format-cython[xarray]'" in str(error), error
    else:
        raise SystemExit(name)
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_many_files_are_closed(tmp_path):
    for i in range(2):
        ds.write(tmp_path / f"{i}.ds", {"x": [i], ".": {"x": {".dims": ["t"]}}})
    pytest.importorskip("dask", reason="open_mfdataset needs dask")
    paths = sorted(tmp_path.glob("*.ds"))
    for parallel in (False, True):
        options = {"engine": "ds", "combine": "nested", "concat_dim": "t", "parallel": parallel}
        with xr.open_mfdataset(paths, **options) as opened:
            assert opened["x"].values.tolist() == [0, 1]
    pickle.loads(pickle.dumps(xr.open_dataset(paths[0], engine="ds"))).close()
    with xr.open_datatree(paths[0], engine="ds") as tree:
        tree.close()


def test_a_group_that_does_not_exist(tmp_path):
    ds.write(tmp_path / "a.ds", {"g/x": 1})
    for function in (xr.open_dataset, xr.open_datatree, xr.open_groups):
        for kind in (ds.DsError, KeyError, OSError):
            with pytest.raises(kind, match='group "nope" not found'):
                function(tmp_path / "a.ds", engine="ds", group="nope")
    with pytest.raises(ds.MissingGroupError) as caught:
        xr.open_dataset(tmp_path / "a.ds", engine="ds", group="nope")
    again = pickle.loads(pickle.dumps(caught.value))
    assert (str(again), again.path) == (str(caught.value), str(tmp_path / "a.ds"))


def test_automatic_chunks_beside_text(tmp_path):
    dask = pytest.importorskip("dask", reason="needs dask")
    missing = [i == 1 for i in range(6)]
    given = {
        "text": np.array(list("abcdef"), object),
        "masked": np.ma.MaskedArray(np.array(list("abcdef"), object), missing),
        "flags": np.ma.MaskedArray([True] * 6, missing),
        "number": np.arange(6.0),
    }
    ds.write(tmp_path / "a.ds", {**given, ".": {name: {".dims": ["i"]} for name in given}})
    plain = xr.open_dataset(tmp_path / "a.ds", engine="ds")
    with dask.config.set({"array.chunk-size": "16B"}):
        for opened in (xr.open_dataset(tmp_path / "a.ds", engine="ds", chunks="auto"), plain.chunk("auto")):
            assert opened["number"].chunks == ((2, 2, 2),)
            for name in ("text", "masked", "flags"):
                assert opened[name].chunks == ((6,),), name
            xr.testing.assert_identical(opened.compute(), plain)
        # the objects of others are left to xarray
        with pytest.raises(NotImplementedError, match="object"):
            xr.Dataset({"x": ("i", np.array(list("ab"), object))}).chunk("auto")


@pytest.mark.parametrize(
    ("shape", "dtype", "expected"),
    [
        ((31, 361, 720), "f4", (31, 46, 720)),  # one month of fields: 4 MB
        ((124, 721, 1440), "f4", (124, 23, 1440)),  # 16 MB
        ((365, 37, 361, 720), "f4", (365, 1, 15, 720)),  # levels: one series is in one of them
        ((8760, 5000), "f4", (8760, 2500)),  # stations: 16 kB at each time
        ((100_000, 361, 720), "f4", (16384, 5, 720)),
        ((10_000_000, 3), "f8", (666_667, 3)),  # small inner axes: cut along the first one
        ((20_000_000,), "f8", (2_000_000,)),
        ((2, 5_000_000), "f8", (2, 625_000)),
        ((1000, 1000), "f8", None),
        ((10_000_000,), "O", None),
        ((0, 361, 720), "f4", None),
        ((), "f8", None),
    ],
)
def test_chunks_of_large_variables(shape, dtype, expected):
    assert engine.preferred_chunks(shape, np.dtype(dtype)) == expected


def test_large_variables_are_opened_in_chunks(tmp_path, monkeypatch):
    pytest.importorskip("dask", reason="needs dask")
    monkeypatch.setattr(engine, "MIN_CHUNKED", 1000)
    monkeypatch.setattr(engine, "MIN_CHUNK", 500)
    monkeypatch.setattr(engine, "MIN_STRETCH", 50)
    values = np.arange(6 * 10 * 10.0).reshape(6, 10, 10)
    meta = {"x": {".dims": ["t", "lat", "lon"]}, "small": {".dims": ["t"]}}
    ds.write(tmp_path / "a.ds", {"x": values, "small": values[:, 0, 0], ".": meta})
    opened = xr.open_dataset(tmp_path / "a.ds", engine="ds", chunks={})
    assert opened["x"].encoding["preferred_chunks"] == {"t": 6, "lat": 1, "lon": 10}
    assert opened["x"].data.numblocks == (1, 10, 1) and opened["small"].data.numblocks == (1,)
    read = []
    original = lazy_variables.LazyArray._read

    def logged(self, key):
        read.append(key)
        return original(self, key)

    monkeypatch.setattr(lazy_variables.LazyArray, "_read", logged)
    series = (opened["x"] + 1).isel(lat=3, lon=4)
    assert np.array_equal(series, values[:, 3, 4] + 1)
    assert len(read) == 1 and np.empty(values.shape)[read[0]].size == 60  # one chunk of ten
    xr.testing.assert_identical(opened.load(), xr.open_dataset(tmp_path / "a.ds", engine="ds").load())
    ds.write(tmp_path / "b.ds", opened)
    assert ds.read(tmp_path / "b.ds")["x"].tolist() == values.tolist()
