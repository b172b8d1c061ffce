"""State of PyTorch that datasets need. PyTorch is never imported here.

PyTorch's `DataLoader` asks whether a dataset is an instance of its classes. Ours cannot be derived from them without
importing PyTorch; so their instances say that they are, once it is loaded.
"""

from __future__ import annotations

import functools
import sys
import types
from typing import Any


class TorchLike:
    """Base of datasets that `isinstance` takes for PyTorch's, too.

    Attributes
    ----------
    torch_name : str
        The class in `torch.utils.data`.
    """

    torch_name = ""

    @property  # type: ignore[misc]  # object has a plain attribute
    def __class__(self) -> Any:
        """The class that `isinstance` sees: derived from the one of PyTorch, too, once that is loaded."""
        data = sys.modules.get("torch.utils.data")
        kind: Any = type(self)
        return kind if data is None else derived(kind, getattr(data, self.torch_name))

    def __reduce__(self) -> tuple[Any, ...]:
        return object.__new__, (type(self),), self.__dict__


@functools.cache
def derived(kind: Any, torch_kind: Any) -> type:
    """Return a class that `isinstance` takes for both."""
    return types.new_class(kind.__name__, (kind, torch_kind))


def this_worker() -> tuple[int, int]:
    """Return the number of this worker process of a `DataLoader`, and how many there are."""
    data = sys.modules.get("torch.utils.data")
    info = None if data is None else data.get_worker_info()
    return (0, 1) if info is None else (info.id, info.num_workers)


def this_rank(group: Any = None) -> tuple[int, int]:
    """Return the rank of this process in `torch.distributed`, and how many there are."""
    distributed = sys.modules.get("torch.distributed")
    if distributed is None or not distributed.is_available() or not distributed.is_initialized():
        return 0, 1
    return distributed.get_rank(group), distributed.get_world_size(group)
