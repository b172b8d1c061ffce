"""How often files are opened, and how many at a time."""

from __future__ import annotations

import collections
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ds_format as ds
from ds_format import drivers
from ds_format.kernels.files import files
from ds_format.many import pieces

from ..drivers.netcdf.files import leave_to_library
from ..same import same_data

pytestmark = pytest.mark.filterwarnings("ignore:attributes of the dataset differ")


class Opens:
    """Counts how often each file is opened, and how many are open at the same time."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch):
        self.count: collections.Counter[str] = collections.Counter()
        self.now = self.most = 0
        self._open_source, self._read_file = drivers.open_source, files.read_file
        monkeypatch.setattr(drivers, "open_source", self.open_source)
        monkeypatch.setattr(files, "read_file", self.read_file)

    def open_source(self, path: Any, *args: Any, **options: Any) -> Any:
        source = self._open_source(path, *args, **options)
        self.count[os.fspath(path)] += 1
        self.now += 1
        self.most = max(self.most, self.now)
        close = source.close

        def closing() -> None:
            self.now -= 1
            close()

        source.close = closing  # type: ignore[method-assign]
        return source

    def read_file(self, path: Any, limit: int) -> Any:
        self.count[os.fspath(path)] += 1
        return self._read_file(path, limit)


def make(i: int, n: int) -> dict[str, Any]:
    names = [f"v{k}" for k in range(7)]
    arrays = {name: np.arange(n, dtype="f8") * i for name in names}
    return {**arrays, ".": {**{name: {".dims": ["t"]} for name in names}, ".": {"i": i}}}


@pytest.mark.parametrize(
    ("suffix", "n"), [("ds", 500), ("ds", 8000), ("nc", 10), ("h5", 10), ("json", 10)], ids=lambda value: str(value)
)
@pytest.mark.parametrize("bound", [2, 4, 64])
def test_files_are_opened_once_or_twice(
    suffix: str, n: int, bound: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    h5py = pytest.importorskip("h5py") if suffix == "h5" else None
    if h5py is not None:
        h5py.File(tmp_path / ".empty", "w").close()
    paths = [str(tmp_path / f"{i}.{suffix}") for i in range(6)]
    for i, path in enumerate(paths):
        ds.write(path, make(i, n))
        if suffix == "nc":
            leave_to_library(path)
        elif h5py is not None:
            with h5py.File(path, "a") as file:  # links to other files are left to the library
                file["link"] = h5py.ExternalLink(".empty", "/")
    oracle = ds.merge([ds.read(path) for path in paths], "t")
    monkeypatch.setattr(pieces, "MAX_OPEN", bound)
    for merged in (lambda: ds.read_many(paths, dim="t"), lambda: ds.readdir(tmp_path, merge="t")):
        with monkeypatch.context() as patch:
            opens = Opens(patch)
            found: Any = merged()
        assert all(same_data(found[f"v{k}"], oracle[f"v{k}"]) for k in range(7))
        is_whole = (suffix, n) == ("ds", 500)
        kept = len(paths) if is_whole or bound > len(paths) else bound - 1
        assert opens.count == {path: 1 if i < kept else 2 for i, path in enumerate(paths)}
        assert opens.now == 0
        assert opens.most <= bound


def test_merging_into_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = [str(tmp_path / f"{i}.ds") for i in range(6)]
    for i, path in enumerate(paths):
        ds.write(path, make(i, 10))
    monkeypatch.setattr(pieces, "MAX_OPEN", 4)
    opens = Opens(monkeypatch)
    ds.merge_files("t", paths, tmp_path / "out.nc")
    assert [opens.count[path] for path in paths[:3]] == [1] * 3
    assert max(opens.count.values()) <= 1 + 7
    assert (opens.now, opens.most) == (0, 4)


def test_all_are_closed_after_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for i in range(3):
        ds.write(tmp_path / f"{i}.json", {"x": [i] * (i + 1), ".": {"x": {".dims": ["y"]}}})
    opens = Opens(monkeypatch)
    with pytest.raises(ds.UnsupportedError, match="incompatible sizes"):
        ds.read_many([tmp_path / f"{i}.json" for i in range(3)], dim="t")
    assert (opens.now, opens.most) == (0, 3)
