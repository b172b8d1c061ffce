"""The engine "ds" on NetCDF files of every kind, as the engine netcdf4: also on those that the library must read."""

import copy
import gc
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

xr = pytest.importorskip("xarray", reason="xarray is not installed")
netCDF4 = pytest.importorskip("netCDF4")
h5py = pytest.importorskip("h5py")

import ds_format as ds  # noqa: E402
from ds_format.drivers.library import kept  # noqa: E402
from ds_format.drivers.netcdf.source import NetCDFSource  # noqa: E402
from tests.descriptors import n_open, needs_proc  # noqa: E402

ENCODED = (
    *("dtype", "_FillValue", "chunksizes", "preferred_chunks", "char_dim_name", "zlib", "shuffle"),
    *("complevel", "fletcher32", "contiguous", "least_significant_digit"),
)
NOT_TOLD = {"zlib": False, "shuffle": False, "complevel": 0, "fletcher32": False, "contiguous": True}
"""What the engine netcdf4 says of variables that are not chunked, where the engine ds says nothing."""


def put_characters(group):
    group.createDimension("time", None)
    group.createDimension("n", 4)
    group.createDimension("x", 6)
    words = netCDF4.stringtochar(np.array(["ab", "c", "abcd", "", "e"], "S4"))
    group.createVariable("chunked", "S1", ("time", "n"))[:] = words
    group.createVariable("compressed", "S1", ("time", "n"), zlib=True, chunksizes=(2, 3))[:] = words
    group.createVariable("name", "S1", ("n",))[:] = words[0]
    rounded = group.createVariable("rounded", "f4", ("time", "x"), zlib=True, least_significant_digit=2)
    rounded[:] = np.arange(30.0).reshape(5, 6)


def characters(path):
    with netCDF4.Dataset(path, "w") as file:
        put_characters(file)


def groups(path):
    with netCDF4.Dataset(path, "w") as file:
        put_characters(file.createGroup("a").createGroup("b"))
        file.createVariable("top", "f4", ())[...] = 1


def numbers(file):
    file.createDimension("x", 3)
    file.createVariable("n", "f8", ("x",))[:] = [1, 2, 3]
    file.createVariable("packed", "i2", ("x",), fill_value=2)[:] = [1, 2, 3]
    file["packed"].scale_factor = 0.5


def enum(path):
    with netCDF4.Dataset(path, "w") as file:
        numbers(file)
        kind = file.createEnumType("u1", "cover", {"clear": 0, "cloud": 1})
        file.createVariable("e", kind, ("x",), fill_value=1)[:] = np.array([0, 1, 0], "u1")


def compound(path):
    kind = np.dtype([("a", "i4"), ("b", "f8")], align=True)
    with netCDF4.Dataset(path, "w") as file:
        numbers(file)
        pair = file.createCompoundType(kind, "pair")
        file.createVariable("c", pair, ("x",), zlib=True)[:] = np.array([(1, 2), (3, 4), (5, 6)], kind)
        file["c"].units = "m"
        file.createVariable("one", pair, ())[...] = np.array((7, 8), kind)


def ragged(path):
    with netCDF4.Dataset(path, "w") as file:
        numbers(file)
        file.createVariable("v", file.createVLType("i4", "ragged"), ("x",))[0] = np.arange(2, dtype="i4")


def scaled(file, name="x", **options):
    """Add a scale and a variable on it."""
    scale = file.create_dataset(name, data=np.arange(3.0))
    scale.make_scale(name.rpartition("/")[2])
    file.create_dataset("n", data=[4, 5, 6], **options).dims[0].attach_scale(scale)


def opaque(path):
    with h5py.File(path, "w") as file:
        scaled(file)
        file.create_dataset("o", data=np.zeros(3, "V5")).dims[0].attach_scale(file["x"])


def user_block(path):
    with h5py.File(path, "w", userblock_size=1024) as file:
        scaled(file, chunks=(2,), compression="gzip")


def odd_names(path):
    with h5py.File(path, "w", track_order=True) as file:
        scaled(file, " a b")


def soft_links(path, n=0):
    with h5py.File(path, "w") as file:
        scaled(file, "g/x")
        file["x"] = h5py.SoftLink("/g/x")
        file.create_dataset("m", data=[7, 8, 9]).dims[0].attach_scale(file["x"])
        for i in range(n):
            file.create_dataset(f"s{i}", data=float(i))


KINDS = [characters, groups, enum, compound, ragged, opaque, user_block, odd_names, soft_links]
UNSUPPORTED = {"v", "o"}


def check_equal(found, expected):
    assert set(found.variables) == set(expected.variables) - UNSUPPORTED
    for name, variable in found.variables.items():
        other = expected.variables[name]
        assert (variable.dims, variable.attrs) == (other.dims, other.attrs)
        assert variable.dtype == other.dtype
        np.testing.assert_array_equal(variable.values, other.values)
        for key in ENCODED:
            one, two = variable.encoding.get(key), other.encoding.get(key)
            assert one == two or (one is None and NOT_TOLD.get(key) == two), (name, key)
    assert found.encoding["unlimited_dims"] == expected.encoding["unlimited_dims"]


