"""datadings for `ds records`."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from ...datadings import format
from ...datadings.reader import MsgpackReader
from ...datadings.sample_index import SampleIndex
from ...datadings.writer import RawWriter
from ...drivers.records.datadings import companion_file
from ...errors import UnsupportedError
from ...kernels.files.presence import exists
from ...kernels.json.values import dumps
from ...zds.documents import plain
from ..arguments import ArgumentError


class SampleReader(MsgpackReader):
    """A dataset; see `formats.RecordReader`."""

    @property
    def companion_path(self) -> str | None:
        """What tells of attributes and dimensions."""
        path = self.path + companion_file.SUFFIX
        return path if exists(path) else None

    def lines(self) -> Iterator[bytes]:
        """Iterate over the samples as JSON.

        Raises
        ------
        UnsupportedError
            If there is something that JSON does not have; the message names the sample.
        """
        for i, sample in enumerate(self):
            try:
                yield dumps(sample, plain)
            except (UnsupportedError, ValueError, TypeError) as error:
                told = error.message if isinstance(error, UnsupportedError) else str(error)
                raise UnsupportedError(f"sample {i}: {told}", path=self.path) from None

    def sizes(self) -> list[int]:
        """Return the bytes of each sample."""
        index = SampleIndex(self.path)
        return [stop - start for start, stop in pairwise(index.spans(0, len(index)))]

    def files(self) -> dict[str, int]:
        """Return the names and bytes of all files."""
        suffixes = ("", *format.INDEX, format.MD5, format.LEGACY_INDEX, companion_file.SUFFIX)
        paths = [self.path + suffix for suffix in suffixes]
        return {os.path.basename(path): os.path.getsize(path) for path in paths if exists(path)}

    def facts(self) -> dict[str, Any]:
        """Return what else there is to be told."""
        return {}


def reader(path: str, collection: str | None, **options: Any) -> SampleReader:
    """Open a dataset.

    Raises
    ------
    ArgumentError
        If a collection is asked for.
    """
    if collection is not None:
        raise ArgumentError(f"{path}: collection is not possible with this format")
    return SampleReader(path, **options)


@contextlib.contextmanager
def writer(path: str, of: SampleReader, is_whole: bool, layout: str | None) -> Iterator[RawWriter]:
    """Open a dataset to be written with messages of another one; see `formats.RecordFormat`.

    Raises
    ------
    ArgumentError
        If a layout is asked for.
    """
    if layout is not None:
        raise ArgumentError(f"{path}: layout is not possible with this format")
    found = companion_file.find(of.path, len(of), of.data_size) if is_whole else None
    with contextlib.ExitStack() as stack:
        if found is not None:
            stack.enter_context(contextlib.closing(found.source))
        yield stack.enter_context(companion_file.CarryingWriter(path, found))
