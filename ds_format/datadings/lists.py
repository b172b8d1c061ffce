"""Samples that are in memory, or made on demand."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import Any, SupportsIndex

from ..errors import FormatError, MissingError, UnsupportedError
from . import messages
from .base import Reader
from .format import KEY

LABEL = "label"
Sample = dict[str, Any]
DIGITS = re.compile(r"(\d+)")


def keep(sample: Sample) -> None:
    """Leave a sample as it is."""


class ListReader(Reader):
    """A list of samples.

    Two entries of a sample have a meaning. `key` is its key, by default its index. `label` becomes a number, the index
    in the list of labels, and the original label is the entry `_label`. A label that is None stays None.

    Parameters
    ----------
    samples : iterable of dict
        They are copied (not deeply), so that the reader does not change those of the caller.
    labels : iterable or path, optional
        All labels in the order of their numbers, or a file in UTF-8 with a label in each line. By default the labels of
        the samples, in natural order.
    numeric_labels : bool
        Convert labels to numbers.
    initfun : callable
        Called once with each sample; may change it.
    convertfun : callable
        Called with a copy of the sample each time it is requested; may change it.

    Attributes
    ----------
    labels : list

    Raises
    ------
    UnsupportedError
        If two samples have the same key, or a key is not hashable.
    MissingError
        If `labels` does not contain a label of a sample.

    Examples
    --------
    >>> from ds_format.datadings.lists import ListReader
    >>> reader = ListReader([{"label": "dog"}, {"label": "cat"}])
    >>> reader[0]
    {'label': 1, 'key': 0, '_label': 'dog'}
    """

    def __init__(
        self,
        samples: Iterable[Sample],
        labels: Iterable[Hashable] | str | os.PathLike[str] | None = None,
        numeric_labels: bool = True,
        initfun: Callable[[Sample], object] = keep,
        convertfun: Callable[[Sample], object] = keep,
    ):
        self._samples = [dict(sample) for sample in samples]
        self._convert = convertfun
        self._positions: dict[Hashable, int] = {}
        for i, sample in enumerate(self._samples):
            initfun(sample)
            key = sample.setdefault(KEY, i)
            try:
                first = self._positions.setdefault(key, i)
            except TypeError:
                raise UnsupportedError(f"sample {i}: the key {key!r:.60} cannot be looked up") from None
            if first != i:
                raise UnsupportedError(f"samples {first} and {i} have the same key {key!r:.60}")
        self.labels = _labels(labels, self._samples)
        self._numbers: dict[Hashable, int] | None = None
        if numeric_labels:
            self._numbers = {str(label): i for i, label in enumerate(self.labels)}
            self._numbers |= {label: i for i, label in enumerate(self.labels)}
            self._numbers.setdefault(None, -1)
            for i, sample in enumerate(self._samples):
                if sample.get(LABEL) not in self._numbers:
                    raise MissingError(f"sample {i}: the label {sample[LABEL]!r} is not in the list of labels")

    def __len__(self) -> int:
        return len(self._samples)

    def find_key(self, index: SupportsIndex) -> Any:
        """Return the key of a sample; negative indices count from the end."""
        return self._samples[self._locate(index)][KEY]

    def find_index(self, key: Hashable) -> int:
        """Return the index of the sample with a key; a `MissingError`, which is a `KeyError`, if there is none."""
        try:
            return self._positions[key]
        except (KeyError, TypeError):
            raise MissingError(f"no sample with the key {key!r:.60}") from None

    def get(self, index: SupportsIndex, yield_key: bool = False, raw: bool = False, copy: bool = True) -> Any:
        """Return a copy of one sample; see `Samples.get`. For `raw`, it is packed on demand."""
        sample: Any = dict(self._samples[self._locate(index)])
        key = sample[KEY]
        if self._numbers is not None and LABEL in sample:
            label = sample["_label"] = sample[LABEL]
            number = self._numbers[label]
            sample[LABEL] = None if number < 0 else number
        self.load(sample)
        self._convert(sample)
        if raw:
            sample = messages.pack(sample)
        return (key, sample) if yield_key else sample

    def load(self, sample: Sample) -> None:
        """Add the entries of a sample that are read on demand."""


def _labels(labels: Any, samples: Sequence[Sample]) -> list[Any]:
    """Return all labels."""
    if labels is None:
        return sorted({sample[LABEL] for sample in samples if sample.get(LABEL) is not None}, key=natural_key)
    if isinstance(labels, str | os.PathLike):
        return [line.strip(" ") for line in read_lines(labels)]
    return list(labels)


def read_lines(path: Any) -> Iterator[str]:
    """Iterate over the lines of a text file.

    Raises
    ------
    FormatError
        If it is not UTF-8.
    """
    with open(path, encoding="utf-8") as file:
        try:
            for line in file:
                yield line.rstrip("\n")
        except UnicodeDecodeError as error:
            raise FormatError(f"text that is not UTF-8: {error.reason}", path=os.fspath(path)) from None


def natural_key(name: Any) -> tuple[tuple[Any, ...], str]:
    """Return a sort key for a name. Names may be numbers, which come before text.

    Examples
    --------
    >>> from ds_format.datadings.lists import natural_key
    >>> sorted(["part-10", "part-9", "part-1"], key=natural_key)
    ['part-1', 'part-9', 'part-10']
    """
    if not isinstance(name, str):
        return ("", name), ""
    pieces = DIGITS.split(name)
    pieces[1::2] = map(int, pieces[1::2])
    return tuple(pieces), name
