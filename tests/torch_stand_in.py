"""The parts of PyTorch that datasets for training use, without PyTorch."""

from __future__ import annotations

import pickle
import sys
from abc import ABC
from collections.abc import Iterable, Iterator
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from ds_format.pytorch import derived


class TorchDataset:
    pass


class TorchIterableDataset(TorchDataset, ABC):
    pass


@pytest.fixture
def torch_data(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A stand-in for torch.utils.data, with `worker` to be set."""
    data: Any = ModuleType("torch.utils.data")
    data.Dataset, data.IterableDataset = TorchDataset, TorchIterableDataset
    data.worker = None
    data.get_worker_info = lambda: data.worker
    monkeypatch.setitem(sys.modules, "torch.utils.data", data)
    yield data
    derived.cache_clear()


def parts_of_workers(dataset: Iterable[Any], data: Any, workers: int) -> list[list[Any]]:
    """Return what each worker gets; each has a copy of the dataset."""
    found = []
    for worker in range(workers):
        data.worker = SimpleNamespace(id=worker, num_workers=workers)
        found.append(list(pickle.loads(pickle.dumps(dataset))))
    data.worker = None
    return found
