"""Runs that end before all is done: outputs are whole or absent, and what is done is known."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest

import ds_format
from ds_format.many.converting import task
from ds_format.model.selection import Selection

from ...listening import listen
from .conftest import Make, names

ROOT = Path(__file__).parents[3]
N = 60
BEGUN = "in/slow.ds.begun-*"
"""A file for each process that has begun with this one, and is waiting."""

CODE = """
import os, sys
from ds_format.cli import convert, main
from tests.many.converting.faulty import Faulty
if {slow}:
    convert._matching = lambda request, output: Faulty()
open(f"started-{{os.getpid()}}", "w").close()
{also}
sys.exit(main())
"""


def start(*words: str, slow: bool = False, also: str = "") -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", CODE.format(slow=slow, also=also), "convert", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=listen,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        start_new_session=True,
    )


def wait_for(condition: str, n: int = 1) -> None:
    for _ in range(1200):
        if len(list(Path().glob(condition))) >= n:
            return
        time.sleep(0.05)
    pytest.fail(f"{condition} did not come about")


def processes_of(session: int) -> set[int]:
    """All processes of a session that are left."""
    found = set()
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
            if int(fields[3]) == session and fields[0] != "Z":
                found.add(int(path.parent.name))
        except OSError:
            continue
    return found


KILLED = """
import os, sys, ds_format
left = int(sys.argv[1])
def counting(call):
    def counted(*args, **more):
        global left
        if "out" in str(args[0]):
            left -= 1
            if left < 0:
                os._exit(9)
        return call(*args, **more)
    return counted
for name in ("replace", "rename"):
    setattr(os, name, counting(getattr(os, name)))
