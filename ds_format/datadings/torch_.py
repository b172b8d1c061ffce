"""Datasets for PyTorch, which is never imported here."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from ..errors import MissingError
from ..pytorch import TorchLike, this_rank, this_worker
from .base import Samples, TakeOptions

Sample = Any
Params = dict[str, Any]
VALUE_KINDS = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


class Compose:
    """Functions that are applied in sequence, each to the result of the one before.

    The first parameter of a function is the value. The others are taken by name from the parameters that were drawn for
    the sample. Those that were not drawn keep their defaults.

    Parameters
    ----------
    *transforms : callable, or one iterable of callables
    prefix : str
        Prefix of the names of parameters, so that a function can be used several times with different parameters.

    Raises
    ------
    TypeError
        If something is not callable with one value.

    Examples
    --------
    >>> from ds_format.datadings.torch_ import Compose
    >>> def scale(value, factor):
    ...     return value * factor
    >>> Compose(scale, abs)(-2, {"factor": 3})
    6
    """

    def __init__(self, *transforms: Any, prefix: str = ""):
        if len(transforms) == 1 and not callable(transforms[0]):
            transforms = tuple(transforms[0])
        self.transforms: tuple[Callable[..., Any], ...] = transforms
        self.prefix = prefix
        self._parameters = [_parameters(transform) for transform in transforms]

    def __call__(self, value: Any, params: Mapping[str, Any]) -> Any:
        """Apply all functions.

        Raises
        ------
        MissingError
            If a parameter without a default is not in `params`. It is a `KeyError`.
        """
        for transform, parameters in zip(self.transforms, self._parameters, strict=True):
            chosen = {}
            for name, needed in parameters:
                if self.prefix + name in params:
                    chosen[name] = params[self.prefix + name]
                elif needed:
                    raise MissingError(f"no parameter {self.prefix + name!r} for {_name(transform)}")
            value = transform(value, **chosen)
        return value


def _parameters(transform: Any) -> list[tuple[str, bool]]:
    """Return the parameters of a function after the first: their names, and whether they are required."""
    if not callable(transform):
        raise TypeError(f"{transform!r} is not a function")
    try:
        found = list(inspect.signature(transform).parameters.values())
    except ValueError:  # some functions in C have no signature
        return []
    if not found or found[0].kind not in {*VALUE_KINDS, inspect.Parameter.VAR_POSITIONAL}:
        raise TypeError(f"{_name(transform)} takes no value")
    by_name = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    return [(each.name, each.default is each.empty) for each in found[1:] if each.kind in by_name]


def _name(transform: Any) -> str:
    return getattr(transform, "__qualname__", None) or repr(transform)


class _Transformed(TorchLike):
    """The common part of both datasets: samples, and the functions applied to each.

    Parameters
    ----------
    reader : Samples
        A reader or an order.
    transforms : callable or dict, optional
        Either `f(sample) -> sample`; or a dict entry → `f(value, params) -> value`, such as `Compose`.
    rng : callable, optional
        Draws the parameters of a sample, `f(sample) -> dict`, for transforms in a dict. They are also stored as the
        entry `__params__` of the sample.
    """

    def __init__(self, reader: Samples, transforms: Any = None, rng: Callable[[Sample], Params] | None = None):
        self.reader = reader
        self._transforms = transforms
        self._rng = rng

    def __len__(self) -> int:
        return len(self.reader)

    def transform(self, sample: Sample) -> Sample:
        """Return a sample after all transforms."""
        transforms = self._transforms
        if transforms is None:
            return sample
        if not isinstance(transforms, Mapping):
            return transforms(sample)
        params = sample["__params__"] = {} if self._rng is None else self._rng(sample)
        for name, transform in transforms.items():
            sample[name] = transform(sample[name], params)
        return sample


class SampleDataset(_Transformed):
    """Samples by their index: a map-style dataset of PyTorch.

    Parameters
    ----------
    reader : Samples
        A reader or an order.
    transforms : callable or dict, optional
        Either `f(sample) -> sample`; or a dict entry → `f(value, params) -> value`, such as `Compose`.
    rng : callable, optional
        Draws the parameters of a sample, `f(sample) -> dict`, for transforms in a dict. They are also stored as the
        entry `__params__` of the sample.

    Examples
    --------
    >>> from ds_format.datadings.lists import ListReader
    >>> from ds_format.datadings.torch_ import Dataset
    >>> reader = ListReader([{"value": 1}, {"value": 2}])
    >>> Dataset(reader, transforms={"value": lambda value, params: value * 10})[1]
    {'value': 20, 'key': 1, '__params__': {}}
    """

    torch_name = "Dataset"

    def __getitem__(self, index: int) -> Sample:
        return self.transform(self.reader.get(index))

    def __getitems__(self, indices: Sequence[int]) -> list[Sample]:
        """Return the samples of a batch of a `DataLoader`: those at an address come side by side."""
        return [self.transform(sample) for sample in self.reader.take(indices)]


Dataset = SampleDataset
"""Its name in datadings."""


class IterableDataset(_Transformed):
    """Samples in sequence, divided among processes: an iterable-style dataset of PyTorch.

    Each worker of a `DataLoader`, in each rank, gets consecutive samples. Together they get each sample once. In the
    next epoch, a rank gets the next part. The process that iterates counts the epochs: give the `DataLoader`
    `persistent_workers=True`, or set `epoch` before each epoch.

    Parameters
    ----------
    reader : Samples
        A reader or an order. All processes use the same epoch of an order.
    transforms, rng
        As for `SampleDataset`.
    batch_size : int, optional
        The batch size of the `DataLoader`, to check that no process gets one batch more than another.
    epoch : int
        The first epoch.
    copy, chunk_size
        As for `Samples.take`.
    group : object, optional
        The process group of `torch.distributed`; by default the default one.
    rank, world_size : int, optional
        By default those of `torch.distributed`, if it is in use when the dataset is created; otherwise 0 and 1.

    Attributes
    ----------
    epoch : int
        The epoch of the next iteration.

    Examples
    --------
    >>> from ds_format.datadings.lists import ListReader
    >>> from ds_format.datadings.torch_ import IterableDataset
    >>> reader = ListReader([{"value": i} for i in range(5)])
    >>> dataset = IterableDataset(reader, rank=1, world_size=2)
    >>> [sample["value"] for sample in dataset], [sample["value"] for sample in dataset]
    ([2, 3, 4], [0, 1])
    """

    torch_name = "IterableDataset"

    def __init__(
        self,
        reader: Samples,
        transforms: Any = None,
        rng: Callable[[Sample], Params] | None = None,
        batch_size: int | None = None,
        epoch: int = 0,
        copy: bool = True,
        chunk_size: int | None = None,
        group: Any = None,
        *,
        rank: int | None = None,
        world_size: int | None = None,
    ):
        super().__init__(reader, transforms, rng)
        self.rank, self.world_size = this_rank(rank, world_size, group)
        self.batch_size = batch_size
        self.epoch = epoch
        self.copy = copy
        self.chunk_size = chunk_size

    def part(self) -> range:
        """Return the indices of the samples that this process gets in this epoch.

        Raises
        ------
        RuntimeError
            If `batch_size` is given and some processes would get one batch more than others.
        """
        worker, workers = this_worker()
        n, parts = len(self.reader), self.world_size * workers
        size = n / parts
        if self.batch_size is not None and 0 < size % self.batch_size < 1:
            raise RuntimeError(
                f"{n} samples in {parts} parts and batches of {self.batch_size}: some processes would get a batch more "
                "than others; change the number of workers, the size of batches, or the number of ranks"
            )
        i = ((self.rank + self.epoch) * workers + worker) % parts
        return range(round(size * i), n if i + 1 == parts else round(size * (i + 1)))

    def __len__(self) -> int:
        """Return the number of samples that this process gets."""
        return len(self.part())

    def __iter__(self) -> Iterator[Sample]:
        part, epoch, reader = self.part(), self.epoch, self.reader
        self.epoch += 1
        samples = reader.stream(epoch, part, TakeOptions(copy=self.copy, chunk_size=self.chunk_size))
        return map(self.transform, samples)


def dict2tuple(samples: Iterable[Mapping[str, Any]], keys: Sequence[str] = ("image", "label")) -> Iterator[Any]:
    """Iterate over tuples of the given entries of each sample, or batch.

    Examples
    --------
    >>> from ds_format.datadings.torch_ import dict2tuple
    >>> list(dict2tuple([{"image": 1, "label": 2}]))
    [(1, 2)]
    """
    return (tuple(sample[key] for key in keys) for sample in samples)
