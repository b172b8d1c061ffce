"""Many files converted: records, resuming, executors."""

from __future__ import annotations

import json
import os
import shutil
import threading
import warnings
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import nullcontext
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ds_format
from ds_format import Conversion, LossWarning, convert_many
from ds_format.body.lock import Lock
from ds_format.errors import BusyError, DriverError, DsError, IntegrityError, UnsupportedError
from ds_format.many.converting import processes, workers
from ds_format.many.converting.running import RunOptions, run

from ...formats import SUFFIXES
from ...same import same_data
from .conftest import Make, names
from .faulty import Faulty


def statuses(records: list[Conversion]) -> str:
    """The first letters of what became of files."""
    return "".join(one.status[0] for one in records)


@pytest.fixture
def threaded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have threads convert small files, too."""
    monkeypatch.setattr(workers, "THREADED_SIZE", 0)


def converters(pattern: str) -> set[int]:
    """The processes that converted signed files."""
    return {int(path.suffix.removeprefix(".by-")) for path in Path().glob(f"{pattern}.by-*")}


@pytest.mark.parametrize("forks", [True, False])
def test_two_jobs_are_two_other_processes(forks: bool, make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "can_fork", lambda: forks)
    make(*(f"in/signed{i}.nc" for i in range(40)))
    assert statuses(run(["in"], "out", ".ds", Faulty(), RunOptions(jobs=2))) == "c" * 40
    assert os.getpid() not in converters("in/*")
    assert len(converters("in/*")) <= 2


@pytest.mark.parametrize("jobs", [None, 1, 3])
def test_each_file_becomes_one_of_its_own(jobs: int | None, make: Make) -> None:
    paths = make(*(f"in/{i % 3}/{i}.nc" for i in range(20)))
    seen: list[tuple[int, int]] = []
    each: list[Conversion] = []
    records = convert_many("in", "out", jobs=jobs, progress=lambda *told: seen.append(told), each=each.append)
    assert sorted(one.input for one in records) == sorted(paths)
    assert sorted(each) == sorted(records)
    assert names("out") == sorted(f"{i % 3}/{i}.ds" for i in range(20))
    for one in records:
        assert one.output is not None
        assert (one.status, one.cause, one.size) == ("converted", None, os.path.getsize(one.output))
        ds_format.convert(one.input, "expected.ds")
        assert Path(one.output).read_bytes() == Path("expected.ds").read_bytes()
    total = sum(map(os.path.getsize, paths))
    assert seen[-1] == (total, total)
    assert seen == sorted(seen)


def test_threads_convert_what_needs_no_library(make: Make, threaded: None) -> None:
    make(*(f"in/{i}.ds" for i in range(20)), "in/warning.ds")
    before = set(threading.enumerate())
    with pytest.warns(UserWarning, match=r"^out/warning.ds: look out$"):
        records = run(["in"], "out", ".ds", Faulty(), RunOptions(jobs=3, verify=True))
    assert statuses(records) == "c" * 21
    assert set(threading.enumerate()) <= before
    assert names("out") == sorted([*(f"{i}.ds" for i in range(20)), "warning.ds"])


def test_threads_report_progress_within_files(make: Make, threaded: None) -> None:
    make("in/slow0.ds", "in/slow1.ds")

    def progress(done: int, total: int) -> None:
        if done and not [*Path("out").glob("*.ds")]:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(["in"], "out", ".ds", Faulty(), RunOptions(jobs=2, progress=progress))


def test_a_thread_that_fails_to_convert_says_so(make: Make, threaded: None) -> None:
    make("in/a.ds", "in/wild.ds", "in/b.ds")
    records = run(["in"], "out", ".ds", Faulty(), RunOptions(jobs=2))
    assert {one.input: one.cause for one in records} == {
        "in/a.ds": None,
        "in/b.ds": None,
        "in/wild.ds": "nested too deeply",
    }


def test_parts_and_options(make: Make) -> None:
    make("in/a.nc", "in/b.nc")
    convert_many(["in/a.nc", "in/b.nc"], "out", to="ds", variables="x", sel={"t": [0, 2]}, version="2.0.1", jobs=2)
    for name in "ab":
        ds_format.convert(f"in/{name}.nc", "expected.ds", ["x"], {"t": [0, 2]}, version="2.0.1")
        assert Path(f"out/{name}.ds").read_bytes() == Path("expected.ds").read_bytes()
    with pytest.raises(DriverError, match=r'the format ds has no option "versoin".*: did you mean version'):
        convert_many("in", "other", versoin="2.0.1")  # type: ignore[call-arg]
    assert not os.path.exists("other")


def test_julian_dates_in_other_units_are_verified(folder: Path) -> None:
    os.mkdir("in")
    ds_format.write("in/a.ds", {"t": [0.0, 36.0], ".": {"t": {".dims": ["t"], "units": "hours since 2000-01-01"}}})
    (record,) = convert_many("in", "out", to="nc", jd=True, time_units="days since 1999-12-31", verify=True)
    assert (record.status, record.cause) == ("converted", None)
    assert ds_format.read("out/a.nc")["t"].tolist() == [1, 2.5]


@pytest.mark.parametrize("to", [suffix for suffix in SUFFIXES if suffix != ".ds"])
def test_other_formats(to: str, folder: Path) -> None:
    os.mkdir("in")
    for i in range(2):
        ds_format.write(f"in/{i}.ds", {"x": [i, 1.5], ".": {"x": {".dims": ["t"]}}})
    with pytest.warns(LossWarning, match=r"^out/[01]\.csv: CSV cannot hold names") if to == ".csv" else nullcontext():
        records = convert_many("in", "out", to=to, verify=True)
    assert [(one.status, one.cause) for one in records] == [("converted", None)] * 2
    for i in range(2):
        assert np.array_equal(ds_format.read(f"out/{i}{to}")["x"], [i, 1.5])
    os.mkdir("alone")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ds_format.convert("in/0.ds", f"alone/0{to}")
    assert [name for name in names("out") if name.startswith("0")] == names("alone")
    assert [record.status for record in convert_many("in", "out", to=to, resume=True)] == ["skipped"] * 2


def test_the_mode_of_the_caller_holds_in_processes(make: Make) -> None:
    make("in/a.nc", "in/b.nc")
    with ds_format.with_mode("strict"):
        records = convert_many("in", "out", variables=["x", "nope"], jobs=2)
    assert [one.cause for one in records] == ['variable "nope" not found'] * 2
    with ds_format.with_mode("soft"):
        assert statuses(convert_many("in", "out", variables=["x", "nope"], jobs=2)) == "cc"


def test_what_is_done_is_left_out(make: Make) -> None:
    make("in/a.nc", "in/b.nc")
    assert statuses(convert_many("in", "out")) == "cc"
    stamp = os.stat("out/a.ds")
    records = convert_many("in", "out", resume=True)
    assert [(one.status, one.size) for one in records] == [("skipped", stamp.st_size)] * 2
    assert os.stat("out/a.ds") == stamp
    make("in/c.nc")
    assert statuses(convert_many(os.path.abspath("in"), "out", resume=True)) == "ssc"


def change_input() -> None:
    os.utime("in/a.nc", ns=(1, 1))


def lengthen_input() -> None:
    times = os.stat("in/a.nc")
    ds_format.write("in/a.nc", {"x": [1.0, 2.0, 3.0]}, format="NETCDF3_CLASSIC")
    os.utime("in/a.nc", ns=(times.st_atime_ns, times.st_mtime_ns))


def cut_output() -> None:
    os.truncate("out/a.ds", 10)


def remove_output() -> None:
    os.unlink("out/a.ds")


def forget() -> None:
    os.unlink("out/.ds-convert.jsonl")


def is_of_a(line: bytes) -> bool:
    return b"a.nc" in line


def tear() -> None:
    journal = Path("out/.ds-convert.jsonl")
    lines = journal.read_bytes().splitlines(keepends=True)
    lines.sort(key=is_of_a)
    journal.write_bytes(b"".join(lines)[:-1])


def spoil() -> None:
    journal = Path("out/.ds-convert.jsonl")
    lines = journal.read_text().splitlines()
    journal.write_text(f'{{}}\n[1]\n\0\n{lines[1]}\n{lines[0].replace("}", ", ", 1)}\n{"[" * 100_000}\n"\n')


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (change_input, "cs"),
        (lengthen_input, "cs"),
        (cut_output, "cs"),
        (remove_output, "cs"),
        (forget, "cc"),
        (tear, "cs"),
        (spoil, "cs"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_what_is_not_done_is_done_again(change: Any, expected: str, make: Make) -> None:
    make("in/a.nc", "in/b.nc")
    convert_many("in", "out")
    change()
    assert statuses(convert_many("in", "out", resume=True)) == expected
    assert statuses(convert_many("in", "out", resume=True)) == "ss"
    ds_format.convert("in/a.nc", "expected.ds")
    assert Path("out/a.ds").read_bytes() == Path("expected.ds").read_bytes()


def test_other_options_are_another_job(make: Make) -> None:
    make("in/a.nc")
    convert_many("in", "out")
    for options in ({"variables": "x"}, {"sel": {"t": 0}}, {"sel": {"t": np.array([0, 1])}}, {"version": "2.0.1"}):
        assert statuses(convert_many("in", "out", resume=True, **options)) == "c"
        assert statuses(convert_many("in", "out", resume=True, **options)) == "s"


def test_the_journal_is_lines_of_json_that_do_not_grow_forever(make: Make) -> None:
    make("in/a.nc", "in/b.nc")
    for _ in range(60):
        convert_many("in", "out", overwrite=True)
    lines = Path("out/.ds-convert.jsonl").read_text().splitlines()
    assert len(lines) < 110
    status = os.stat("in/b.nc")
    told = json.loads(lines[-1])
    digest = told.pop("options")
    assert len(digest) == 16
    assert told == {
        "input": os.path.abspath("in/b.nc"),
        "size": status.st_size,
        "mtime_ns": status.st_mtime_ns,
        "output": "b.ds",
        "output_size": os.path.getsize("out/b.ds"),
    }


def test_outputs_that_exist_are_refused_before_anything_is_written(make: Make) -> None:
    make("in/a.nc", "in/b.nc", "out/b.ds")
    before = Path("out/b.ds").read_bytes()
    with pytest.raises(FileExistsError, match=r"^out/b.ds exists: `--resume` converts the remaining files"):
        convert_many("in", "out")
    assert names("out") == ["b.ds"]
    os.symlink("nowhere", "out/a.ds")
    with pytest.raises(FileExistsError, match=r"^2 outputs exist, the first is out/a.ds: "):
        convert_many("in", "out")
    assert Path("out/b.ds").read_bytes() == before
    with pytest.raises(ValueError, match=r"resume and overwrite exclude each other"):
        convert_many("in", "out", resume=True, overwrite=True)


def test_an_output_is_replaced_behind_its_link_and_keeps_its_permissions(make: Make) -> None:
    make("in/a.nc", "in/b.nc", "out/b.ds")
    os.symlink("../real.ds", "out/a.ds")
    os.chmod("out/b.ds", 0o600)
    assert statuses(convert_many("in", "out", overwrite=True)) == "cc"
    assert os.path.islink("out/a.ds")
    assert ds_format.read("real.ds")["n"] == 0
    assert os.stat("out/b.ds").st_mode & 0o777 == 0o600
    assert names("out") == ["a.ds", "b.ds"]


def test_a_folder_in_the_way_is_a_failure(make: Make) -> None:
    make("in/a.nc", "in/b.nc")
    os.makedirs("out/a.ds/x")
    records = convert_many("in", "out", overwrite=True)
    assert [one.cause for one in records] == ["Is a directory", None] or records[0].cause is not None
    assert statuses(records) == "fc"


def test_nothing_is_written_by_a_dry_run(make: Make) -> None:
    make("in/a.nc", "in/b.nc")
    assert statuses(convert_many("in", "out", dry_run=True, report="report.json")) == "pp"
    assert sorted(os.listdir()) == ["in"]
    convert_many("in/a.nc", "out")
    assert statuses(convert_many("in", "out", dry_run=True, resume=True)) == "sp"
    with pytest.raises(FileExistsError):
        convert_many("in", "out", dry_run=True)


def test_the_report_tells_of_each_file(make: Make) -> None:
    make("in/a.nc", "in/c.nc")
    Path("in/b.nc").write_bytes(b"no")
    records = convert_many("in", "out", report="report.json")
    told = json.loads(Path("report.json").read_text())
    assert [one["input"] for one in told] == ["in/a.nc", "in/b.nc", "in/c.nc"]
    assert [one["status"] for one in told] == ["converted", "failed", "converted"]
    assert told[1].keys() == {"input", "output", "status", "cause", "seconds", "bytes"}
    assert told[1]["cause"] == records[1].cause
    assert told[0]["bytes"] == os.path.getsize("out/a.ds")
    with pytest.raises(UnsupportedError, match=r"the report would replace an input or output"):
        convert_many("in", "out", report="in/../in/a.nc", overwrite=True)
    with pytest.raises(FileNotFoundError, match=r"^no/report.json: the folder of the report does not exist"):
        convert_many("in", "out", report="no/report.json", overwrite=True)


def test_the_first_failure_may_end_it(make: Make) -> None:
    make(*(f"in/{i}.nc" for i in range(8)))
    Path("in/3.nc").write_bytes(b"no")
    records = convert_many("in", "out", fail_fast=True, report="report.json")
    assert [one.status for one in records] == ["converted"] * 3 + ["failed"] + ["cancelled"] * 4
    told = json.loads(Path("report.json").read_text())
    assert [one["status"] for one in told] == [one.status for one in records]
    assert names("out") == ["0.ds", "1.ds", "2.ds"]
    records = convert_many("in", "out", fail_fast=True, resume=True, jobs=2)
    assert "failed" in {one.status for one in records}
    assert len(names("out")) == sum(one.status in ("converted", "skipped") for one in records)


def test_what_was_written_is_read_back_if_that_is_wanted(make: Make) -> None:
    make("in/a.nc", "in/damaged.nc")
    records = run(["in"], "out", ".ds", Faulty(), RunOptions(verify=True))
    assert statuses(records) == "cf"
    assert records[1].cause is not None
    assert records[1].cause.startswith('out/damaged.ds: variable "')
    assert records[1].cause.endswith("differs when the file is read back")
    assert names("out") == ["a.ds"]


def test_one_run_at_a_time(make: Make) -> None:
    make("in/a.nc")
    os.mkdir("out")
    lock = Lock(os.path.abspath("out/.ds-convert.lock"), "out")
    try:
        with pytest.raises(BusyError, match=rf"^out: another process is writing to it: pid={os.getpid()}, "):
            convert_many("in", "out", resume=True)
    finally:
        lock.release(remove=True)
    assert statuses(convert_many("in", "out", resume=True)) == "c"


def test_any_executor(make: Make) -> None:
    make(*(f"in/{i}.nc" for i in range(10)))
    with ThreadPoolExecutor(2) as threads:
        assert statuses(convert_many("in", "threads", executor=threads)) == "c" * 10
    with ProcessPoolExecutor(1, get_context("spawn")) as processes:
        assert statuses(convert_many("in", "processes", executor=processes)) == "c" * 10
    assert names("threads") == names("processes") == [f"{i}.ds" for i in range(10)]


def test_a_broken_executor_is_told(make: Make) -> None:
    make("in/a.nc", "in/killer.nc", "in/z.nc")
    with ProcessPoolExecutor(1, get_context("spawn")) as processes:
        records = run(["in"], "out", ".ds", Faulty(), RunOptions(executor=processes))
        assert statuses(records)[1:] == "ff"
        assert records[1].cause is not None
        assert records[1].cause.startswith("the executor did not convert it: BrokenProcessPool: ")
    assert set(names("out")) <= {"a.ds", "z.ds"}


def test_dask_converts(make: Make) -> None:
    distributed = pytest.importorskip("distributed", reason="dask.distributed is optional")
    make(*(f"in/{i}.nc" for i in range(10)))
    with (
        distributed.LocalCluster(1, threads_per_worker=2, processes=False, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        assert statuses(convert_many("in", "out", executor=client.get_executor())) == "c" * 10
    assert names("out") == [f"{i}.ds" for i in range(10)]


@pytest.mark.parametrize("jobs", [0, -1, 1.5, "2", True])
def test_wrong_jobs(jobs: Any, make: Make) -> None:
    make("a.nc")
    with pytest.raises(ValueError, match=r"jobs: expected a number of 1 or more"):
        convert_many("a.nc", "out", jobs=jobs)


def test_an_option_that_cannot_travel_is_told(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "can_fork", lambda: False)
    make("a.ds", "b.ds")
    with pytest.raises(DsError, match=r"an option cannot be sent to another process"):
        convert_many(["a.ds", "b.ds"], "out", to="csv", time_units=lambda: 0, jobs=2)  # type: ignore[arg-type]
    assert names("out") == []


def test_names_that_are_no_text(folder: Path) -> None:
    os.mkdir("in")
    name = os.fsdecode(b"in/\xff.ds")
    ds_format.write(name, {"x": 1})
    for jobs, expected in ((2, "c"), (1, "s")):
        shutil.copy(name, "in/other.ds") if jobs == 2 else None
        assert set(statuses(convert_many("in", "out", jobs=jobs, resume=True, report="report.json"))) == {expected}
    assert json.loads(Path("report.json").read_bytes())[1]["output"] == os.fsdecode(b"out/\xff.ds")
    assert same_data(ds_format.read(os.fsdecode(b"out/\xff.ds"))["x"], np.int64(1))


def test_outputs_that_differ_in_case_alone(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    make("in/a.nc", "in/A.nc")
    if len(os.listdir("in")) == 2:
        assert statuses(convert_many("in", "out")) == "cc"
        monkeypatch.setattr("ds_format.many.converting.workspace.OutputFolder.folds_case", lambda self: True)
    with pytest.raises(UnsupportedError, match=r"is the same file as other/A.ds, the output of in/A.nc"):
        convert_many("in", "other")


def test_another_disk_below_the_folder_of_the_outputs(make: Make, tmp_path_factory: Any) -> None:
    shared = Path("/dev/shm")
    if not shared.is_dir() or shared.stat().st_dev == Path.cwd().stat().st_dev:
        pytest.skip("there is no other disk")
    other = shared / f"ds-convert-{os.getpid()}"
    other.mkdir()
    try:
        make("in/sub/a.nc")
        os.mkdir("out")
        os.symlink(other, "out/sub")
        assert statuses(convert_many("in", "out")) == "c"
        assert names(other) == ["a.ds"]
        assert ds_format.read("out/sub/a.ds")["n"] == 0
    finally:
        shutil.rmtree(other)


def test_integrity_errors_are_of_the_package() -> None:
    assert issubclass(IntegrityError, DsError)