ds_format.convert_many("in", "out", to="msgpack", overwrite=True)
"""


@pytest.mark.slow
def test_a_container_that_is_replaced_is_the_old_or_the_new_one(folder: Path) -> None:
    found = []
    for step in range(30):
        os.makedirs("in", exist_ok=True)
        for n, old in ((3, True), (5, False)):
            ds_format.write("in/x.ds", {"x": np.arange(n) + n, ".": {"x": {".dims": ["t"]}}})
            if old:
                shutil.rmtree("out", ignore_errors=True)
                ds_format.convert_many("in", "out", to="msgpack")
        command = [sys.executable, "-c", KILLED, str(step)]
        done = subprocess.run(command, env={**os.environ, "PYTHONPATH": str(ROOT)}, check=False, timeout=60)
        x = ds_format.read("out/x.msgpack")["x"].tolist()
        assert x in ([3, 4, 5], [5, 6, 7, 8, 9])
        assert [one for one in ds_format.verify("out/x.msgpack") if one.severity == "error"] == []
        found.append(len(x))
        [record] = ds_format.convert_many("in", "out", to="msgpack", overwrite=True)
        assert record.status == "converted"
        assert ds_format.read("out/x.msgpack")["x"].tolist() == [5, 6, 7, 8, 9]
        if done.returncode == 0:
            break
    assert done.returncode == 0
    assert found == sorted(found)
    assert {*found} == {3, 5}
    assert len(found) > 5


def check_outputs() -> int:
    """Check that what stands there is whole, and return how much that is."""
    left = names("out")
    for name in left:
        assert not name.startswith(".")
        assert ds_format.verify(f"out/{name}") == []
    return len(left)


def journaled() -> set[str]:
    path = Path("out/.ds-convert.jsonl")
    return {json.loads(line)["output"] for line in path.read_text().splitlines()} if path.exists() else set()


@pytest.mark.parametrize("jobs", ["1", "2"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_workers_and_leaves_no_temporary_file(number: signal.Signals, jobs: str, make: Make) -> None:
    make("in/a.ds", "in/slow.ds", "in/x.ds")
    process = start("in", "out", "jobs:", jobs, slow=True)
    wait_for(BEGUN)
    wait_for("out/[ax].ds", int(jobs))  # the rest of them comes after the slow one
    os.killpg(process.pid, number) if number == signal.SIGINT else process.send_signal(number)
    out, err = process.communicate(timeout=60)
    assert process.returncode == -number
    assert (out, err.count("\n")) == ("", 1), err
    assert err == f"ds convert: ended early: {len(names('out'))} of 3 converted; --resume continues\n"
    assert processes_of(process.pid) == set()
    assert "slow.ds" not in names("out")
    assert journaled() == set(names("out"))
    check_outputs()


def test_an_interruption_at_any_line_is_known(make: Make) -> None:
    make("in/a.ds", "in/b.ds")
    codes = {each.__code__ for each in (task._outcome, task._convert, task._move, task._replace)}
    settings = task.Settings("work", task.Selected(Selection(), False, {}), ".ds", True)
    numbers: set[int] = set()
    for left in range(1000):
        os.makedirs("work")
        os.makedirs("out")
        orders = [task.FileOrder(i, f"in/{name}.ds", f"out/{name}.ds", 1, False) for i, name in enumerate("ab")]
        found: list[task.Outcome] = []
        lines = 0

        def trace(frame: FrameType, event: str, _: Any, left: int = left) -> Any:
            nonlocal lines
            if event == "line":
                lines += 1
                if lines > left:
                    sys.settrace(None)
                    raise task.Stopped
            return trace if event != "call" or frame.f_code in codes else None

        try:
            sys.settrace(trace)
            for some in task.carried_out(orders, settings):
                found += some
        except task.Stopped:
            pass
        finally:
            sys.settrace(None)
        assert [f"{'ab'[each.number]}.ds" for each in found] == sorted(os.listdir("out"))
        assert os.listdir("work") == []
        assert all((each.cause, each.size) == (None, Path(orders[each.number].target).stat().st_size) for each in found)
        numbers.add(len(found))
        shutil.rmtree("work")
        shutil.rmtree("out")
        if lines <= left:
            break
    assert numbers == {0, 1, 2} and left > 20


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 4))])
def test_ctrl_c_at_any_moment(seed: int, make: Make) -> None:
    make(*(f"in/{i:03}.nc" for i in range(N)))
    chance = random.Random(seed)
    n_before = 0
    for _ in range(3):
        process = start("in", "out", "jobs:", "2", "--resume", "-q")
        wait_for(f"started-{process.pid}")  # to import NumPy fails in other ways if it is interrupted
        time.sleep(chance.uniform(0, 1))
        os.killpg(process.pid, signal.SIGINT)
        _, err = process.communicate(timeout=60)
        assert process.returncode in (-signal.SIGINT, 0), err
        assert "Traceback" not in err or "KeyboardInterrupt" in err  # before the program minds it
        assert processes_of(process.pid) == set()
        if Path("out").exists():
            n_now = check_outputs()
            assert n_now >= n_before
            assert journaled() <= set(names("out"))
            assert n_now - len(journaled()) <= 2  # moved to its name in the very moment
            n_before = n_now
    process = start("in", "out", "jobs:", "2", "--resume")
    _, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    assert check_outputs() == N


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_signal_before_the_first_file_is_done(jobs: str, make: Make) -> None:
    make("in/slow.ds", "in/slow2.ds")
    process = start("in", "out", "jobs:", jobs, slow=True)
    wait_for("in/*.begun-*", int(jobs))
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert (out, err) == ("", "ds convert: ended early: 0 of 2 converted; --resume continues\n")
    assert process.returncode == -signal.SIGINT
    assert not Path("out").exists()


def test_a_killed_run_is_cleaned_up_by_the_next_one(make: Make) -> None:
    make("in/a.ds", "in/slow.ds", "in/x.ds")
    process = start("in", "out", "jobs:", "2", slow=True)
    wait_for(BEGUN)
    wait_for("out/a.ds")
    process.kill()
    process.communicate(timeout=60)
    assert Path("out/.ds-convert.tmp").is_dir()
    again = start("in", "out", "jobs:", "2", "--resume")
    _, err = again.communicate(timeout=60)
    assert again.returncode == 0, err
    assert names("out") == ["a.ds", "slow.ds", "x.ds"]
    check_outputs()
    for _ in range(1200):  # a process whose program was killed ends when it has something to tell
        if not processes_of(process.pid):
            break
        time.sleep(0.05)
    assert processes_of(process.pid) == set()
    assert check_outputs() == 3


def test_a_killed_worker_is_replaced(make: Make) -> None:
    make(*(f"in/{i}.ds" for i in range(5)), "in/slow.ds")
    process = start("in", "out", "jobs:", "2", slow=True)
    wait_for("out/[0-4].ds", 5)  # a process that still starts would be killed with a file of its own
    for n in range(1, 3):  # the process that converts the file, and the next one
        wait_for(BEGUN, n)
        for pid in processes_of(process.pid) - {process.pid}:
            os.kill(pid, signal.SIGKILL)
    _, err = process.communicate(timeout=120)
    assert process.returncode == 1
    assert "ds convert: in/slow.ds: the process that converted it was killed by signal 9 (SIGKILL)\n" in err
    assert names("out") == [f"{i}.ds" for i in range(5)]


def test_a_file_is_not_blamed_for_a_process_that_did_not_begin_with_it(make: Make) -> None:
    make(*(f"in/{i}.ds" for i in range(5)), "in/slow.ds")
    process = start("in", "out", "jobs:", "2", slow=True)
    wait_for("out/[0-4].ds", 5)
    wait_for(BEGUN)
    [begun] = [int(path.name.rpartition("-")[2]) for path in Path().glob(BEGUN)]
    [idle] = processes_of(process.pid) - {process.pid, begun}
    os.kill(idle, signal.SIGSTOP)
    os.kill(begun, signal.SIGKILL)
    time.sleep(1)  # the order goes to the process that is stopped
    os.kill(idle, signal.SIGKILL)
    wait_for(BEGUN, 2)
    for pid in processes_of(process.pid) - {process.pid}:
        os.kill(pid, signal.SIGKILL)
    _, err = process.communicate(timeout=120)
    assert process.returncode == 1
    assert "ds convert: in/slow.ds: the process that converted it was killed by signal 9 (SIGKILL)\n" in err


def test_two_runs_into_one_folder(make: Make) -> None:
    make("in/a.ds", "in/slow.ds")
    process = start("in", "out", slow=True)
    wait_for(BEGUN)
    second = start("in", "out", "--resume")
    _, err = second.communicate(timeout=60)
    assert second.returncode == 1
    assert err.splitlines()[-1].startswith(f"ds convert: out: another process is writing to it: pid={process.pid}, ")
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert names("out") == ["a.ds"]


def test_a_report_is_written_of_an_ended_run(make: Make) -> None:
    make("in/a.ds", "in/slow.ds")
    process = start("in", "out", "report:", "report.json", slow=True)
    wait_for("out/a.ds")
    wait_for(BEGUN)
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=60)
    assert [one["status"] for one in json.loads(Path("report.json").read_text())] == ["converted", "cancelled"]


def open_files(process: int) -> dict[int, str]:
    """Return what the descriptors of a process lead to."""
    folder = Path(f"/proc/{process}/fd")
    return {int(number): os.readlink(folder / number) for number in os.listdir(folder)}


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="needs /proc")
def test_copies_of_the_program_have_closed_its_files(make: Make) -> None:
    make("in/slow.ds", "in/slow2.ds")
    process = start("in", "out", "jobs:", "2", slow=True)
    wait_for("in/*.begun-*", 2)
    workers = {int(path.name.rpartition("-")[2]) for path in Path("in").glob("*.begun-*")}
    assert workers == processes_of(process.pid) - {process.pid}
    command = Path(f"/proc/{process.pid}/cmdline").read_text()
    one, other = map(open_files, workers)
    for worker, files in zip(workers, (one, other), strict=True):
        assert Path(f"/proc/{worker}/cmdline").read_text() == command
        assert [path for path in files.values() if "ds-convert" in path] == []
        assert {number for number, path in files.items() if path == os.devnull} == {0}
        assert files[1] == files[2]
    assert any("ds-convert" in path for path in open_files(process.pid).values())
    assert {*one.values()} & {*other.values()} == {one[0], one[2]}  # no connection of the other one
    os.killpg(process.pid, signal.SIGINT)
    process.communicate(timeout=60)


def test_a_copy_that_fails_runs_nothing_of_the_program(make: Make) -> None:
    make(*(f"in/{i}.ds" for i in range(8)))
    also = "from ds_format.many.converting import processes\nprocesses._carry_out = sys.exit"
    process = start("in", "out", "jobs:", "2", "report:", "report.json", also=also)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (1, ""), err
    causes = [one["cause"] for one in json.loads(Path("report.json").read_text())]
    assert causes == ["the process that converted it ended with status 1"] * 8
    assert len(list(Path().glob("started-*"))) == 1


def test_a_copy_that_cannot_be_made_is_replaced_by_an_interpreter(make: Make) -> None:
    make(*(f"in/{i}.ds" for i in range(8)))
    also = """
def fork():
    raise BlockingIOError
os.fork = fork
"""
    process = start("in", "out", "jobs:", "2", also=also)
    assert process.communicate(timeout=60) == ("", "")
    assert check_outputs() == 8


def test_a_program_with_another_thread_is_not_copied(make: Make) -> None:
    make("a.ds", "b.ds")
    also = "import threading, time\nthreading.Thread(target=time.sleep, args=[1]).start()\nos.fork = None"
    process = start("a.ds", "b.ds", "out", "jobs:", "2", also=also)
    assert process.communicate(timeout=60) == ("", "")
    assert check_outputs() == 2
