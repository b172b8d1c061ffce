"""A file format of another package: one line of text per variable, as `rain: 0.5 nan 2.0`.

All variables are float64 along one dimension `i`. No value is missing, and there are no attributes.
`docs/formats.md` explains the parts.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from ds_format import UnsupportedError, escape, unescape
from ds_format.datasets import attrs
from ds_format.drivers import Driver, Format
from ds_format.drivers.base import Metadata
from ds_format.drivers.sink import FileSink, count_payloads
from ds_format.drivers.source import HeldSource
from ds_format.errors import FormatError


class ToySource(HeldSource):
    """A file to read from."""

    def __init__(self, path: Any):
        super().__init__(path)
        lines = Path(self.path).read_text("utf-8", errors="surrogateescape").splitlines()
        if lines[:1] != ["toy"]:
            raise FormatError(f"line 1: found {lines[:1]}, expected toy", path=self.path)
        for number, line in enumerate(lines[1:], 2):
            name, _, values = line.rpartition(":")
            try:
                array = np.array(values.split(), "f8")
            except ValueError as error:
                raise FormatError(f"line {number}: {error}", path=self.path) from error
            key = escape(name)
            self.arrays[key] = array
            entry = {".dims": ["i"], ".size": [array.size], ".type": "float64", ".missing": False}
            self.meta[key] = entry
        self.meta["."] = {}


class ToySink(FileSink):
    """A file being written; `commit` gives it its name."""

    def __init__(self, path: Any, meta: Metadata, *, atomic: bool = True, durable: bool = False):
        for key, entry in meta.items():
            name = None if key == "." else unescape(key)
            if attrs(entry) or entry.get(".time"):
                raise UnsupportedError("has attributes", path=path, variable=name)
            if name is not None and (entry[".size"] is None or len(entry[".size"]) != 1):
                raise UnsupportedError("does not have one dimension", path=path, variable=name)
            if name is not None and (entry[".type"] != "float64" or entry.get(".dims", ["i"]) != ["i"]):
                raise UnsupportedError("is not float64 along i", path=path, variable=name)
            if name is not None and name.splitlines() != [name]:
                raise UnsupportedError("the name is not one line", path=path, variable=name)
        super().__init__(path, meta, atomic=atomic, durable=durable)
        self._file = open(self._create(), "w", encoding="utf-8")  # noqa: SIM115 - until commit
        self._file.write("toy\n")

    def _write(self, name: str, blocks: Iterable[Any]) -> None:
        self._file.write(f"{unescape(name)}:")
        for block in blocks:
            if np.ma.is_masked(block) or count_payloads(block):
                raise UnsupportedError("has missing values, or NaN with a payload")
            self._file.writelines(f" {float(value)!r}" for value in block)
        self._file.write("\n")

    def _finish(self) -> None:
        self._file.close()

    def _close(self) -> None:
        self._file.close()


FORMAT = Format(
    name="toy",
    suffixes=(".toy",),
    load=lambda: Driver(open=ToySource, create=ToySink),
    title="Toy",
    marks=(b"toy\n",),
    creation=frozenset({"atomic", "durable"}),
)