@pytest.fixture(params=KINDS, ids=lambda make: make.__name__)
def path(request, tmp_path):
    where = tmp_path / "a.nc"
    request.param(where)
    return where


@pytest.mark.filterwarnings("ignore:.*left out", "ignore:.*has unsupported", "ignore:variable 'o'")
class TestAsNetcdf4:
    @pytest.mark.parametrize("options", [{}, {"concat_characters": False}, {"mask_and_scale": False}], ids=str)
    def test_all_groups(self, path, options):
        expected = xr.open_groups(path, engine="netcdf4", **options)
        found = xr.open_groups(path, engine="ds", **options)
        assert list(found) == list(expected)
        for group in found:
            check_equal(found[group], expected[group])
            check_equal(xr.open_dataset(path, engine="ds", group=group, **options), expected[group])
        xr.open_datatree(path, engine="ds", **options).close()

    @pytest.mark.parametrize("chunks", [{}, {"time": 2}, "auto"], ids=str)
    def test_chunks(self, path, chunks):
        expected = xr.open_dataset(path, engine="netcdf4", group="a/b" if groups_of(path) else None, chunks=chunks)
        found = xr.open_dataset(path, engine="ds", group="a/b" if groups_of(path) else None, chunks=chunks)
        expected = expected.drop_vars(UNSUPPORTED, errors="ignore")
        assert {name: found[name].chunks for name in found} == {name: expected[name].chunks for name in found}
        xr.testing.assert_identical(found.compute(), expected.compute())

    def test_many_files(self, path, tmp_path):
        other = tmp_path / "b.nc"
        other.write_bytes(path.read_bytes())
        options = {"combine": "nested", "concat_dim": "new", "data_vars": "all"}
        # the engine netcdf4 opens files without a lock, which can end the process if it is done in parallel
        expected = xr.open_mfdataset([path, other], engine="netcdf4", **options)
        found = xr.open_mfdataset([path, other], engine="ds", parallel=True, **options)
        xr.testing.assert_identical(found.compute(), expected.drop_vars(UNSUPPORTED, errors="ignore").compute())

    def test_copies(self, path):
        found = xr.open_dataset(path, engine="ds")
        expected = xr.load_dataset(path, engine="ds")
        for travelled in (pickle.loads(pickle.dumps(found)), copy.deepcopy(found)):
            xr.testing.assert_identical(travelled.load(), expected)
        with ThreadPoolExecutor(4) as threads:
            for loaded in threads.map(lambda _: xr.load_dataset(path, engine="ds"), range(8)):
                xr.testing.assert_identical(loaded, expected)


def groups_of(path):
    with netCDF4.Dataset(path) as file:
        return "a" in file.groups


def test_characters_of_a_group_are_written_with_their_dimension(tmp_path):
    groups(tmp_path / "a.nc")
    tree = xr.open_datatree(tmp_path / "a.nc", engine="ds").load()
    ds.write(tmp_path / "b.nc", tree)
    assert ds.read(tmp_path / "b.nc")["."]["a/b/name"][".netcdf"]["char"] == {"dim": "a/b/n", "size": 4}
    ds.write(tmp_path / "c.nc", tree["a/b"].to_dataset())
    assert ds.read(tmp_path / "c.nc")["."]["name"][".netcdf"]["char"] == {"dim": "n", "size": 4}
    assert ds.read(tmp_path / "c.nc")["."]["rounded"]["least_significant_digit"] == 2


def test_attributes_that_ds_does_not_have_are_left_out_with_a_warning(tmp_path):
    compound(path := tmp_path / "a.nc")
    with netCDF4.Dataset(path, "a") as file:
        value = np.array((1, 2), file["c"].dtype)
        for owner in (file, file["n"]):
            owner.setncattr("pair", value)
            owner.setncattr("kept", 1)
    with pytest.warns(ds.LossWarning, match='left out: attribute "pair": a compound type') as caught:
        opened = xr.load_dataset(path, engine="ds")
    assert len(caught) == 2 and opened.attrs == opened["n"].attrs == {"kept": 1}
    assert opened["n"].values.tolist() == [1, 2, 3] and opened["c"].dtype.names == ("a", "b")


@pytest.mark.parametrize(("make", "name"), [(ragged, "v"), (opaque, "o")])
def test_what_ds_does_not_have_is_left_out_with_a_warning(tmp_path, make, name):
    make(tmp_path / "a.nc")
    with pytest.warns(ds.LossWarning, match=f'a.nc: variable "{name}": left out: .*not supported by ds'):
        assert name not in xr.open_dataset(tmp_path / "a.nc", engine="ds")


def test_a_user_block_without_a_suffix(tmp_path):
    user_block(tmp_path / "file")
    assert xr.load_dataset(tmp_path / "file", engine="ds")["n"].values.tolist() == [4, 5, 6]
    (tmp_path / "b.nc").write_bytes(bytes(2000))
    with pytest.raises(ds.FormatError, match="no NetCDF file, but zeros"):
        xr.open_dataset(tmp_path / "b.nc", engine="ds")


