"""Files of all formats being written: the options that each has, and what they have in common."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ds_format as ds
from ds_format import drivers
from ds_format.api.creation import create_sink, created
from ds_format.cli import main
from ds_format.errors import DriverError, UnsupportedError

from .formats import STRAIGHT, SUFFIX, SUFFIXES, TIMED

META = {"x": {".dims": ["i"], ".size": [3], ".type": "float64"}}
X = np.arange(3.0)
DATASET = {"x": X, ".": {"x": {".dims": ["i"]}}}


@pytest.fixture(autouse=True)
def _extra(request: pytest.FixtureRequest) -> None:
    if ".h5" in request.node.name:
        pytest.importorskip("h5py")


def test_the_quick_start_lists_all_options() -> None:
    text = (Path(__file__).parents[1] / "docs" / "quickstart.md").read_text(encoding="utf-8")
    table = text.partition("| suffix | options besides `durable` |\n")[2].partition("\n\n")[0]
    listed = {}
    for line in table.splitlines()[1:]:
        suffixes, options = (re.findall(r"`([^`]*)`", cell) for cell in line.split("|")[1:3])
        assert len(options) == len(set(options)), line
        listed.update({suffix: {"durable", *options} for suffix in suffixes})
    assert listed.keys() >= set(SUFFIXES)
    assert listed == {suffix: drivers.find(f"x{suffix}").creation for suffix in listed}


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A file to read from, in a folder that nothing else is written to."""
    (tmp_path / "source").mkdir()
    ds.write(tmp_path / "source" / "in.ds", DATASET)
    return tmp_path / "source" / "in.ds"


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.is_file())


@pytest.mark.parametrize("format", drivers.FORMATS)
def test_the_table_has_the_options_of_each_driver(format: str) -> None:
    if format == "hdf5":
        pytest.importorskip("h5py")
    driver = drivers.FORMATS[format]
    parameters = inspect.signature(drivers.load(driver).create).parameters.values()
    coded = drivers.TIMES | drivers.TEXT_TIMES | drivers.CODED
    assert {one.name for one in parameters if one.kind is one.KEYWORD_ONLY} == driver.creation - coded
    assert [one.name for one in parameters if one.kind is not one.KEYWORD_ONLY] == ["path", "meta"]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_an_unknown_option(suffix: str, source: Path, tmp_path: Path) -> None:
    path = tmp_path / f"a{suffix}"
    format = next(name for name, driver in drivers.FORMATS.items() if suffix in driver.suffixes)
    known = ", ".join(sorted(drivers.FORMATS[format].creation))
    told = f'{path}: the format {format} has no option "durabel", expected one of {known}: did you mean durable?'
    for write in (
        lambda: ds.write(path, DATASET, durabel=True),  # type: ignore[call-arg]
        lambda: ds.convert(source, path, durabel=True),  # type: ignore[call-arg]
        lambda: ds.merge_files("i", [source], path, durabel=True),  # type: ignore[call-arg]
        lambda: create_sink(path, META, durabel=True),
    ):
        with pytest.raises(DriverError) as caught:
            write()
        assert str(caught.value) == told
    assert names(tmp_path) == []


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (
            ("dim:", "i", "a.nc"),
            (
                'a.nc: the format netcdf has no option "dim", expected one of bits, calendar, chunks, compression, '
                "digits, encoding, level, shuffle, time_units\n"
            ),
        ),
        (("time_units:", "days since 2000-01-01", "a.ds"), 'a.ds: the format ds has no option "time_units"\n'),
    ],
)
def test_the_command_line_tells_of_the_options_that_it_has(
    words: tuple[str, ...],
    told: str,
    source: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(source.parent)
    *options, target = words
    assert main([*options, "select", "in.ds", target]) == 1
    assert capsys.readouterr().err == f"ds select: {told}"


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_an_option_that_is_none_is_not_given(suffix: str, tmp_path: Path) -> None:
    ds.write(tmp_path / f"a{suffix}", DATASET, durable=None, what=None)  # type: ignore[arg-type, call-arg]
    assert ds.read(tmp_path / f"a{suffix}")["x"].tolist() == [0, 1, 2]


@pytest.mark.parametrize("suffix", STRAIGHT)
def test_straight_into_the_file(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"a{suffix}"
    with created(path, META, atomic=False) as sink:
        assert names(tmp_path) == [path.name]
        sink.write("x", [X])
    assert ds.read(path)["x"].tolist() == [0, 1, 2]
    with pytest.raises(FileExistsError, match=f"a{suffix}"):
        ds.write(path, {"x": [4.0]}, atomic=False)
    assert ds.read(path)["x"].tolist() == [0, 1, 2]
    with pytest.raises(ValueError, match="of no use"), created(tmp_path / f"b{suffix}", META, atomic=False):
        raise ValueError("of no use")
    assert names(tmp_path) == [path.name]


@pytest.mark.parametrize("suffix", sorted({*SUFFIXES} - {*STRAIGHT}))
def test_records_are_never_in_the_open_before_they_are_whole(suffix: str, tmp_path: Path) -> None:
    with pytest.raises(DriverError, match='has no option "atomic"'):
        ds.write(tmp_path / f"a{suffix}", DATASET, atomic=False)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_where_no_file_can_be(suffix: str, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=rf"nowhere.a\{suffix}"):
        create_sink(tmp_path / "nowhere" / f"a{suffix}", META)
    if suffix == SUFFIX["zarr"]:  # a folder
        return
    (tmp_path / f"b{suffix}").mkdir()
    with pytest.raises(IsADirectoryError, match=rf"b\{suffix}"):
        ds.write(tmp_path / f"b{suffix}", DATASET)


@pytest.mark.filterwarnings("ignore::ds_format.LossWarning")
@pytest.mark.parametrize("suffix", TIMED)
def test_times_are_written_in_units_of_choice(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"a{suffix}"
    data: dict[str, Any] = {"t": np.array([2451545.0, 2451546.0]), ".": {"t": {".dims": ["t"], ".time": True}}}
    ds.write(path, data, time_units="hours since 2000-01-01", calendar="standard")
    assert ds.read(path)["t"].tolist() == [12, 36]
    ds.write(path, data)
    assert ds.read(path)["t"].tolist() == [2451545, 2451546]


@pytest.mark.parametrize("suffix", TIMED)
def test_what_is_no_time_is_told_of_with_its_place(suffix: str, tmp_path: Path) -> None:
    data: dict[str, Any] = {"t": np.array(["noon"], object), ".": {"t": {".dims": ["t"], ".time": True}}}
    with pytest.raises(UnsupportedError, match=rf'a\{suffix}: variable "t": found values that are no numbers'):
        ds.write(tmp_path / f"a{suffix}", data, time_units="hours since 2000-01-01")
    assert names(tmp_path) == []
