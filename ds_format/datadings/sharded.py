"""Several datasets as one."""

from __future__ import annotations

import errno
import glob
import os
from bisect import bisect_right
from collections.abc import Hashable, Iterable, Iterator, Mapping
from itertools import accumulate
from typing import Any, SupportsIndex

from ..body import Address
from ..body.locating import located
from ..errors import FormatError, MissingError
from . import format
from .base import Reader, Samples, TakeOptions
from .lists import natural_key
from .reader import MsgpackReader

Shard = str | os.PathLike[str] | Samples


class ShardedReader(Reader):
    """Datasets, called shards, whose samples form one sequence.

    Parameters
    ----------
    shards : str, PathLike, or iterable of those or of readers
        A pattern of `glob`, whose datasets are in natural order: `part-9` before `part-10`. Or data files and readers.
    writable : bool
        Decode to writable arrays. Readers among the shards keep their own setting.
    storage_options, store
        As of `ds_format.read`, for all shards. An address is not a pattern.

    Attributes
    ----------
    shards : list of readers

    Raises
    ------
    FileNotFoundError
        If nothing matches the pattern, or a data file is missing.

    Examples
    --------
    >>> import tempfile
    >>> from ds_format.datadings.sharded import ShardedReader
    >>> from ds_format.datadings.writer import FileWriter
    >>> folder = tempfile.mkdtemp()
    >>> for i in (0, 1, 10):
    ...     with FileWriter(f"{folder}/part-{i}.msgpack") as writer:
    ...         _ = writer.write({"key": f"k{i}"})
    >>> with ShardedReader(folder + "/part-*.msgpack") as reader:
    ...     print([sample["key"] for sample in reader], reader.find_index("k10"))
    ['k0', 'k1', 'k10'] 2
    """

    def __init__(
        self,
        shards: str | os.PathLike[str] | Iterable[Shard],
        *,
        writable: bool = False,
        storage_options: Mapping[str, Any] | None = None,
        store: Any = None,
    ):
        if isinstance(shards, str | os.PathLike):
            is_address = isinstance(located(shards, storage_options, store), Address)
            shards = [shards] if is_address else _matching(os.fspath(shards))
        self.shards = [_opened(shard, writable, storage_options, store) for shard in shards]
        self._ends = list(accumulate(map(len, self.shards)))

    def __len__(self) -> int:
        return self._ends[-1] if self._ends else 0

    def __contains__(self, key: Hashable) -> bool:
        return any(key in shard for shard in self.shards)

    def find_key(self, index: SupportsIndex) -> Any:
        """Return the key of a sample; negative indices count from the end."""
        shard, i = self._place(index)
        return shard.find_key(i)

    def find_index(self, key: Hashable) -> int:
        """Return the index of the sample with a key.

        Raises
        ------
        MissingError
            If no sample has it. It is a `KeyError`.
        FormatError
            If several shards contain it.
        """
        holders = [i for i, shard in enumerate(self.shards) if key in shard]
        if not holders:
            raise MissingError(f"no sample with the key {key!r:.60} in {len(self.shards)} shards")
        if len(holders) > 1:
            raise FormatError(f"several shards have the key {key!r:.60}: {', '.join(map(self._name, holders))}")
        shard = holders[0]
        return self._start(shard) + self.shards[shard].find_index(key)

    def get(self, index: SupportsIndex, yield_key: bool = False, raw: bool = False, copy: bool = True) -> Any:
        """Return one sample; see `Samples.get`."""
        shard, i = self._place(index)
        return shard.get(i, yield_key, raw, copy)

    def take_run(self, run: range, options: TakeOptions) -> Iterator[Any]:
        """Iterate over consecutive samples, shard by shard."""
        first = bisect_right(self._ends, run.start)
        for i, shard in enumerate(self.shards[first:], first):
            start = self._start(i)
            part = range(max(run.start - start, 0), min(run.stop - start, len(shard)))
            if start >= run.stop:
                return
            yield from shard.take_run(part, options)
            shard.close()  # there may be more shards than files that a process may have open

    def close(self) -> None:
        """Close all shards."""
        for shard in self.shards:
            shard.close()

    def _check_key(self, sample: Any, index: int, key: Hashable) -> None:
        shard, i = self._place(index)
        if isinstance(shard, Reader):
            shard._check_key(sample, i, key)  # noqa: SLF001

    def _start(self, shard: int) -> int:
        return self._ends[shard] - len(self.shards[shard])

    def _place(self, index: SupportsIndex) -> tuple[Samples, int]:
        """Return the shard that contains a sample, and the index of the sample in it."""
        i = self._locate(index)
        shard = bisect_right(self._ends, i)
        return self.shards[shard], i - self._start(shard)

    def _name(self, shard: int) -> str:
        return str(getattr(self.shards[shard], "path", f"number {shard}"))


def _matching(pattern: str) -> list[str]:
    """Return the data files that match a pattern."""
    names = [name for name in glob.glob(pattern) if not name.endswith((*format.RESERVED, format.MD5))]
    if not names:
        raise FileNotFoundError(errno.ENOENT, "no dataset has such a name", pattern)
    return sorted(names, key=natural_key)


def _opened(shard: Shard, writable: bool, storage_options: Mapping[str, Any] | None, store: Any) -> Samples:
    if isinstance(shard, Samples):
        return shard
    reader = MsgpackReader(shard, writable=writable, storage_options=storage_options, store=store)
    reader.close()
    return reader
