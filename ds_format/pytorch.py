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


def this_rank(rank: int | None, world_size: int | None, group: Any = None) -> tuple[int, int]:
    """Return a rank and the number of ranks: the given ones, or those of this process in `torch.distributed`."""
    distributed = sys.modules.get("torch.distributed")
    found = 0, 1
    if distributed is not None and distributed.is_available() and distributed.is_initialized():
        found = distributed.get_rank(group), distributed.get_world_size(group)
    return found[0] if rank is None else rank, found[1] if world_size is None else world_size
