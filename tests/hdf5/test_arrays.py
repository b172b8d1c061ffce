"""Values of HDF5 files: the same as those of the libraries, and of the plain parser."""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import h5py
import netCDF4
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray

from ds_format import hdf5
from ds_format.body.body import Body, FileBody, MemoryBody
from ds_format.codec import filters
from ds_format.errors import DsError, FormatError, TruncatedError

from ..same import same_data
from . import reference
from .far import FarBody
from .files import MAKERS, each
from .reference_heaps import UnknownError


def bodies(path: Path) -> list[Body]:
    data = path.read_bytes()
    return [MemoryBody(str(path), data), FileBody.open(str(path)), FarBody(data)]


def read(body: Body, name: str, slices: tuple[slice, ...] | None = None, **options: Any) -> NDArray[Any]:
    return hdf5.values(body, place(body, name), slices, **options)[0]


def place(body: Body, name: str) -> hdf5.DatasetPlace:
    return hdf5.place_of(next(each for each in hdf5.read_file(body).datasets if each.name == name))


def same(found: NDArray[Any], expected: NDArray[Any]) -> bool:
    return found.flags.c_contiguous and same_data(found, expected)


@pytest.fixture(scope="module", params=each(lambda maker: maker.reason is None))
def made(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    maker = MAKERS[request.param]
    path = tmp_path_factory.mktemp("made") / f"{request.param}.nc"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the libraries
        maker.make(path)
    yield path
    path.unlink()


def parts(shape: tuple[int, ...]) -> list[tuple[slice, ...]]:
    """Return some parts of a shape."""
    halves = [(slice(0, n // 2), slice(n // 2, n), slice(n // 3, n // 3 + min(n, 1))) for n in shape]
    return [tuple(half[i] for half in halves) for i in range(3)]


def test_as_the_oracle(made: Path) -> None:
    data = made.read_bytes()
    for body in bodies(made):
        for dataset in hdf5.read_file(body).datasets:
            try:
                expected = reference.values(data, dataset)
            except UnknownError:
                continue
            where = hdf5.place_of(dataset)
            found, _ = hdf5.values(body, where, as_text=True)
            assert same(found, expected), (dataset, type(body))
            for part in parts(found.shape):
                slab, _ = hdf5.values(body, where, part, as_text=True)
                assert same(slab, np.array(expected[part], found.dtype)), (dataset, part)


CODES = ("f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "S1", "S3")

PIPELINES: list[dict[str, Any]] = [
    {},
    {"compression": "gzip"},
    {"compression": "gzip", "shuffle": True},
    {"shuffle": True},
    {"fletcher32": True},
    {"compression": "gzip", "shuffle": True, "fletcher32": True},
]


@st.composite
def datasets(draw: st.DrawFn) -> tuple[dict[str, Any], tuple[slice, ...], Any]:
    """Draw a dataset, a slab of it, and what of it is written."""
    shape = draw(hnp.array_shapes(min_dims=1, max_dims=4, min_side=1, max_side=9))
    chunks = tuple(draw(st.integers(1, n + 2)) for n in shape)
    options: dict[str, Any] = {"shape": shape, "dtype": draw(st.sampled_from("<>")) + draw(st.sampled_from(CODES))}
    if draw(st.sampled_from([True, True, True, False])):
        limits = [draw(st.sampled_from([max(n, c), max(n, c) + 5, None])) for n, c in zip(shape, chunks, strict=True)]
        options |= {"chunks": chunks, "maxshape": tuple(limits), **draw(st.sampled_from(PIPELINES))}
    if draw(st.booleans()):
        options["fillvalue"] = b"7" if "S" in options["dtype"] else 7
    slices = []
    for n in shape:
        start = draw(st.integers(0, n))
        slices.append(slice(start, draw(st.integers(start, n))))
    written = [slice(0, draw(st.sampled_from([n, n, draw(st.integers(0, n))]))) for n in shape]
    return options, tuple(slices), tuple(written)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(drawn=datasets(), libver=st.sampled_from(["earliest", "v108", "v110", "latest"]), has_deflate=st.booleans())
def test_as_h5py(tmp_path: Path, drawn: Any, libver: Any, has_deflate: bool) -> None:
    options, slices, written = drawn
    path = tmp_path / "a.h5"
    random = np.random.default_rng(1)
    with h5py.File(path, "w", libver=libver) as file:
        dataset = file.create_dataset("x", **options)
        values = random.integers(0, 100, [s.stop for s in written])
        dataset[written] = values.astype("S3" if "S" in options["dtype"] else options["dtype"])
        expected = dataset[...].astype(dataset.dtype.newbyteorder("="))
    with pytest.MonkeyPatch.context() as patch:
        if not has_deflate:
            patch.setattr(filters, "libdeflate", lambda: None)
        for body in bodies(path):
            assert same(read(body, "x"), expected)
            assert same(read(body, "x", slices), expected[slices].copy())
            for value in () if expected.dtype.kind == "S" else (7, 50):
                sought = np.array([200 - value, value]).astype(expected.dtype)
                slab, may_be_found = hdf5.values(body, place(body, "x"), slices, sought)
                assert same(slab, expected[slices].copy())
                assert may_be_found or not np.isin(slab, sought).any()


@pytest.mark.parametrize("options", [{}, {"compression": "gzip"}, {"compression": "gzip", "shuffle": True}])
@pytest.mark.parametrize("code", [">f4", "<f4", ">f8", "<i2", "u1"])
def test_values_that_are_sought_are_those_of_the_slab(tmp_path: Path, code: str, options: dict[str, Any]) -> None:
    """Values of the same chunks that are not in the slab do not count, and no second search is needed."""
    path, values = tmp_path / "a.h5", np.zeros((8, 300, 200), code)
    values[3, 150, 70], values[5, :, 199] = 7, 7
    with h5py.File(path, "w") as file:
        file.create_dataset("x", data=values, chunks=(2, 150, 200), **options)
    every = slice(0, 300)
    for body in bodies(path):
        where = place(body, "x")
        for slices, is_found in [
            ((slice(3, 4), every, slice(0, 200)), True),
            ((slice(2, 3), every, slice(0, 200)), False),
            ((slice(3, 4), slice(0, 150), slice(0, 200)), False),
            ((slice(5, 6), every, slice(0, 199)), False),
            ((slice(5, 6), every, slice(190, 200)), True),
            ((slice(0, 8), every, slice(0, 200)), True),
        ]:
            sought = np.array([9, 7], code).astype(values.dtype.newbyteorder("="))
            found, may_be_found = hdf5.values(body, where, slices, sought)
            assert same(found, values[slices].astype(found.dtype))
            assert may_be_found == is_found


@pytest.mark.parametrize("libver", ["earliest", "latest"])
@pytest.mark.parametrize("unlimited", [(0,), (1,), (0, 1), ()])
def test_of_a_dataset_that_was_cut(tmp_path: Path, libver: Any, unlimited: tuple[int, ...]) -> None:
    path = tmp_path / "a.h5"
    limits = tuple(None if axis in unlimited else 40 for axis in range(2))
    with h5py.File(path, "w", libver=libver) as file:
        dataset = file.create_dataset("x", (40, 40), "i4", chunks=(3, 4), maxshape=limits, compression="gzip")
        dataset[...] = np.arange(1600).reshape(40, 40)
        dataset.resize((17, 22))
        expected = dataset[...]
    for body in bodies(path):
        assert same(read(body, "x"), expected)


@pytest.mark.parametrize(("code", "value"), [("f4", np.nan), ("f8", 5), ("i2", 5), ("u1", 5), ("f2", 5)])
@pytest.mark.parametrize("options", [{}, {"chunks": (4,)}, {"chunks": (4,), "compression": "gzip", "shuffle": True}])
@pytest.mark.parametrize("order", "<>")
def test_sought(tmp_path: Path, code: str, value: Any, options: Any, order: str) -> None:
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as file:
        file.create_dataset("x", data=np.arange(10, dtype=order + code), **options)
        file["x"][5] = value
    body = MemoryBody("a.h5", path.read_bytes())
    for known in ([value], [77, value], [77]):
        is_there = hdf5.values(body, place(body, "x"), sought=np.array(known, code))[1]
        assert is_there == (value in known or code == "f2")
        assert hdf5.values(body, place(body, "x"))[1] is False


def test_place_is_pickled_with_its_index(tmp_path: Path) -> None:
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as file:
        file.create_dataset("x", data=np.arange(100), chunks=(7,))
        file["x"].attrs["long"] = np.arange(1000)
    body = FarBody(path.read_bytes())
    before = place(body, "x")
    hdf5.values(body, before, (slice(0, 1),))
    stored = pickle.dumps(before)
    assert len(stored) < 5000
    after = pickle.loads(stored)
    assert after == before == place(body, "x")
    body.requests = 0
    assert hdf5.values(body, after, (slice(48, 50),))[0].tolist() == [48, 49]
    assert body.requests == 1  # for both chunks


# strings

TEXTS = ["", "a", "é€😀", "a b  ", "x" * 5000]


@pytest.mark.parametrize("options", [{}, {"chunksizes": (2,), "zlib": True}])
def test_strings_as_netcdf4(tmp_path: Path, options: Any) -> None:
    path = tmp_path / "a.nc"
    with netCDF4.Dataset(path, "w") as file:
        file.createDimension("x", len(TEXTS) + 2)
        variable = file.createVariable("s", str, ("x",), **options)
        variable[: len(TEXTS)] = np.array(TEXTS, object)
        file.createVariable("one", str, ())[...] = "z"
        expected = variable[...]
    for body in bodies(path):
        assert same(read(body, "s", as_text=True), expected)
        assert read(body, "s").tolist() == [text.encode() for text in expected]
        assert read(body, "s", (slice(2, 4),), as_text=True).tolist() == TEXTS[2:4]
        assert same(read(body, "one", as_text=True), np.array("z", object))


@pytest.mark.parametrize("libver", ["earliest", "latest"])
def test_strings_that_are_not_text(tmp_path: Path, libver: Any) -> None:
    path = tmp_path / "a.h5"
    octets = [b"NULL in text", b"\xff\xfe", b"", b"c"]
    with h5py.File(path, "w", libver=libver) as file:
        file.create_dataset("x", data=np.array(octets, object), dtype=h5py.string_dtype())
    path.write_bytes(path.read_bytes().replace(b"NULL", b"a\0b\0"))
    with h5py.File(path) as file:
        expected = file["x"][...].tolist()
    with netCDF4.Dataset(path) as library:
        as_text = library["x"][:1].tolist()
    assert as_text == ["a\0b"[:1]]
    for body in bodies(path):
        assert read(body, "x").tolist() == expected
        assert read(body, "x", (slice(0, 1),), as_text=True).tolist() == as_text
        with pytest.raises(hdf5.Unusual, match="UTF-8"):  # netCDF4 does not read it either
            read(body, "x", as_text=True)


def test_strings_in_many_collections(tmp_path: Path) -> None:
    path = tmp_path / "a.h5"
    texts = [f"{i} " * (i % 50) for i in range(3000)]
    with h5py.File(path, "w") as file:
        file.create_dataset("x", data=np.array(texts, object), dtype=h5py.string_dtype(), chunks=(100,))
    body = FarBody(path.read_bytes())
    where = place(body, "x")
    hdf5.values(body, where, (slice(0, 0),))
    body.requests = 0
    assert hdf5.values(body, where, as_text=True)[0].tolist() == texts
    assert body.requests <= 30 + 1 + 3  # chunks, the index, and collections: their sizes, and all of them


def test_strings_never_written_have_the_fill_value(tmp_path: Path) -> None:
    path = tmp_path / "a.h5"
    fill = "nothing" * 1000
    with h5py.File(path, "w") as file:
        dtype = h5py.string_dtype()
        file.create_dataset("x", (5000,), dtype, chunks=(10,), fillvalue=fill)[5:7] = "a"
        file.create_dataset("nothing", (3,), dtype, chunks=(3,))
        expected = file["x"].asstr()[...]
    for body in bodies(path):
        assert same(read(body, "x", as_text=True), expected)
        assert read(body, "nothing").tolist() == [b""] * 3


# requests


def test_nodes_of_a_level_are_read_together(tmp_path: Path) -> None:
    path = tmp_path / "a.h5"
    for libver in ("earliest", "latest"):
        for limits in ((None,), (None, None)):
            n = 20_000 if len(limits) == 1 else 100
            shape = (n,) if len(limits) == 1 else (n, 200)
            with h5py.File(path, "w", libver=libver) as file:
                dataset = file.create_dataset("x", shape, "i2", chunks=(1,) * len(shape), maxshape=limits)
                dataset[...] = 3
            body = FarBody(path.read_bytes())
            where = place(body, "x")
            body.requests = 0
            stored = hdf5.stored_of(body, where)
            assert stored.chunks is not None
            assert len(stored.chunks.numbers) == 20_000
            assert body.requests <= 6


# what is wrong


def dataset_of(tmp_path: Path, **options: Any) -> tuple[list[Body], hdf5.HDF5Dataset]:
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as file:
        file.create_dataset("x", data=np.arange(10), **options)
    found = bodies(path)
    return found, hdf5.read_file(found[0]).datasets[0]


@pytest.mark.parametrize("address", [2**64 - 2, 2**63, 2**31])
def test_values_behind_the_end(tmp_path: Path, address: int) -> None:
    found, dataset = dataset_of(tmp_path)
    where = hdf5.place_of(dataset._replace(layout=dataset.layout._replace(address=address)))
    for body in found:
        for part in (None, (slice(3, 5),)):
            with pytest.raises(TruncatedError, match="expected at least"):
                hdf5.values(body, where, part)


@pytest.mark.parametrize(
    ("changed", "error"),
    [
        ({"size": 4}, FormatError),
        ({"chunk": (0,)}, FormatError),
        ({"chunk": (5, 5)}, FormatError),
        ({"chunk": (2**30,)}, hdf5.Unusual),
        ({"kind": "unusual", "chunk": None}, hdf5.Unusual),
        ({"kind": "contiguous", "chunk": None, "size": 79}, FormatError),
    ],
)
def test_layouts_that_do_not_fit(tmp_path: Path, changed: Any, error: Any) -> None:
    _, dataset = dataset_of(tmp_path, chunks=(5,))
    with pytest.raises(error):
        hdf5.place_of(dataset._replace(layout=dataset.layout._replace(**changed)))


@pytest.mark.parametrize(
    ("changed", "error"),
    [
        ({"fill": b"123"}, FormatError),
        ({"shape": None}, hdf5.Unusual),
        ({"shape": (2**62, 2**62)}, hdf5.Unusual),
        ({"shape": (0, 2**63)}, hdf5.Unusual),
        ({"filters": (hdf5.HDF5Filter(9999, False, ()),)}, hdf5.Unusual),
        ({"filters": (hdf5.HDF5Filter(2, False, (4,)),)}, hdf5.Unusual),
    ],
)
def test_datasets_that_do_not_fit(tmp_path: Path, changed: Any, error: Any) -> None:
    _, dataset = dataset_of(tmp_path, chunks=(5,))
    if len(changed.get("shape") or ()) == 2:
        dataset = dataset._replace(layout=dataset.layout._replace(chunk=(5, 5)))
    with pytest.raises(error):
        hdf5.place_of(dataset._replace(**changed))


def test_far_larger_than_the_file(tmp_path: Path) -> None:
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as file:
        for name, options in {"chunks": {"chunks": (1000, 1000)}, "one": {}}.items():
            file.create_dataset(name, (100_000, 10_000), "f8", fillvalue=1, **options)
    for body in bodies(path):
        for name in ("chunks", "one"):
            with pytest.raises(hdf5.Unusual, match="8000000000 bytes"):
                read(body, name)
            assert read(body, name, (slice(99_999, 100_000), slice(0, 2))).tolist() == [[1, 1]]


@pytest.mark.parametrize("options", [{}, {"compression": "gzip"}, {"fletcher32": True}])
def test_a_damaged_chunk_is_named(tmp_path: Path, options: Any) -> None:
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as file:
        file.create_dataset("x", data=np.random.default_rng(0).random((50, 40)), chunks=(20, 20), **options)
    data = bytearray(path.read_bytes())
    whole = MemoryBody("a.h5", bytes(data))
    stored = hdf5.stored_of(whole, place(whole, "x"))
    assert stored.chunks is not None
    at, size = int(stored.chunks.offsets[3]), int(stored.chunks.sizes[3])
    data[at + size // 2] ^= 1
    path.write_bytes(data)
    for body in bodies(path):
        if options:
            with pytest.raises(DsError, match=f"the chunk of {size} bytes at {at} of the file"):
                read(body, "x")
        else:
            read(body, "x")
        assert read(body, "x", (slice(0, 20), slice(0, 40))).shape == (20, 40)
