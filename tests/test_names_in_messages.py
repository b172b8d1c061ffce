"""Names with line feeds and control characters forge no line, and steer no terminal, in whatever is said about them."""

from __future__ import annotations

import ast
import pickle
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ds_format as ds
from benchmarks import house
from ds_format.base.text import on_one_line
from ds_format.errors import DsError

from .formats import DATASETS

ROOT = Path(__file__).parents[1]
CHARACTERS = ["\n", "\r", "\x1b[31m", "\u2028", "\u202e", "\u2066"]
NAME = "a" + "b".join(CHARACTERS) + "c"
TOLD = on_one_line(NAME)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))


def is_safe(text: str) -> bool:
    return not any(character[0] in text for character in CHARACTERS)


def dataset() -> dict[str, Any]:
    return {NAME: np.array([1.0, 2.0]), ".": {NAME: {".dims": [NAME], NAME: NAME, "units": NAME}, ".": {NAME: NAME}}}


def whole() -> str:
    ds.write(f"{NAME}.ds", dataset())
    return f"{NAME}.ds"


def cut() -> str:
    path = Path(whole()).rename(f"cut{NAME}.ds")
    path.write_bytes(path.read_bytes()[:-3])
    return str(path)


def nothing(suffix: str) -> str:
    Path(NAME + suffix).write_bytes(b"nothing")
    return NAME + suffix


def other() -> str:
    ds.write(f"other{NAME}.ds", {NAME: np.array(["a"]), ".": {NAME: {".dims": [NAME], "units": NAME + "x"}}})
    return f"other{NAME}.ds"


def lazily(path: str, name: str) -> Any:
    with ds.open(path) as file:
        return file[name][:]


def folder_of(*paths: str) -> str:
    """Return a folder of that name with these files in it."""
    Path(NAME).mkdir()
    for path in paths:
        Path(path).rename(Path(NAME, path))
    return NAME


def in_xarray(function: str, paths: Any, **options: Any) -> Any:
    xr = pytest.importorskip("xarray")
    with getattr(xr, function)(paths, engine="ds", **options) as opened:
        return opened.load()


def many(*paths: str, dim: str = NAME, **options: Any) -> Any:
    pytest.importorskip("xarray")
    with ds.open_many(list(paths), dim, **options) as opened:
        return opened.load()


def converted(*inputs: str) -> None:
    """Raise what `convert_many` reports of these inputs, as it is."""
    records = ds.convert_many(inputs, "out")
    raise OSError("; ".join([repr(records), *(record.cause for record in records if record.cause)]))


REFUSED: dict[str, Callable[[], Any]] = {
    "read": lambda: ds.read(cut()),
    "read_many": lambda: ds.read_many([cut()], dim=NAME),
    "convert": lambda: ds.convert(cut(), "x.nc"),
    "open": lambda: lazily(cut(), NAME),
    "open, name": lambda: lazily(whole(), NAME + "x"),
    "read, name": lambda: ds.read(whole(), [NAME + "x"]),
    "read, sel": lambda: ds.read(whole(), sel={NAME + "x": 0}),
    "write, nc": lambda: ds.write("x.nc", dataset()),
    "write, ds": lambda: ds.write(f"{NAME}.ds", {NAME: [1j]}),
    "open_many, damaged": lambda: many(whole(), cut()),
    "open_many, nothing": lambda: many(whole(), NAME + "x.ds"),
    "open_many, pattern": lambda: many(f"{NAME}*.ds"),
    "open_many, suffix": lambda: many(whole(), nothing(".unknown")),
    "open_many, other": lambda: many(whole(), other(), dim="new"),
    "xarray, damaged": lambda: in_xarray("open_dataset", cut()),
    "xarray, absent": lambda: in_xarray("open_dataset", f"x{NAME}.ds"),
    "xarray, nothing": lambda: in_xarray("open_dataset", nothing(".ds")),
    "xarray, group": lambda: in_xarray("open_dataset", whole(), group=NAME),
    "xarray, many": lambda: in_xarray("open_mfdataset", [whole(), cut()], combine="nested", concat_dim=NAME),
    "readdir": lambda: ds.readdir(folder_of() + "x"),
    "convert_many": lambda: converted(cut(), whole()),
    "convert_many, folder": lambda: converted(folder_of(cut(), whole())),
    "convert_many, absent": lambda: ds.convert_many([NAME], "out"),
    "convert_many, pattern": lambda: ds.convert_many([f"{NAME}*"], "out"),
    "convert_many, unknown": lambda: ds.convert_many([folder_of(nothing(".x"), nothing(".y"))], "out"),
    "merge_files": lambda: ds.merge_files(NAME, [cut(), whole()], "x.ds"),
    **{suffix: lambda suffix=suffix: ds.read(nothing(suffix)) for suffix in [*DATASETS, ".jsonl"]},  # type: ignore[misc]
}


