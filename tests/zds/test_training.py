"""Collections as datasets for training."""

from __future__ import annotations

import multiprocessing
import pickle
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from ds_format.zds.archiving import pack
from ds_format.zds.store import ZDSStore
from ds_format.zds.training import Batches, ZDataset, ZIterableDataset

from ..torch_stand_in import TorchDataset, TorchIterableDataset, parts_of_workers

N = 23
Document = dict[str, Any]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    with ZDSStore.open(tmp_path / "s", mode="w") as store:
        store.put_many({"_id": f"n{i}", "x": i} for i in range(N))
    with ZDSStore.open(tmp_path / "s", "other", mode="w") as store:
        store.put("only", {"x": -1})
    return tmp_path / "s"


def number(document: Document) -> int:
    value: int = document["x"]
    return value


def double(value: int) -> int:
    return 2 * value


def is_even(value: int) -> bool:
    return value % 2 == 0


def numbers(dataset: Any) -> list[int]:
    return [document["x"] for document in dataset]


def test_documents_by_index(path: Path) -> None:
    dataset = ZDataset.from_store(path)
    assert len(dataset) == N
    assert dataset[0] == {"_id": "n0", "x": 0}
    assert dataset[-1] == dataset[N - 1] == dataset[np.int64(N - 1)] == {"_id": "n22", "x": 22}
    for index in (N, -N - 1):
        with pytest.raises(IndexError):
            dataset[index]
    with pytest.raises((TypeError, IndexError)):
        dataset["n0"]
    assert numbers(dataset) == list(range(N))
    assert numbers(ZDataset.from_store(path, "other")) == [-1]
    dataset.close()
    with pytest.raises(ValueError, match="closed"):
        dataset[1]
    with ZDSStore.open(path, "other") as store:
        assert numbers(ZDataset(store)) == [-1]


@pytest.mark.parametrize(
    "view",
    [
        slice(None),
        slice(3, 9),
        slice(None, None, -1),
        slice(-5, None, 2),
        slice(30, None),
        slice(5, 2),
    ],
)
def test_slices_are_views(view: slice, path: Path) -> None:
    dataset = ZDataset.from_store(path)
    expected = list(range(N))[view]
    assert isinstance(dataset[view], ZDataset)
    assert len(dataset[view]) == len(expected)
    assert numbers(dataset[view]) == expected
    chosen = dataset.select(range(N - 1, -1, -1))[view]
    assert numbers(chosen) == list(range(N - 1, -1, -1))[view]
    assert numbers(dataset[view].take(2).skip(1)) == expected[1:2]


def test_selections(path: Path) -> None:
    dataset = ZDataset.from_store(path)
    assert numbers(dataset.select([3, -1, 3])) == [3, 22, 3]
    assert numbers(dataset.select([3, 5, 7]).select([-1, 0])) == [7, 3]
    assert numbers(dataset[10:].select(np.array([0, 1]))) == [10, 11]
    assert numbers(dataset.select([])) == []
    assert numbers(dataset.select(i for i in (1, 2))) == [1, 2]
    for indices in ([N], [-N - 1]):
        with pytest.raises(IndexError):
            dataset.select(indices)
    with pytest.raises((TypeError, AttributeError)):
        dataset.select([0.5])  # type: ignore[list-item]


def test_shuffling_is_the_same_for_the_same_seed(path: Path) -> None:
    dataset = ZDataset.from_store(path)
    assert numbers(dataset.shuffle(1)) == numbers(dataset.shuffle(1)) != numbers(dataset.shuffle(2))
    assert sorted(numbers(dataset.shuffle(1))) == list(range(N))
    assert numbers(dataset[:5].shuffle(3)) != list(range(5))
    assert sorted(numbers(dataset[:5].shuffle(3))) == list(range(5))


def test_functions_and_conditions(path: Path) -> None:
    dataset = ZDataset.from_store(path)
    assert list(dataset.map(number).map(double)[:3]) == [0, 2, 4]
    assert list(dataset.map(number).filter(is_even).take(3)) == [0, 2, 4]
    assert numbers(dataset.filter({"x": {"gt": 20}})) == [21, 22]
    assert numbers(dataset.filter("x<2").shuffle(0).filter("x>=0")) in ([0, 1], [1, 0])
    assert dataset.map(number).filter(is_even)[-1] == 22
    assert numbers(dataset.filter({})) == numbers(dataset)
    assert len(dataset) == N
    with pytest.raises(ValueError, match="no operator"):
        dataset.filter({"x": {"over": 3}})


