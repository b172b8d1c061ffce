"""Reading ds files from a web server: how many requests it takes, and what they return."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ds_format as ds

from ..same import same_data
from .server import Server

pytest.importorskip("urllib3", reason="needs urllib3, of the extra remote")

Serve = Callable[..., Server]
RANDOM = np.random.default_rng(27)
SHAPE = (20, 181, 90)
GRID = RANDOM.normal(size=SHAPE).astype("f4")
MASKED = np.ma.MaskedArray(GRID * 2, RANDOM.random(SHAPE) < 0.2)
FLAGS = RANDOM.random(300_000) < 0.5
LARGE: dict[str, Any] = {
    "grid": GRID,
    "masked": MASKED,
    "flags": FLAGS,
    "hours": np.arange(20.0),
    "text": np.array([f"station {i}" for i in range(5000)], object),
    ".": {
        "grid": {".dims": ["time", "lat", "lon"]},
        "masked": {".dims": ["time", "lat", "lon"]},
        "flags": {".dims": ["n"]},
        "hours": {".dims": ["time"], "units": "hours"},
        "text": {".dims": ["station"]},
    },
}
SMALL = {
    "x": np.arange(10.0),
    "m": np.ma.MaskedArray([1, 2, 3], [False, True, False]),
    "s": np.array(["a", "bc"], object),
    ".": {"x": {".dims": ["x"], "units": "m"}, "m": {".dims": ["m"]}, "s": {".dims": ["s"]}},
}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    folder = tmp_path_factory.mktemp("files")
    ds.write(folder / "large.ds", LARGE)
    ds.write(folder / "small.ds", SMALL)
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize("variables", [None, ["x"], ["m", "s"]])
def test_a_small_file_takes_one_request(variables: list[str] | None, files: dict[str, bytes], serve: Serve) -> None:
    server = serve(files)
    found = ds.read(server.url("small.ds?token=1#part"), variables)
    assert len(server.requests) == 1
    assert [key for key in found if key != "."] == (variables or ["x", "m", "s"])
    for key in variables or ["x", "m", "s"]:
        assert same_data(found[key], SMALL[key])
        found[key][:1] = found[key][1:2]  # it can be written
    assert server.requests[0].query == "token=1"
    assert found["."]["." if variables == [] else (variables or ["x"])[0]][".dims"]


def test_selections_of_a_small_file_take_one_request(files: dict[str, bytes], serve: Serve) -> None:
    server = serve(files)
    assert ds.read(server.url("small.ds"), "x", {"x": 3})["x"] == 3
    assert ds.read(server.url("small.ds"), "x", between={"x": (2, 4)})["x"].tolist() == [2, 3]
    assert len(server.requests) == 2


def test_opening_takes_one_request(files: dict[str, bytes], serve: Serve) -> None:
    server = serve(files)
    with ds.open(server.url("large.ds")) as file:
        assert {name: file[name].shape for name in file} == {key: LARGE[key].shape for key in LARGE if key != "."}
        assert file["hours"].attrs == {"units": "hours"}
    assert server.ranges == [(0, 64 * 1024)]


def test_a_slab_takes_two_requests(files: dict[str, bytes], serve: Serve) -> None:
    server = serve(files)
    assert same_data(ds.read(server.url("large.ds"), "grid", {"time": 5})["grid"], GRID[5])
    assert len(server.requests) == 2
    assert server.sent <= 64 * 1024 + GRID[5].nbytes


def test_a_masked_slab_takes_three_requests(files: dict[str, bytes], serve: Serve) -> None:
    server = serve(files)
    assert same_data(ds.read(server.url("large.ds"), "masked", {"time": 5})["masked"], MASKED[5])
    assert len(server.requests) == 3
    assert server.sent <= 64 * 1024 + MASKED.size // 8 + 1 + MASKED[5].nbytes


@pytest.mark.parametrize("keys", [["grid"], ["masked"], ["text"], ["flags"], ["grid", "masked", "flags", "text"], None])
def test_whole_variables_take_two_requests(keys: list[str] | None, files: dict[str, bytes], serve: Serve) -> None:
    server = serve(files)
    found = ds.read(server.url("large.ds"), keys)
    for key in keys or [key for key in LARGE if key != "."]:
        assert same_data(found[key], LARGE[key])
    assert len(server.requests) == 2


def test_a_series_reads_close_ranges_as_one(files: dict[str, bytes], serve: Serve) -> None:
    server = serve(files)
    assert same_data(ds.read(server.url("large.ds"), "grid", {"lat": 3, "lon": 4})["grid"], GRID[:, 3, 4])
    assert len(server.requests) == 2


def test_a_series_with_a_small_gap_takes_a_request_for_each_time(files: dict[str, bytes], serve: Serve) -> None:
    server = serve(files)
    with ds.remote(gap=1000):
        assert same_data(ds.read(server.url("large.ds"), "grid", {"lat": 170, "lon": 4})["grid"], GRID[:, 170, 4])
    assert len(server.requests) == 20  # that of the first time came with the header
    assert server.sent < 64 * 1024 + 100_000


def test_large_ranges_come_in_pieces(files: dict[str, bytes], serve: Serve) -> None:
    server = serve(files)
    with ds.remote(piece=100_000, lanes=3):
        assert same_data(ds.read(server.url("large.ds"), "grid")["grid"], GRID)
    sizes = [end - first for first, end in server.ranges[1:]]  # type: ignore[misc, operator]
    assert (
        max(sizes) == 100_000 and sum(sizes) < GRID.nbytes + 1000 and len(sizes) == -(-(GRID.nbytes - 65536) // 100_000)
    )


def test_a_handle_reads_a_part_with_one_request(files: dict[str, bytes], serve: Serve) -> None:
    server = serve(files)
    with ds.open(server.url("large.ds?token=1")) as file:
        handle = pickle.loads(pickle.dumps(file["grid"].handle()))
        small = ds.open(server.url("small.ds"))["x"].handle()
    del server.requests[:]
    assert same_data(handle[3:5], GRID[3:5])
    assert [request.query for request in server.requests] == ["token=1"]
    assert same_data(pickle.loads(pickle.dumps(small)).read(), SMALL["x"])  # its bytes came with the header
    assert len(server.requests) == 1


def test_the_address_hides_credentials(files: dict[str, bytes], serve: Serve) -> None:
    server = serve(files)
    address = server.url("large.ds?token=secret").replace("http://", "http://me:password@")
    with ds.open(address) as file:
        handle = file["grid"].handle()
    assert server.received("Authorization", "127.0.0.1") == ["Basic bWU6cGFzc3dvcmQ="]
    assert "secret" not in repr(handle) and "password" not in repr(handle)
    assert "secret" not in repr(file) and "password" not in repr(file)


@pytest.mark.parametrize("name", ["small", "large"])
def test_a_file_without_a_suffix_is_recognised(name: str, files: dict[str, bytes], serve: Serve) -> None:
    server = serve({"data": files[f"{name}.ds"]})
    key = "x" if name == "small" else "hours"
    assert same_data(ds.read(server.url("data"), [key])[key], (SMALL if name == "small" else LARGE)[key])
    assert len(server.requests) == 1  # variables of few bytes come with the header


def test_an_empty_file(serve: Serve) -> None:
    with pytest.raises(ds.FormatError, match=r"empty\.ds"):
        ds.read(serve({"empty.ds": b""}).url("empty.ds"))


def test_checksums_are_compared(tmp_path: Path, serve: Serve) -> None:
    ds.write(tmp_path / "sums.ds", LARGE, checksum=True)
    data = bytearray((tmp_path / "sums.ds").read_bytes())
    server = serve({"sums.ds": bytes(data)})
    assert same_data(ds.read(server.url("sums.ds"), "grid", verify=True)["grid"], GRID)
    data[1000] ^= 1
    server.files["sums.ds"] = bytes(data)
    with pytest.raises(ds.IntegrityError, match="grid"):
        ds.read(server.url("sums.ds"), "grid", verify=True)


def test_settings_are_checked_and_restored() -> None:
    with ds.remote(lanes=2, timeout=1.5) as settings:
        assert (settings.lanes, settings.timeout, settings.gap) == (2, 1.5, 256 * 1024)
    assert ds.remote().settings.lanes == 8
    for wrong in ({"gap": -1}, {"piece": 0}, {"lanes": 0}, {"timeout": 0}, {"retries": -1}):
        with pytest.raises(ValueError, match=f"^{next(iter(wrong))}: found"):
            ds.remote(**wrong)
