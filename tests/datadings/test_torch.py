"""Datasets for PyTorch: with stand-ins for what they ask of it, and with PyTorch itself where it is installed."""

from __future__ import annotations

import importlib.util
import pickle
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from ds_format.datadings.base import Samples
from ds_format.datadings.lists import ListReader
from ds_format.datadings.order import Cycler, QuasiShuffler, Range, Repeater, Shuffler
from ds_format.datadings.reader import MsgpackReader
from ds_format.datadings.torch_ import Compose, Dataset, IterableDataset, dict2tuple
from ds_format.errors import MissingError

from ..torch_stand_in import TorchDataset, TorchIterableDataset, parts_of_workers
from .made import reference, skip_without_reference, values, write_numbers


def numbers(n: int) -> ListReader:
    return ListReader([{"key": f"k{i}", "v": i} for i in range(n)])


def parts(dataset: IterableDataset, data: Any, workers: int) -> list[list[int]]:
    return [values(part) for part in parts_of_workers(dataset, data, workers)]


@pytest.mark.parametrize("n", [0, 1, 3, 8, 10, 37])
def test_all_processes_together_get_each_sample_once(n: int, torch_data: Any) -> None:
    orders: list[Samples] = [
        numbers(n),
        Shuffler(numbers(n)),
        QuasiShuffler(numbers(n), 4, 2),
        Range(numbers(n + 5), 5),
    ]
    for reader in orders:
        for world_size in (1, 2, 3):
            for workers in (1, 2, 8):
                for epoch in range(3):
                    found = [
                        part
                        for rank in range(world_size)
                        for part in parts(
                            IterableDataset(reader, rank=rank, world_size=world_size, epoch=epoch), torch_data, workers
                        )
                    ]
                    given = sorted(i for part in found for i in part)
                    assert given == sorted(values(reader.iter(0, n)))
                    assert max(map(len, found)) - min(map(len, found)) <= 1


STUBBED = """
import sys, types
info = types.SimpleNamespace(id=0, num_workers=1)
rank = [0, 1]
def module(name, **names):
    sys.modules[name] = made = types.ModuleType(name)
    made.__dict__.update(names)
module("simplejpeg", decode_jpeg=None)
module("torch"); module("torch.utils")
module("torch.utils.data", Dataset=object, IterableDataset=type("I", (), {}), get_worker_info=lambda: info)
module("torch.distributed", is_initialized=lambda: True, get_rank=lambda g: rank[0], get_world_size=lambda g: rank[1])
from datadings.reader import ListReader
from datadings.torch import IterableDataset
result = []
for n in (5, 16, 37):
    reader = ListReader([{"v": i} for i in range(n)])
    for rank[1] in (1, 2, 3):
        for rank[0] in range(rank[1]):
            dataset = IterableDataset(reader)
            for info.num_workers in (1, 2, 4):
                for info.id in range(info.num_workers):
                    dataset.epoch = info.num_workers
                    result.append([sample["v"] for sample in dataset] if n >= rank[1] * info.num_workers else None)
"""


def test_the_parts_are_those_of_the_reference(reference_python: str, tmp_path: Path, torch_data: Any) -> None:
    skip_without_reference(reference_python)
    found: list[Any] = []
    for n in (5, 16, 37):
        for world_size in (1, 2, 3):
            for rank in range(world_size):
                for workers in (1, 2, 4):
                    dataset = IterableDataset(numbers(n), rank=rank, world_size=world_size, epoch=workers)
                    given: list[Any] = [None] * workers
                    found += parts(dataset, torch_data, workers) if n >= world_size * workers else given
    assert found == reference(reference_python, STUBBED, tmp_path)


def test_epochs_advance_and_shuffle_anew(torch_data: Any) -> None:
    shuffler = Shuffler(numbers(10))
    dataset = IterableDataset(shuffler)
    assert [values(dataset) for _ in range(3)] == [list(shuffler.indices(epoch)) for epoch in range(3)]
    assert dataset.epoch == 3
    assert shuffler.tell() == 0
    assert values(IterableDataset(shuffler, epoch=2)) == list(shuffler.indices(2))
    assert len(IterableDataset(Repeater(numbers(10), 2))) == 20
    assert values(IterableDataset(Cycler(numbers(3)))) == [0, 1, 2]


def test_batches_that_only_some_processes_get_are_refused(torch_data: Any) -> None:
    dataset = IterableDataset(numbers(13), batch_size=4, rank=0, world_size=3)
    with pytest.raises(RuntimeError, match="13 samples in 3 parts and batches of 4"):
        iter(dataset)
    assert len(IterableDataset(numbers(13), batch_size=3, rank=0, world_size=3)) == 4