def test_functions_are_called_when_it_is_looked_at(path: Path) -> None:
    seen = []
    dataset = ZDataset.from_store(path).map(lambda document: seen.append(document["x"]))
    assert dataset.shuffle(1).take(5).skip(1)[::2].select([0]).map(str).batch(3) and seen == []
    dataset[4]
    assert seen == [4]


@pytest.mark.parametrize("n", [1, 5, N, 50])
@pytest.mark.parametrize("drop_last", [False, True])
def test_batches(n: int, drop_last: bool, path: Path) -> None:
    batches = ZDataset.from_store(path).map(number).batch(n, drop_last)
    expected = [list(range(N))[i : i + n] for i in range(0, N, n)]
    expected = [each for each in expected if len(each) == n or not drop_last]
    assert len(batches) == len(expected)
    assert list(batches) == expected
    assert [batches[i] for i in range(len(batches))] == expected
    with pytest.raises(IndexError):
        batches[len(batches)]
    if expected:
        assert batches[-1] == expected[-1]


def test_numbers_of_documents_make_sense(path: Path) -> None:
    dataset, stream = ZDataset.from_store(path), ZIterableDataset.from_store(path)
    assert numbers(dataset.take(100)) == numbers(stream.take(100)) == list(range(N))
    assert numbers(dataset.skip(100)) == numbers(stream.skip(100)) == numbers(dataset.take(0)) == []
    calls: list[Callable[[], Any]] = [
        lambda: dataset.take(-1),
        lambda: dataset.skip(-1),
        lambda: dataset.batch(0),
        lambda: stream.take(-1),
        lambda: stream.skip(-1),
        lambda: stream.batch(0),
        lambda: stream.shuffle(0),
    ]
    for call in calls:
        with pytest.raises(ValueError, match=r"expected [01] or more"):
            call()


def test_streams(path: Path) -> None:
    stream = ZIterableDataset.from_store(path)
    assert numbers(stream) == numbers(stream) == list(range(N))
    assert list(stream.map(number).filter(is_even).skip(1).take(3)) == [2, 4, 6]
    assert list(stream.map(number).batch(10)) == [list(range(10)), list(range(10, 20)), [20, 21, 22]]
    assert list(stream.map(number).batch(10, drop_last=True)) == [list(range(10)), list(range(10, 20))]
    assert numbers(stream.filter({"x": {"ge": 21}})) == numbers(stream.filter("x>20")) == [21, 22]
    assert list(ZIterableDataset.from_store(path, fields="-_id,x", where="x>21")) == [{"x": 22}]
    assert numbers(ZIterableDataset.from_store(path, "other")) == [-1]
    with ZDSStore.open(path) as store:
        assert numbers(ZIterableDataset(store, where="x<2")) == [0, 1]
    with pytest.raises(ValueError, match="no operator"):
        stream.filter({"x": {"over": 3}})
    stream.close()
    with pytest.raises(ValueError, match="closed"):
        list(stream)


@pytest.mark.parametrize("buffer", [1, 4, N, 100])
def test_shuffle_buffers(buffer: int, path: Path) -> None:
    stream = ZIterableDataset.from_store(path).shuffle(buffer, seed=5)
    found = numbers(stream)
    assert numbers(stream) == found
    assert sorted(found) == list(range(N))
    assert (found == list(range(N))) == (buffer == 1)
    for place, value in enumerate(found):
        assert value <= place + buffer
    stream.set_epoch(1)
    assert (numbers(stream) == found) == (buffer == 1)
    stream.set_epoch(0)
    assert numbers(stream) == found


def made(stream: ZIterableDataset, kind: str) -> ZIterableDataset:
    stream = stream.map(number)
    if kind == "take":
        return stream.skip(2).take(13)
    if kind == "shuffle, take":
        return stream.shuffle(7, seed=3).take(13).map(double)
    if kind == "filter, skip, shuffle":
        return stream.filter(is_even).skip(3).shuffle(4)
    return stream.shuffle(5) if kind == "shuffle" else stream


@pytest.mark.parametrize("workers", [1, 2, 3, 30])
@pytest.mark.parametrize("world_size", [1, 2])
@pytest.mark.parametrize("kind", ["plain", "shuffle", "take", "shuffle, take", "filter, skip, shuffle"])
def test_all_processes_together_get_each_document_once(
    kind: str, world_size: int, workers: int, path: Path, torch_data: Any
) -> None:
    whole = sorted(made(ZIterableDataset.from_store(path), kind))
    found = []
    for rank in range(world_size):
        stream = made(ZIterableDataset.from_store(path, rank=rank, world_size=world_size), kind)
        found += parts_of_workers(stream, torch_data, workers)
    assert sorted(value for part in found for value in part) == whole
    assert max(map(len, found)) - min(map(len, found)) <= 1


