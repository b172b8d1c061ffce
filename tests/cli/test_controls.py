"""Text of files on a terminal has no control characters."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

import ds_format as ds
from ds_format.base import error_text
from ds_format.base.text import visible
from ds_format.cli import pst
from ds_format.show import overview

ROOT = Path(__file__).parents[2]
DS = [sys.executable, "-m", "ds_format"]
OBEYED = [
    *(code for code in range(0xA0) if (code < 0x20 or code >= 0x7F) and code not in (0x09, 0x0A)),
    *(0x061C, 0x200E, 0x200F, 0x2028, 0x2029, *range(0x202A, 0x202F), *range(0x2066, 0x206A)),
    *(0xD800, 0xDBFF, 0xDC9B, 0xDFFF),
]
"""Control characters, those which turn the direction, and halves of surrogate pairs."""
EVERY = "".join(map(chr, OBEYED))
HARMLESS = "a\tb\nc žluť \xa0 \xad 漢字 عربي \u200c\u200d 👩\u200d🔬 \\x1b"
NAME = f"n\x1b[31m{EVERY}X"
SHOWN = b"\\x1b[31m"


@pytest.fixture(autouse=True)
def environment(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("TERM", "xterm")


@pytest.fixture
def bad(folder: Path) -> str:
    """A file whose names, attributes, types and data have it all."""
    entries = {
        NAME: {".type": "unicode", ".size": [1], ".dims": [NAME], ".endian": "l", NAME: NAME, "units": NAME},
        "d\x1b[31m": {".type": NAME, ".size": [1], ".dims": ["i"]},
        ".": {"title": NAME},
    }
    text = NAME.encode("utf-8", "replace")
    (folder / "bad.ds").write_bytes(
        b"ds-1.0\n" + json.dumps(entries).encode() + b"\n" + len(text).to_bytes(8, "little") + text
    )
    return "bad.ds"


def on_terminal(*words: str, stderr: bool = False) -> bytes:
    """Run a command with stdout, or stderr, on a terminal, and return what that is sent."""
    ours, theirs = pty.openpty()
    streams = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "stderr" if stderr else "stdout": theirs}
    with subprocess.Popen([*DS, *words], stdin=subprocess.DEVNULL, **streams) as process:  # type: ignore[call-overload]
        os.close(theirs)
        pieces = []
        while True:
            try:
                piece = os.read(ours, 65536)
            except OSError:
                break
            if not piece:
                break
            pieces.append(piece)
        process.wait(60)
    os.close(ours)
    return b"".join(pieces).replace(b"\r\n", b"\n")


def in_pipe(*words: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([*DS, *words], capture_output=True, timeout=60, check=False, stdin=subprocess.DEVNULL)


def is_safe(shown: bytes | str) -> bool:
    text = shown if isinstance(shown, str) else shown.decode("utf-8", "surrogateescape")
    return not set(map(ord, text)).intersection(OBEYED)


@pytest.mark.parametrize("code", OBEYED)
def test_each_is_told(code: int) -> None:
    told = visible(f"a{chr(code)}b")
    assert told == f"a{ascii(chr(code))[1:-1]}b"
    assert is_safe(told)
    assert visible(told) == told


def test_text_stays_text() -> None:
    assert visible(HARMLESS) == HARMLESS


COMMANDS = [
    ["ls", "bad.ds"],
    ["ls", "-l", "bad.ds", "a:", "units"],
    ["meta", "bad.ds"],
    ["attrs", "bad.ds"],
    ["dims", "-z", "bad.ds"],
    ["cat", "n*", "bad.ds"],
    ["verify", "bad.ds"],
]


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_stdout(words: list[str], bad: str) -> None:
    piped = in_pipe(*words).stdout
    assert b"\x1b[31m" in piped or words[0] == "attrs"
    shown = on_terminal(*words)
    assert is_safe(shown)
    assert SHOWN in shown
    assert shown.decode() == visible(piped.decode("utf-8", "surrogatepass"))


@pytest.mark.parametrize("words", COMMANDS[:6], ids=" ".join)
def test_json_is_the_same_everywhere(words: list[str], bad: str) -> None:
    words = [words[0], "-j", *words[1:]]
    assert on_terminal(*words) == in_pipe(*words).stdout != b""


ERRORS = [
    ["cat", "d*", "bad.ds"],
    ["cat", "d*", "bad.ds", "-v"],
    ["cat", "-s", "no\x1b[31m\u202e", "bad.ds"],
    ["ls", "no\x1b[31m\r.ds"],
    ["ls", "a.ds", "--\x1b[31m"],
]


@pytest.mark.parametrize("words", ERRORS, ids=lambda words: ascii(" ".join(words)))
def test_stderr(words: list[str], bad: str) -> None:
    piped = in_pipe(*words)
    assert piped.returncode == 1
    shown = on_terminal(*words, stderr=True)
    for told in (piped.stderr, shown):
        assert is_safe(told)
        assert b"\\x1b[31m" in told
    if "-v" in words:
        assert shown.startswith(b"Traceback (most recent call last):\n")
        assert shown.count(b"\\x1b[31m") == 2


def test_warnings(bad: str) -> None:
    done = in_pipe("ls", "-m", "no\x1b[31m", "*", bad)
    assert (done.returncode, is_safe(done.stderr)) == (0, True)
    assert b"warning: " in done.stderr and b"no\\x1b[31m" in done.stderr


def test_messages_have_what_split_would_drop() -> None:
    assert error_text.one_line("a\r\x1c\x85\u2028b\n\t c") == r"a\r\x1c\x85\u2028b c"
    assert error_text.describe(ValueError("x\ry")) == r"x\ry"


def test_a_drawing_is_drawn() -> None:
    meta = {"x": {".dims": ["i"], "units": NAME}, "i": {".dims": ["i"]}}
    ds.write("a.json", {"x": [1.0, 3.0, 2.0], "i": [1, 2, 3], ".": meta})
    shown = on_terminal("plot", "x", "a.json").decode()
    assert "│" in shown and "└" in shown and is_safe(shown)


def test_stdout_that_is_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    pst.put(["\x1b[31m\u202e\n"])
    assert capsys.readouterr().out == "\x1b[31m\u202e\n"


def test_what_python_shows(bad: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with ds.open(bad) as file:
            views = [repr(file), file._repr_html_()]
            for variable in file.values():
                views += [repr(variable), variable._repr_html_()]
    names = {name: {".dims": [name], ".type": name, "units": name, name: name} for name in (NAME, "b")}
    dataset = ds.Dataset({NAME: None, "b": [EVERY], ".": {**names, ".": {NAME: NAME}}})
    views += [repr(dataset), str(dataset), overview.html(dataset)]
    for view in views:
        assert is_safe(view.replace("\n", ""))
    assert sum("\\x1b[31m" in view for view in views) >= len(views) - 1
