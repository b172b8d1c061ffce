"""The program as a process: its imports and its end."""

from __future__ import annotations

import os
import pty
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from ds_format._version import __version__

from ..listening import STOPPING, listen

ROOT = Path(__file__).parents[2]
DS = [sys.executable, "-m", "ds_format"]

SLOW = """
import sys, time
from pathlib import Path
from ds_format.cli import commands, main, progress
from ds_format.cli.arguments import Command

def run(request):
    try:
        Path("begun").touch()
        for i in range(600):
            time.sleep(0.05)
            if request.progress:
                request.progress(i * 1000, 6000)
            if {steps} == i:
                break
    finally:
        Path("cleaned").touch()
    return ["done"]

progress.DELAY = 0.0
commands.load = lambda name: Command(("ds x",), "", (), (), (), run)
sys.exit(main())
"""
"""A program whose command takes some time."""


@pytest.fixture(autouse=True)
def environment(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("TERM", "xterm")


def wait_for(path: Path) -> None:
    for _ in range(1200):
        if path.exists():
            return
        time.sleep(0.05)
    pytest.fail(f"{path} did not come about")


def run(*words: str, **options: object) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([*DS, *words], capture_output=True, timeout=60, check=False, **options)  # type: ignore[call-overload]


@pytest.mark.parametrize(
    "words",
    [
        ["--version"],
        ["base.ds"],
        ["ls", "-lj", "t*", "base.ds", "a:", "units"],
        ["attrs", "temperature", "units", "base.ds"],
        ["dim", "time", "base.ds"],
        ["dims", "-z", "base.ds"],
        ["meta", "-j", "base.ds"],
        ["size", "t*e", "base.ds"],
        ["type", "time", "base.ds", "-s"],
        ["info", "base.ds"],
        ["info", "-j", "base.ds"],
        ["--help"],
        ["--help", "type"],
        ["ls"],
    ],
)
def test_neither_numpy_nor_netcdf4_is_imported(words: list[str], base: str) -> None:
    code = (
        "import sys; from ds_format.cli import main; main(sys.argv[1:]);"
        "print({'numpy', 'netCDF4', 'ds_format.api.conversion'} & set(sys.modules), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, timeout=60, check=True)
    assert done.stderr.endswith(b"set()\n")


def test_the_header_is_listed_without_compiling_annotations(base: str) -> None:
    """The first compilation takes a millisecond; typing compiles those of a NamedTuple that are text."""
    code = (
        "import sys, typing; from ds_format.cli import main; main(sys.argv[1:])\n"
        "modules = [module for name, module in sys.modules.items() if name.startswith('ds_format')]\n"
        "values = [value for module in modules for value in vars(module).values()]\n"
        "classes = {value for value in values if isinstance(value, type) and issubclass(value, tuple)}\n"
        "texts = [c for c in classes if typing.ForwardRef in map(type, c.__annotations__.values())]\n"
        "print(*texts, file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code, base], capture_output=True, timeout=60, check=True)
    assert done.stderr == b"\n"


def test_the_module_runs(base: str) -> None:
    done = run("--version")
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{__version__}\n".encode(), b"")
    done = run("-l", base)
    assert done.returncode == 0
    assert done.stdout == b"time: 3\ntemperature float64 { time }\ntime int64 { time }\n"
    assert run("nope.ds").returncode == 1


@pytest.mark.parametrize("locale", [{"LC_ALL": "C"}, {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}])
def test_output_is_utf8_in_any_locale(locale: dict[str, str], folder: Path) -> None:
    (folder / "a.ds").write_bytes('ds-1.0\n{"ž": {".size": [], ".type": "int8"}, "\\udcff": {}, ".": {}}\n1'.encode())
    done = run("a.ds", env={**os.environ, **locale})
    assert (done.returncode, done.stdout) == (0, "ž\n".encode() + b"\xff\n")
    done = run("ls", "-s", "ž*č", "a.ds", env={**os.environ, **locale})
    assert done.returncode == 1
    assert done.stderr.count(b"\n") == 1


def test_bytes_that_are_not_utf8_can_be_named(folder: Path) -> None:
    name = b"\xff.ds"
    (folder / os.fsdecode(name)).write_bytes(b'ds-1.0\n{"x": {".size": [], ".type": "int8"}, ".": {}}\n1')
    for word in (name, rb"\377.ds"):
        done = subprocess.run([*DS, word], capture_output=True, timeout=60, check=False)
        assert (done.returncode, done.stdout) == (0, b"x\n")


def test_a_closed_pipe_ends_it_quietly(folder: Path) -> None:
    entries = ", ".join(f'"{"x" * 100}{i}": {{".size": [], ".type": "int8"}}' for i in range(3000))
    (folder / "a.ds").write_bytes(f'ds-1.0\n{{{entries}, ".": {{}}}}\n1'.encode())
    with subprocess.Popen([*DS, "a.ds"], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == -signal.SIGPIPE


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
def test_a_full_disk_is_one_line(base: str) -> None:
    with open("/dev/full", "wb") as full:
        done = subprocess.run([*DS, base], stdout=full, stderr=subprocess.PIPE, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (1, b"ds ls: No space left on device\n")


@pytest.mark.skipif(os.name != "posix", reason="needs a shell that closes streams")
def test_closed_streams(base: str) -> None:
    def status(words: str) -> tuple[int, bytes, bytes]:
        command = " ".join(map(shlex.quote, DS)) + f" {words}"
        done = subprocess.run(command, shell=True, capture_output=True, timeout=60, check=False)
        return done.returncode, done.stdout, done.stderr

    assert status(f"ls {base} >&-") == (1, b"", b"ds ls: Bad file descriptor\n")
    assert status(f"info {base} >&-") == (1, b"", b"ds info: Bad file descriptor\n")
    assert status(f"select {base} copy.ds >&-") == (0, b"", b"")
    assert status(f"diff -q {base} copy.ds >&-") == (0, b"", b"")
    assert status("ls nope.ds 2>&-") == (1, b"", b"")
    assert status(f"ls {base} 2>&- <&-")[0] == 0
    assert status(f"ls {base} >&- 2>&- <&-") == (1, b"", b"")


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (signal.SIGINT, ["a.ds"]),
        (signal.SIGINT, ["select", "a.ds", "b.ds"]),
        (signal.SIGTERM, ["select", "a.ds", "b.ds"]),
        (signal.SIGHUP, ["merge", "time", "a.ds", "b.ds"]),
    ],
)
def test_a_signal_ends_it_quietly_and_tidily(number: signal.Signals, words: list[str], folder: Path) -> None:
    command = [sys.executable, "-c", SLOW.format(steps=-1), *words]
    with subprocess.Popen(command, stderr=subprocess.PIPE, preexec_fn=listen) as process:
        wait_for(folder / "begun")
        process.send_signal(number)
        _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (-number, b"")
    assert (folder / "cleaned").exists()


@pytest.mark.parametrize("number", STOPPING)
def test_children_respond_to_a_signal_that_the_tests_ignore(number: signal.Signals) -> None:
    code = "import signal, sys; print(signal.getsignal(int(sys.argv[1])) != signal.SIG_IGN)"
    before = signal.signal(number, signal.SIG_IGN)
    try:
        command = [sys.executable, "-c", code, str(int(number))]
        done = subprocess.run(command, preexec_fn=listen, capture_output=True, check=True, timeout=60)
    finally:
        signal.signal(number, before)
    assert done.stdout == b"True\n"


def test_a_signal_that_is_ignored_stays_so(folder: Path) -> None:
    code = SLOW.format(steps=10)
    ignoring = f"import signal; signal.signal(signal.SIGHUP, signal.SIG_IGN)\n{code}"
    command = [sys.executable, "-c", ignoring, "select", "a.ds", "b.ds"]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        wait_for(folder / "begun")
        process.send_signal(signal.SIGHUP)
        out, _ = process.communicate(timeout=60)
    assert (process.returncode, out) == (0, b"done\n")


def on_a_terminal(*words: str) -> bytes:
    """Run the slow program with stderr on a terminal, and return what it shows."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-c", SLOW.format(steps=5), *words], stdout=subprocess.DEVNULL, stderr=theirs
    ) as process:
        os.close(theirs)
        shown = b"".join(_chunks(ours))
    os.close(ours)
    assert process.returncode == 0
    return shown


def _chunks(fd: int) -> Iterator[bytes]:
    while True:
        try:
            chunk = os.read(fd, 4096)
        except OSError:
            return
        if not chunk:
            return
        yield chunk


def test_progress_is_shown_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = on_a_terminal("a.ds")
    assert b"\r[" in shown
    assert b"%  " in shown
    assert b"kB/s" in shown
    assert shown.endswith(b"\r\x1b[K")
    assert b"\n" not in shown
    assert on_a_terminal("-q", "a.ds") == b""
    monkeypatch.setenv("TERM", "dumb")
    assert on_a_terminal("a.ds") == b""


def test_no_progress_is_shown_elsewhere() -> None:
    done = subprocess.run(
        [sys.executable, "-c", SLOW.format(steps=3), "a.ds"], capture_output=True, timeout=60, check=True
    )
    assert (done.stdout, done.stderr) == (b"done\n", b"")
