"""`ds info` on a terminal: colours, and what it imports for them."""

from __future__ import annotations

import fcntl
import importlib.util
import os
import pty
import re
import shutil
import struct
import subprocess
import sys
import termios
from collections.abc import Iterator
from pathlib import Path

import pytest

import ds_format

ROOT = Path(__file__).parents[2]
CODE = """
import sys
if "{absent}":
    sys.modules["rich"] = None
from ds_format.cli import main
status = main(sys.argv[1:])
print("rich" in sys.modules and sys.modules["rich"] is not None, file=sys.stderr)
sys.exit(status)
"""
COLOUR = re.compile(r"\x1b\[[0-9;]*m")
EVIL = "\x1b[31mred\x1b]0;title\x07 \x9b1m"
needs_rich = pytest.mark.skipif(importlib.util.find_spec("rich") is None, reason="needs rich")


@pytest.fixture(autouse=True)
def environment(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    shutil.copy(ROOT / "examples" / "sample.nc", folder)


def on_a_terminal(*words: str, columns: int = 80, absent: str = "") -> tuple[str, bool]:
    """Return what the program shows on a terminal, and whether it has imported rich."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    command = [sys.executable, "-c", CODE.format(absent=absent), *words]
    with subprocess.Popen(command, stdout=theirs, stderr=subprocess.PIPE, text=True) as process:
        os.close(theirs)
        shown = b"".join(_chunks(ours)).decode().replace("\r\n", "\n")
        assert process.stderr is not None
        told = process.stderr.read()
    os.close(ours)
    assert process.returncode == 0
    return shown, told == "True\n"


def _chunks(fd: int) -> Iterator[bytes]:
    while True:
        try:
            chunk = os.read(fd, 4096)
        except OSError:
            return
        if not chunk:
            return
        yield chunk


def in_a_pipe(*words: str) -> tuple[str, bool]:
    done = subprocess.run(
        [sys.executable, "-c", CODE.format(absent=""), *words], capture_output=True, text=True, check=True, timeout=60
    )
    return done.stdout, done.stderr == "True\n"


@needs_rich
def test_colours_change_nothing_but_colours() -> None:
    plain, has_rich = in_a_pipe("info", "sample.nc")
    assert not has_rich
    assert "\x1b" not in plain
    shown, has_rich = on_a_terminal("info", "sample.nc")
    assert has_rich
    assert "\x1b[36mtemperature \x1b[0m" in shown
    assert COLOUR.sub("", shown) == plain


@pytest.mark.parametrize(("name", "value"), [("NO_COLOR", "1"), ("TERM", "dumb")])
def test_who_wants_no_colours_gets_none(name: str, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, value)
    assert on_a_terminal("info", "sample.nc") == in_a_pipe("info", "sample.nc")


def test_without_rich_there_are_none() -> None:
    assert on_a_terminal("info", "sample.nc", absent="rich") == in_a_pipe("info", "sample.nc")


@pytest.mark.parametrize("columns", [40, 60, 200])
def test_lines_fit(columns: int) -> None:
    for words in (["info", "sample.nc"], ["info", "-l", "sample.nc"]):
        lines = COLOUR.sub("", on_a_terminal(*words, columns=columns)[0]).splitlines()
        assert max(map(len, lines)) <= columns
        assert any("pressure" in line for line in lines)


def test_a_very_narrow_terminal_does_not_stop_it() -> None:
    shown, _ = on_a_terminal("info", "sample.nc", columns=5)
    assert "pressure" in shown


def test_the_file_sends_nothing_to_the_terminal() -> None:
    ds_format.write("x.ds", {EVIL: [1.0], ".": {EVIL: {".dims": [EVIL], EVIL: EVIL}, ".": {EVIL: [EVIL]}}})
    for words in (["info", "x.ds"], ["info", "-l", "x.ds"], ["info", "-j", "x.ds"]):
        shown = COLOUR.sub("", on_a_terminal(*words, columns=300)[0])
        assert "red" in shown
        assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f]", shown)
        assert r"\x1b[31mred\x1b]0;title" in shown or r"\u001b[31mred\u001b]0;title" in shown