def test_parts_have_fields_and_conditions(path: Path, torch_data: Any) -> None:
    stream = ZIterableDataset.from_store(path, fields=["x"], where="x>=20")
    found = parts_of_workers(stream, torch_data, 2)
    assert sorted((document for part in found for document in part), key=number) == [
        {"_id": f"n{i}", "x": i} for i in range(20, N)
    ]


def test_ranks_are_asked_for(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    distributed: Any = ModuleType("torch.distributed")
    distributed.is_available = distributed.is_initialized = lambda: True
    distributed.get_rank, distributed.get_world_size = (lambda group: 1), (lambda group: 2)
    monkeypatch.setitem(sys.modules, "torch.distributed", distributed)
    assert numbers(ZIterableDataset.from_store(path)) == list(range(1, N, 2))
    assert numbers(ZIterableDataset.from_store(path, rank=0)) == list(range(0, N, 2))


def test_datasets_are_instances_of_the_classes_of_torch_once_it_is_loaded(path: Path, torch_data: Any) -> None:
    dataset, stream = ZDataset.from_store(path), ZIterableDataset.from_store(path)
    assert isinstance(dataset, TorchDataset) and isinstance(dataset, ZDataset)
    assert isinstance(dataset.batch(3), TorchDataset) and isinstance(dataset.batch(3), Batches)
    assert isinstance(stream, TorchIterableDataset) and isinstance(stream.map(number), ZIterableDataset)
    assert type(dataset[1:].map(number)) is ZDataset


def test_torch_is_not_imported() -> None:
    code = "import sys, ds_format.zds.training, ds_format.zds.training; print('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout == "False\n"


def first_and_all(datasets: tuple[Any, Any, Any]) -> tuple[int, list[int], list[list[int]]]:
    dataset, stream, batches = datasets
    return dataset[0], list(stream), list(batches)


def test_other_processes_open_the_collection_anew(path: Path) -> None:
    dataset = ZDataset.from_store(path).map(number).filter(is_even)[::-1]
    stream = ZIterableDataset.from_store(path, where="x>19").map(number)
    datasets = (dataset, stream, dataset.take(3).batch(2))
    expected = first_and_all(datasets)
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        assert pool.submit(first_and_all, datasets).result() == expected
    assert expected == (22, [20, 21, 22], [[22, 20], [18]])


@pytest.mark.parametrize("compression", ["store", "deflate"])
def test_archives(compression: str, path: Path, tmp_path: Path, torch_data: Any) -> None:
    pack(path, tmp_path / "s.zds", compression=compression)
    dataset, stream = ZDataset.from_store(tmp_path / "s.zds"), ZIterableDataset.from_store(tmp_path / "s.zds")
    assert numbers(dataset.shuffle(1)) == numbers(ZDataset.from_store(path).shuffle(1))
    assert numbers(pickle.loads(pickle.dumps(dataset[3:5]))) == [3, 4]
    assert sorted(number(each) for part in parts_of_workers(stream, torch_data, 3) for each in part) == list(range(N))


def test_documents_in_files_of_their_own(path: Path, torch_data: Any) -> None:
    (path / "collections" / "default" / "docs").mkdir()
    (path / "collections" / "default" / "docs" / "m.json").write_text(f'{{"x": {N}}}')
    assert numbers(ZDataset.from_store(path)) == list(range(N + 1))
    assert ZDataset.from_store(path)[-1]["x"] == N
    found = parts_of_workers(ZIterableDataset.from_store(path), torch_data, 2)
    assert sorted(number(document) for part in found for document in part) == list(range(N + 1))


def test_a_store_that_is_being_written(path: Path) -> None:
    with ZDSStore.open(path, mode="a") as store:
        dataset = ZDataset(store)
        store.put("n3", {"x": 100})
        store.put("new", {"x": 101})
        assert len(dataset) == N and dataset[3]["x"] == 100
        assert numbers(dataset) == [100 if i == 3 else i for i in range(N)]
        assert numbers(dataset.filter("x>=22")) == [100, 22]
        store.delete("n5")
        with pytest.raises(KeyError):
            list(dataset)
        with pytest.raises(TypeError, match="pickled"):
            pickle.dumps(dataset)


def test_a_store_that_is_open_can_be_given(path: Path) -> None:
    with ZDSStore.open(path, "other") as store:
        dataset, stream = ZDataset(store), ZIterableDataset(store)
        copies = pickle.loads(pickle.dumps((dataset, stream)))
    assert [numbers(each) for each in copies] == [[-1], [-1]]
