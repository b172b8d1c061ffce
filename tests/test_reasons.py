"""The documents list each reason why a library reads a file, and `ds info` prints it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import h5py
import pytest

import ds_format as ds
from ds_format.cli.main import main

from .reasons import reasons

DOCUMENT = (Path(__file__).parents[1] / "docs" / "netcdf.md").read_text()


def test_there_are_reasons_of_each_part() -> None:
    assert {name.partition("/")[0] for name in reasons().values()} == {"classic", "hdf5", "kernels", "drivers"}


@pytest.mark.parametrize("reason", reasons())
def test_a_reason_is_in_the_documents(reason: str) -> None:
    assert f"`{reason}`" in DOCUMENT


def _link(path: Path) -> None:
    with h5py.File(path, "w") as file:
        file["x"] = 1
        file["y"] = h5py.ExternalLink(path.name, "/x")


def _two_names(path: Path) -> None:
    with h5py.File(path, "w", track_order=True) as file:
        file["g/x"] = 1
        file["h"] = h5py.SoftLink("g")


@pytest.mark.parametrize(
    ("name", "make", "library", "reason"),
    [
        ("a.nc", lambda path: ds.write(path, {"x": 1}), None, None),
        ("b.nc", lambda path: ds.write(path, {"x": 1.0}, format="NETCDF3_CLASSIC"), None, None),
        ("c.h5", lambda path: ds.write(path, {"x": 1}), None, None),
        ("d.nc", _two_names, "netCDF4", 'the link "h" is a link to the group "g"'),
        ("e.h5", _link, "h5py", "an external link"),
    ],
)
def test_info(
    name: str, make: Any, library: str | None, reason: str | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make(tmp_path / name)
    capsys.readouterr()
    assert main(["info", "-j", str(tmp_path / name)]) == 0
    reader = json.loads(capsys.readouterr().out)["reader"]
    assert reader["library"] == library
    assert reader["reason"] is reason or reader["reason"].startswith(reason)
    assert main(["info", str(tmp_path / name)]) == 0
    line = "read without a library" if library is None else f"read by {library}: {reason}"
    assert line in " ".join(capsys.readouterr().out.split())


def test_other_files_have_no_reader(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ds.write(tmp_path / "a.ds", {"x": 1})
    assert main(["info", "-j", str(tmp_path / "a.ds")]) == 0
    assert "reader" not in json.loads(capsys.readouterr().out)