@pytest.fixture
def opened(monkeypatch):
    """Paths of files that the library opens, in this process."""
    found = []
    plain = NetCDFSource.__init__

    def init(self, path, **options):
        found.append(path)
        plain(self, path, **options)

    monkeypatch.setattr(NetCDFSource, "__init__", init)
    return found


class TestKeptFiles:
    def test_one_load_opens_the_file_once(self, tmp_path, opened):
        path = tmp_path / "a.nc"
        soft_links(path, 20)
        loaded = xr.load_dataset(path, engine="ds")
        assert [float(loaded[f"s{i}"]) for i in range(20)] == [*range(20)]
        assert len(opened) == 1
        assert not n_open(path)

    @needs_proc
    def test_it_is_closed_when_everything_is_loaded(self, tmp_path):
        soft_links(path := tmp_path / "a.nc", 3)
        lazy = xr.open_dataset(path, engine="ds")
        assert float(lazy["s1"]) == 1 and n_open(path)
        lazy.load()
        gc.collect()
        assert not n_open(path)
        lazy = xr.open_dataset(path, engine="ds")
        assert n_open(path)
        del lazy
        gc.collect()
        assert not n_open(path)

    @needs_proc
    def test_closing_a_dataset_closes_it(self, tmp_path):
        soft_links(path := tmp_path / "a.nc", 3)
        lazy = xr.open_dataset(path, engine="ds")
        with lazy:
            assert float(lazy["s1"]) == 1
        assert not n_open(path)
        assert float(lazy["s2"]) == 2  # opens it again, as the engine netcdf4 does

    @needs_proc
    def test_few_files_stay_open(self, tmp_path, opened):
        paths = [tmp_path / f"{i}.nc" for i in range(kept.MAX_OPEN + 5)]
        for path in paths:
            soft_links(path, 2)
        each = [xr.open_dataset(path, engine="ds") for path in paths]
        assert n_open(*paths) <= kept.MAX_OPEN
        assert sum(float(lazy["s1"]) for lazy in each) == len(paths)
        assert n_open(*paths) <= kept.MAX_OPEN

    def test_a_file_modified_in_place_is_an_error_and_opens_anew(self, tmp_path):
        soft_links(path := tmp_path / "a.nc", 3)
        lazy = xr.open_dataset(path, engine="ds")
        assert float(lazy["s1"]) == 1
        with netCDF4.Dataset(tmp_path / "b.nc", "w") as file:
            numbers(file)
            file.createCompoundType(np.dtype([("a", "i4")]), "unused")
        path.write_bytes((tmp_path / "b.nc").read_bytes())
        with pytest.warns(ds.LossWarning, match="unused"):
            assert xr.load_dataset(path, engine="ds")["n"].values.tolist() == [1, 2, 3]
        with pytest.raises(ds.ReplacedError, match="opened"):
            lazy["s2"].load()

    def test_threads_read_one_dataset(self, tmp_path):
        soft_links(path := tmp_path / "a.nc", 40)
        lazy = xr.open_dataset(path, engine="ds", cache=False)
        with ThreadPoolExecutor(4) as threads:
            for _ in range(5):
                assert [*threads.map(lambda i: float(lazy[f"s{i}"]), range(40))] == [*range(40)]

    def test_handles_of_a_source(self, tmp_path, opened):
        soft_links(path := tmp_path / "a.nc", 3)
        with ds.open(path) as file:
            handles = [file[f"s{i}"].handle() for i in range(3)]
        assert [handle.read() for handle in handles] == [0, 1, 2]
        assert len(opened) == 2
        assert [handle.read() for handle in pickle.loads(pickle.dumps(handles))] == [0, 1, 2]
        assert len(opened) == 3


@pytest.mark.parametrize("options", [{}, {"load": True}, {"chunks": {}}], ids=["lazy", "loaded", "chunked"])
def test_many_files_leave_out_what_one_file_does(tmp_path, options):
    with netCDF4.Dataset(tmp_path / "a.nc", "w") as file:
        file.createDimension("n", 2)
        kind = file.createCompoundType(np.dtype([("a", "i4"), ("b", "f4")]), "pair")
        file.createVariable("n", kind, ("n",))[:] = np.ones(2, kind.dtype)
        file.createVariable("x", "i4", ("n",), fill_value=False)[:] = [1, 2]
    paths = [tmp_path / "a.nc"] * 2
    with pytest.warns(ds.LossWarning, match='variable "n": left out: the compound type "pair"'):
        found = ds.open_many(paths, "n", **options)
    assert [*found.variables] == ["x"] and found["x"].values.tolist() == [1, 2, 1, 2]
    ds.open_many(paths, "n", drop_variables="n", **options)  # without a warning
    with pytest.raises(ds.UnsupportedError, match='variable "n": the compound type "pair" is not supported'):
        ds.open_many(paths, "n", variables=["n", "x"], **options)
