"""Commands, and functions on files as a whole, with addresses."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ds_format as ds
from ds_format.cli.main import main

from .server import Server

pytest.importorskip("urllib3", reason="needs urllib3, of the extra remote")

Serve = Callable[..., Server]


@pytest.fixture
def server(serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Server:
    monkeypatch.chdir(tmp_path)
    for name in ("a", "b"):
        x = np.arange(6.0) if name == "a" else np.arange(6.0) + 6
        meta = {"time": {".dims": ["time"]}, "x": {".dims": ["time"], "units": "K"}, ".": {"title": "data"}}
        for suffix in ("ds", "nc"):
            ds.write(f"{name}.{suffix}", {"time": x, "x": x * 2, ".": meta})
    return serve({path.name: path.read_bytes() for path in tmp_path.iterdir()})


@pytest.mark.parametrize("suffix", ["ds", "nc"])
def test_commands_print_the_same_as_of_a_local_file(
    suffix: str, server: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    def printed(*words: str) -> str:
        assert main([*words]) == 0
        return capsys.readouterr().out

    url = server.url(f"a.{suffix}")
    for command in (
        ["info"],
        ["ls", "-l"],
        ["cat", "x"],
        ["meta"],
        ["meta", "x"],
        ["stats", "x"],
        ["dims"],
        ["verify"],
        ["hash"],
        ["hash", "-l"],
    ):
        local = printed(*command, f"a.{suffix}")
        assert printed(*command, url).replace(url, f"a.{suffix}") == local
    assert json.loads(printed("info", "-j", url))["size"] == len(server.files[f"a.{suffix}"])
    assert printed("diff", url, f"a.{suffix}") == printed("diff", f"a.{suffix}", f"a.{suffix}")
    assert main(["diff", url, server.url(f"b.{suffix}")]) == 1
    assert "values" in capsys.readouterr().out


def test_commands_that_write(server: Server) -> None:
    assert main(["select", "x", server.url("a.nc"), "part.ds"]) == 0
    assert ds.read("part.ds")["x"].tolist() == [0, 2, 4, 6, 8, 10]
    assert main(["convert", server.url("a.nc?token=1"), "whole.ds"]) == 0
    assert ds.read("whole.ds")["time"].tolist() == [*range(6)]
    assert main(["merge", "time", server.url("a.ds"), server.url("b.ds"), "all.ds"]) == 0
    assert ds.read("all.ds")["x"].tolist() == [*range(0, 24, 2)]


def test_commands_that_change_a_dataset(server: Server) -> None:
    pytest.importorskip("fsspec")
    url, target = server.url("a.ds?token=1"), "memory://changed/b.ds"
    assert main(["rm", "x", url, target]) == 0
    assert [*ds.read(target)] == ["time", "."]
    assert main(["rename", "time:", "t", target, "t.ds"]) == 0
    assert main(["rename_dim", "time:", "t", url, "t.ds"]) == 0
    assert ds.read("t.ds")["."]["x"][".dims"] == ["t"]
    assert main(["set", "none", "title:", "other", target, target]) == 0
    assert ds.read(target)["."]["."] == {"title": "other"}


def test_plot(server: Server) -> None:
    pytest.importorskip("matplotlib")
    assert main(["plot", "x", server.url("a.ds"), "-o", "x.png"]) == 0
    assert Path("x.png").read_bytes().startswith(b"\x89PNG")


def test_an_absent_file_is_one_line(server: Server, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ls", server.url("absent.ds")]) != 0
    assert "404" in capsys.readouterr().err


@pytest.mark.parametrize("suffix", ["ds", "nc"])
def test_many_files(suffix: str, server: Server) -> None:
    urls = [server.url(f"{name}.{suffix}") for name in "ab"]
    del server.requests[:]
    found: Any = ds.read_many(urls)
    assert [one["x"].tolist() for one in found] == [[*range(0, 12, 2)], [*range(12, 24, 2)]]
    assert len(server.requests) == 2
    assert ds.read_many([*urls, f"a.{suffix}"], "x", dim="time")["x"].tolist() == [*range(0, 24, 2), *range(0, 12, 2)]
    ds.merge_files("time", urls, "merged.ds")
    assert ds.read("merged.ds")["x"].tolist() == [*range(0, 24, 2)]


def test_functions(server: Server) -> None:
    url = server.url("a.ds")
    assert ds.verify(url) == []
    server.files["cut.ds"] = server.files["a.ds"][:-8]
    assert [problem.severity for problem in ds.verify(server.url("cut.ds"))] == ["error"]
    assert not ds.diff(url, "a.ds") and ds.diff(url, server.url("b.ds"))
    ds.convert(url, "out.nc", ["x"], {"time": slice(2)})
    assert ds.read("out.nc")["x"].tolist() == [0, 2]
    assert ds.from_netcdf(server.url("a.nc"))["x"].tolist() == [*range(0, 12, 2)]


@pytest.mark.parametrize("suffix", ["ds", "nc"])
def test_small_variables_are_requested_together(suffix: str, serve: Serve, tmp_path: Path) -> None:
    path = tmp_path / f"many.{suffix}"
    ds.write(path, {f"v{i}": np.arange(3000.0) + i for i in range(40)})
    server = serve({path.name: path.read_bytes()})
    assert ds.digest(server.url(path.name)) == ds.digest(path)
    assert len(server.requests) < 8
