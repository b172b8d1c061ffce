"""Large files: values before the metadata, B-trees of several levels, text by references."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from numpy.typing import NDArray

import ds_format as ds
from ds_format.body.body import OutputBody
from ds_format.codec.pipeline import encoder
from ds_format.hdf5.composing import (
    CONSTANT,
    DATASPACE,
    DATATYPE,
    STRING,
    STRING_SIZE,
    Filters,
    NewObject,
    NewStorage,
    fill_message,
    number_type,
    space,
)
from ds_format.hdf5.streaming import OutputStream, StreamedChunks, StreamedRun
from ds_format.kernels.hdf5.compose import compose_tree

ROOT = NewObject(b"", 0, [], [])


def dataset(
    name: str, shape: tuple[int, ...], type_: bytes, storage: NewStorage, more: Any = (), unlimited: bool = False
) -> NewObject:
    messages = [
        (DATASPACE, 0, space(shape, (unlimited,) * len(shape))),
        (DATATYPE, CONSTANT, type_),
        fill_message(None, is_written=True, is_chunked=storage.chunk is not None),
        *more,
    ]
    return NewObject(name.encode(), 0, messages, [], (), storage)


def numbers(
    stream: OutputStream, values: NDArray[Any], chunk: tuple[int, ...], filters: Filters, cut: int
) -> NewObject:
    """Write numbers in blocks of `cut` values."""
    size = values.itemsize
    chunks = StreamedChunks(stream, values.shape, chunk, values.dtype, encoder(filters.steps(size)), 0)
    flat = values.reshape(-1)
    for start in range(0, flat.size, cut):
        chunks.add(flat[start : start + cut])
    more = [filters.message(size)] if filters != Filters() else []
    storage = NewStorage(chunk, size, chunks.finish())
    return dataset("x", values.shape, number_type(values.dtype), storage, more, unlimited=True)


FILTERS = {"none": Filters(), "zlib": Filters(1, True), "checksum": Filters(1, has_checksum=True)}


@pytest.mark.parametrize("filters", FILTERS.values(), ids=FILTERS)
@pytest.mark.parametrize(
    ("shape", "chunk"),
    [
        *(((n,), (1,)) for n in (1, 64, 65, 128, 4096, 4097, 9000)),
        ((300,), (7,)),
        ((40, 30), (3, 4)),
        ((9, 8, 7), (2, 3, 7)),
        ((70, 5, 5), (1, 2, 2)),
        ((3, 4), (8, 8)),
    ],
    ids=str,
)
def test_chunks(shape: tuple[int, ...], chunk: tuple[int, ...], filters: Filters, tmp_path: Path) -> None:
    values = np.arange(np.prod(shape), dtype="<i4").reshape(shape)
    for cut in (values.size, 1 + values.size // 3):
        path = tmp_path / f"{cut}.h5"
        file = OutputBody.create(str(path))
        stream = OutputStream(file)
        stream.complete([ROOT, numbers(stream, values, chunk, filters, cut)])
        file.close()
        assert np.array_equal(ds.read(path)["x"], values)
        assert [*ds.verify(path)] == []
        with h5py.File(path, "r+") as written:
            assert np.array_equal(written["x"][...], values)
            assert written["x"].id.get_num_chunks() == np.prod([-(-n // m) for n, m in zip(shape, chunk, strict=True)])
            longer = tuple(n + 2 * m for n, m in zip(shape, chunk, strict=True))
            written["x"].resize(longer)
            written["x"][...] = np.arange(np.prod(longer)).reshape(longer)
            written["more"] = 1
        assert np.array_equal(ds.read(path)["x"], np.arange(np.prod(longer)).reshape(longer))
        path.unlink()


def test_no_chunks(tmp_path: Path) -> None:
    file = OutputBody.create(str(tmp_path / "a.h5"))
    chunks = StreamedChunks(OutputStream(file), (3, 0), (1, 1), np.dtype("i1"), encoder(()), 0)
    chunks.add(np.zeros(0, "i1"))
    assert chunks.finish() is None
    file.close()
    with pytest.raises(ValueError, match="chunks: found none"):
        compose_tree((1,), 1, [], 48)
    for offsets in ((0, 0), ()):
        with pytest.raises(ValueError, match=r"chunks|zip\(\)"):
            compose_tree((1,), 1, [(offsets, 1, 48), ((0,), 1, 48)], 48)


def test_contiguous_values_and_text(tmp_path: Path) -> None:
    texts = [f"text {i} ž"[: i % 12].encode() for i in range(5000)] + [b"x" * 100_000]
    values = np.arange(1000.0)
    path = tmp_path / "a.h5"
    file = OutputBody.create(str(path))
    stream = OutputStream(file)
    first, second = StreamedRun(stream, len(texts) * STRING_SIZE), StreamedRun(stream, values.nbytes)
    for start, end in itertools.pairwise((0, 1, 3000, len(texts))):
        first.add(stream.references(texts[start:end]))
        second.add(values[start // 6 : end // 6] if end < len(texts) else values[start // 6 :])
    storage = NewStorage(None, len(texts) * STRING_SIZE, first.finish())
    objects = [
        ROOT,
        dataset("s", (len(texts),), STRING, storage),
        dataset("v", values.shape, number_type(values.dtype), NewStorage(None, values.nbytes, second.finish())),
    ]
    stream.complete(objects)
    file.close()
    with h5py.File(path) as written:
        assert written["s"][...].tolist() == texts
    found = ds.read(path)
    assert [each.encode("utf-8", "surrogateescape") for each in found["s"]] == texts
    assert np.array_equal(found["v"], values)
    assert [*ds.verify(path)] == []