@pytest.mark.parametrize("name", REFUSED)
def test_errors(name: str) -> None:
    with warnings.catch_warnings(record=True) as caught, ds.with_mode("strict"):
        warnings.simplefilter("always")
        with pytest.raises((DsError, OSError)) as refused:
            REFUSED[name]()
    told = [str(refused.value), *(str(warning.message) for warning in caught)]
    assert all(map(is_safe, told)), ascii(told)


@pytest.mark.parametrize("options", [{}, {"merge": NAME}, {"sel": {NAME: 0}}, {"parallel": True}, {"variables": NAME}])
@pytest.mark.parametrize("is_listed", [False, True])
def test_readdir_leaves_out_on_one_line(options: dict[str, Any], is_listed: bool) -> None:
    listed: list[tuple[str, str]] | None = [] if is_listed else None
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.filterwarnings("ignore", ".*fork", DeprecationWarning)  # Python 3.12 and 3.13, beside other threads
        ds.readdir(folder_of(cut(), whole(), nothing(".nc"), nothing(".x")), warnings=listed, **options)
    told = [str(each.message) for each in caught] + [message for message, _ in listed or []]
    assert len(told) >= 2 and all(TOLD in each for each in told)
    assert all(map(is_safe, told)), ascii(told)


def test_an_error_has_names_as_they_are_and_tells_them_escaped() -> None:
    error = DsError(f"found {NAME}", path=NAME, variable=NAME)
    assert (error.path, error.variable) == (NAME, NAME)
    assert str(error) == f'{TOLD}: variable "{TOLD}": found {TOLD}'
    lines = DsError("one\ntwo\x1b[31m", path=NAME)
    lines.keeps_lines = True
    for each in (lines, pickle.loads(pickle.dumps(lines))):
        assert str(each) == f"{TOLD}: one\ntwo\\x1b[31m"


def test_reprs() -> None:
    with ds.open(whole()) as file:
        shown = [repr(file), repr(file[NAME]), repr(file[NAME].handle())]
    shown += repr(ds.Dataset(dataset())).split("\n")
    assert any(TOLD in each for each in shown)
    assert all(map(is_safe, shown))


COMMANDS = [
    ["ls", NAME],
    ["cat", NAME, "WHOLE"],
    ["cat", NAME + "x", "WHOLE"],
    ["cat", NAME, "CUT"],
    ["info", "CUT"],
    ["info", NAME],
    ["stats", NAME, "CUT"],
    ["convert", "WHOLE", f"x{NAME}.nc"],
    ["convert", "CUT", "WHOLE", "out"],
    ["convert", "FOLDER", "out"],
    ["convert", "FOLDER", f"{NAME}.out", "jobs:", "2"],
    ["convert", "--verify", "FOLDER", "out"],
    ["convert", f"{NAME}*", "out"],
    ["verify", "FOLDER"],
    ["merge", NAME, "CUT", "WHOLE", "y.ds"],
    ["select", "WHOLE", "y.ds", "sel:", "{", NAME + "x", "0", "}"],
    ["diff", "CUT", "WHOLE"],
    [NAME],
    ["ls", f"--{NAME}"],
]


@pytest.mark.parametrize("words", COMMANDS, ids=lambda words: words[0][:7])
def test_stderr(words: list[str]) -> None:
    files = {"CUT": cut(), "WHOLE": whole()}
    if "FOLDER" in words:
        files["FOLDER"] = folder_of(cut(), whole(), nothing(".nc"), nothing(".x"))
    run = [sys.executable, "-m", "ds_format", *(files.get(word, word) for word in words)]
    done = subprocess.run(run, capture_output=True, timeout=60, check=False, stdin=subprocess.DEVNULL)
    lines = done.stderr.decode().split("\n")
    assert all(map(is_safe, lines)), lines
    # what follows a line feed of the name begins with this
    assert not any(line.startswith("b") for line in lines), lines


def test_what_warns_of_names_escapes_them() -> None:
    """Text that is put together for a warning is that of an error, which escapes names, or passes `on_one_line`."""
    found = []
    for module, tree in house.trees().items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and ast.unparse(node.func) in ("warnings.warn", "warnings_module.warn"):
                said = node.args[0]
                values = said.values if isinstance(said, ast.JoinedStr) else []
                parts = [ast.unparse(each.value) for each in values if isinstance(each, ast.FormattedValue)]
                if not all(part.startswith(("fault", "error.at(", "describe(")) for part in parts):
                    found.append(f"{module}: {ast.unparse(said)}")
    assert not found
