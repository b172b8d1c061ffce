"""The companion `D.meta` of a data file D."""

from __future__ import annotations

import os
from typing import Any

from ....datadings import format, index_files
from ....datadings.claim import Claim
from ....datadings.dataset_files import current_name, load_if
from ....datadings.writer import RawWriter
from ...base import Metadata
from ...ds.source import DsSource
from ...settings import setting
from .. import companion
from ..companion import Companion

SUFFIX = format.COMPANION


def find(path: str, n: int, size: int) -> Companion | None:
    """Open the companion of a data file, if there is one that belongs to it.

    Parameters
    ----------
    path : str
        Of the data file.
    n : int
        Its samples.
    size : int
        Its bytes.

    Returns
    -------
    Companion or None
        None if there is none, or, with a warning, one of other data.

    Raises
    ------
    FormatError
        If it is damaged.
    """
    try:
        source = DsSource(current_name(path, SUFFIX))
    except FileNotFoundError:
        return None
    return companion.opened(source, n, lambda own: _is_of(path, own, n, size), path)


def prepare(claim: Claim, meta: Metadata, of_data: dict[str, Any], constants: DsSource) -> None:
    """Write a companion that appears together with its data file; see `companion.create`."""
    companion.create(claim.reserve(SUFFIX), meta, of_data, constants, atomic=False).commit()


class CarryingWriter(RawWriter):
    """Writes messages of another dataset, and the companion of that, if it has one.

    Parameters
    ----------
    path : str
        The data file, which is replaced.
    found : Companion or None
        Of the other dataset, open until the writer is closed.
    """

    def __init__(self, path: str, found: Companion | None):
        super().__init__(path, overwrite=True)
        self._found = found

    def _prepare_others(self, claim: Claim) -> None:
        found = self._found
        if found is not None:
            digest = self._digest.hexdigest()
            of_data = companion.record(found.axes, len(self), self._end, found.meta, md5=digest)
            prepare(claim, found.meta, of_data, found.source)


def _is_of(path: str, own: Any, n: int, size: int) -> bool:
    """Return whether a companion belongs to n samples of so many bytes in all."""
    if not companion.is_record(own, n, size):
        return False
    sums = load_if(current_name(path, format.MD5))
    known = None if sums is None else index_files.decode_sums(sums).digests.get(os.path.basename(path))
    return known is None or known == setting(own, "md5", str)