def test_ranks_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    distributed: Any = ModuleType("torch.distributed")
    distributed.is_available = lambda: True
    distributed.is_initialized = lambda: True
    distributed.get_rank = lambda group: 1
    distributed.get_world_size = lambda group: 2 if group is None else 4
    monkeypatch.setitem(sys.modules, "torch.distributed", distributed)
    dataset = IterableDataset(numbers(10))
    assert (dataset.rank, dataset.world_size, values(dataset)) == (1, 2, [5, 6, 7, 8, 9])
    assert IterableDataset(numbers(10), group=object()).world_size == 4
    distributed.is_initialized = lambda: False
    assert IterableDataset(numbers(10)).world_size == 1
    distributed.is_available = lambda: False
    assert IterableDataset(numbers(10)).world_size == 1


def test_datasets_are_instances_of_the_classes_of_torch_once_it_is_loaded(torch_data: Any) -> None:
    dataset: Any = Dataset(numbers(3))
    iterable: Any = IterableDataset(numbers(3))
    assert [isinstance(dataset, kind) for kind in (TorchDataset, Dataset, TorchIterableDataset)] == [True, True, False]
    assert [isinstance(iterable, kind) for kind in (TorchIterableDataset, IterableDataset)] == [True, True]
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        again: Any = pickle.loads(pickle.dumps(iterable, protocol))
        assert isinstance(again, TorchIterableDataset)
        assert type(again).__name__ == "IterableDataset"
        assert values(again) == [0, 1, 2]


def test_torch_is_not_imported(tmp_path: Path) -> None:
    code = (
        "import sys\n"
        "from ds_format.datadings.lists import ListReader\n"
        "from ds_format.datadings.torch_ import Dataset, IterableDataset\n"
        "reader = ListReader([{'v': 1}])\n"
        "assert [*IterableDataset(reader)] == [Dataset(reader)[0]]\n"
        "assert isinstance(Dataset(reader), Dataset)\n"
        "assert 'torch' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def add(value: int, number: int, factor: int = 1) -> int:
    return (value + number) * factor


class Subtract:
    def __call__(self, value: int, *, number: int) -> int:
        return value - number


def test_transforms() -> None:
    transforms = {"a": Compose(add), "b": Compose([add, Subtract()], prefix="b_"), "c": lambda value, params: value}
    reader = ListReader([{"a": 1, "b": 1, "c": 1}])
    params = {"number": 10, "b_number": 5, "b_factor": 3}
    for dataset in (
        Dataset(reader, transforms, lambda sample: params),
        IterableDataset(reader, transforms, lambda _: params),
    ):
        sample = next(iter(dataset)) if isinstance(dataset, IterableDataset) else dataset[0]
        assert sample == {"key": 0, "a": 11, "b": 13, "c": 1, "__params__": params}
    assert Dataset(reader, lambda sample: sample["a"])[0] == 1
    assert len(Dataset(reader)) == 1


def test_errors_of_transforms_are_passed_on() -> None:
    def fails(value: Any) -> Any:
        raise TypeError("inside")

    with pytest.raises(TypeError, match="inside"):
        Compose(fails)(1, {})
    with pytest.raises(MissingError, match="no parameter 'x_number' for add"):
        Compose(add, prefix="x_")(1, {"number": 1})
    for no_transform in (3, lambda: None):
        with pytest.raises(TypeError):
            Compose(abs, no_transform)
    assert Compose(abs, lambda *values: values[0] + 1)(-1, {}) == 2


def test_dict2tuple() -> None:
    samples = [{"image": 1, "label": 2, "more": 3}]
    assert list(dict2tuple(samples)) == [(1, 2)]
    assert list(dict2tuple(samples, ["more"])) == [(3,)]


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="torch is not installed")
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("workers", [0, 2])
def test_the_data_loader_of_torch(workers: int, tmp_path: Path) -> None:
    data = importlib.import_module("torch.utils.data")
    reader = MsgpackReader(write_numbers(tmp_path / "data.msgpack", 21))
    options = {"batch_size": None, "num_workers": workers}
    assert sorted(values(data.DataLoader(IterableDataset(Shuffler(reader)), **options))) == list(range(21))
    assert values(data.DataLoader(Dataset(reader), **options)) == list(range(21))
    kept = data.DataLoader(IterableDataset(reader), persistent_workers=workers > 0, **options)
    assert [sorted(values(kept)) for _ in range(2)] == [list(range(21))] * 2
