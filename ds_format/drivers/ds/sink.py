"""Writing a ds file variable by variable, in blocks."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

import numpy as np

from ...body.body import Body
from ...codec.header import VarHeader
from ...dtypes import TYPES
from ...errors import DsError
from ...kernels.files import ranges
from ..base import Metadata
from ..library.missing import FillMark
from ..settings import NETCDF
from ..sink import FileSink
from .appending import Appender
from .checksums import of_file
from .plan import Plan


class DsSink(FileSink):
    """A ds file being written; see `drivers.base.Sink`.

    Parameters
    ----------
    path : str, bytes or PathLike
    meta : Metadata
        Each variable with `.size`, and `.type` unless it has no data; `.missing` false promises that no value is
        missing.
    version : str
        Of the format: `1.0` or `2.0.1`.
    atomic, durable : bool
        As `target.Target`.
    checksum : bool
        Add a trailer with checksums; see `checksums`.
    """

    def __init__(
        self,
        path: Any,
        meta: Metadata,
        *,
        version: str = "1.0",
        atomic: bool = True,
        durable: bool = False,
        checksum: bool = False,
    ):
        super().__init__(path, meta, atomic=atomic, durable=durable)
        self._done: dict[str, VarHeader] = {}
        types = {key: TYPES.get(entry.get(".type") or "") for key, entry in meta.items() if NETCDF in entry}
        found = {key: FillMark.of(meta[key], np.dtype(known.code)) for key, known in types.items() if known is not None}
        self._marks = {key: mark for key, mark in found.items() if mark is not None}
        meta = {**meta, **{key: mark.widest() for key, mark in self._marks.items()}}
        self._checksum = checksum
        try:
            self._plan = Plan(meta, version)
        except DsError as error:
            raise error.at(path=self.path)
        fd = self._create()
        folder = os.path.dirname(self._target.written) or "."
        self._appender = Appender(fd, self._plan, self._plan.body, self.path, folder)

    def _write(self, name: str, blocks: Iterable[Any]) -> None:
        mark = self._marks.get(name)
        self._done[name] = self._appender.put(name, iter(blocks) if mark is None else mark.over(blocks))

    def copy(self, name: str, type_name: str, parts: Iterable[Body]) -> None:
        """Write one variable of numbers from parts of other files, without decoding them."""
        self._done[name] = self._appender.copy(name, type_name, parts)

    def _finish(self) -> None:
        for key in self.meta:
            if key != "." and key not in self._done:
                self.write(key, ())
        for key, mark in self._marks.items():
            self._plan.meta[key] = mark.settled()
        line = self._plan.header(self._done)
        ranges.write_at(self._appender.fd, 0, line)
        if self._checksum:
            ranges.write_at(self._appender.fd, self._appender.end, of_file(self._appender.fd, line))
        self._close()

    def _close(self) -> None:
        fd, self._appender.fd = self._appender.fd, -1
        if fd >= 0:
            os.close(fd)
