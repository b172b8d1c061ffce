"""The benchmarks: every case runs with hardly any data; results are judged and put into words. No time is asserted."""

from __future__ import annotations

import contextlib
import gc
import importlib.util
import itertools
import json
import re
import sys
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ds_format as ds

from .numpy_versions import NUMPY_2

if not NUMPY_2:
    pytest.skip("the benchmarks need NumPy 2", allow_module_level=True)

sys.path.append(str(Path(__file__).parents[1]))  # benchmarks are not installed; what is installed comes first

from benchmarks import (
    __main__ as program,
    chart,
    data,
    disk,
    instructions,
    machine,
    peers,
    programs,
    readme,
    reports,
    shown,
    stations,
    table,
    targets,
    versions,
)
from benchmarks.cases import cold, small
from benchmarks.cases.large import PACKAGE
from benchmarks.cases.many import has_xarray
from benchmarks.groups import GROUPS
from benchmarks.runner import Bench, Case, SkippedError, run, run_case
from benchmarks.sizes import Sizes
from benchmarks.timing import Result, Trial, Way, measure
from benchmarks.ways import (
    BARE,
    BINPICKLE,
    DATADINGS,
    FASTZDS,
    FEATHER,
    H5NETCDF,
    HIDEFIX,
    JSONL,
    NETCDF,
    OURS,
    PARQUET,
    REFERENCE,
    SAFETENSORS,
    XARRAY,
    ZARR,
    calls,
    scaled,
)
from benchmarks.worker import Worker, WorkerError

pytestmark = pytest.mark.filterwarnings("ignore:attributes of the dataset differ")  # of stations

TINY = Sizes(
    files=2,
    calls=2,
    large=40_000,
    masked=1_003,
    booleans=1_003,
    strings=50,
    fifty=10,
    kernel=6_400,
    converted=2_000_000,
    larger=2_000_000,
    archive=3,
    classic=100_000,
    compressed=40_000,
    many=20,
    claimed=3,
    folder=6,
    merged=200_000,
    chunked=80_000,
    slab=4_000,
    samples=20,
    keys=30,
    documents_few=5,
    documents=10,
    documents_many=20,
    objects=20,
    remote=300_000,
    described=100_000,
    remote_reports=4,
    latency=0.0005,
    starts=1,
)
OPTIONAL = {
    FASTZDS: False,
    XARRAY: has_xarray(),
    **{way: importlib.util.find_spec(way) is not None for way in (H5NETCDF, HIDEFIX, DATADINGS, BINPICKLE)},
    JSONL: importlib.util.find_spec("orjson") is not None,
    ZARR: importlib.util.find_spec("zarr") is not None,
    SAFETENSORS: importlib.util.find_spec("safetensors") is not None,
    **dict.fromkeys((PARQUET, FEATHER), importlib.util.find_spec("pyarrow") is not None),
}
"""Rivals that need what may not be installed → whether they take part."""
CASES = {case.name: case for group in GROUPS for case in group.cases}


@pytest.fixture(autouse=True)
def _collects_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave out collections of garbage, which only make times steadier, and take most of the time here."""
    monkeypatch.setattr(gc, "collect", lambda: 0)


@pytest.fixture(scope="module")
def stand_in() -> Iterator[Worker]:
    """This package in the place of the reference, which has the same functions."""
    with Worker(sys.executable, PACKAGE) as worker:
        yield worker


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_every_case_runs_and_its_rivals_take_part(name: str, stand_in: Worker, tmp_path: Path) -> None:
    try:
        result = run_case(Bench(TINY, tmp_path, stand_in, 1, disk=tmp_path), CASES[name])
    except SkippedError as reason:
        pytest.skip(str(reason))
    assert all(len(values) == 1 for values in result.values.values())
    assert not list(tmp_path.iterdir())
    absent = {REFERENCE} if name in {"ds ls x.ds", "ds merge"} else set()  # the stand-in need not be installed
    absent |= {way for way, there in OPTIONAL.items() if not there}
    for claim in all_claims():
        for bound in claim.bounds:
            if bound.case == name and claim.kind != "at most":
                assert claim.rival in {*result.values, *absent}
    assert needed(name) <= {*result.values, *absent}


def needed(case: str) -> set[str]:
    """Return the ways of a case whose figures the documents show."""
    return {
        row.others.get(column, (usual, ""))[0]
        for each in itertools.chain(*shown.PAGES.values())
        for row in each.rows
        for column, usual in each.columns.items()
        if case in row.cases and column not in row.without
    } - {shown.FACTOR, ""}


def all_claims() -> list[targets.Claim]:
    return [*(claim for goal in targets.GOALS for claim in goal.claims), *targets.OTHERS]


@pytest.mark.parametrize("way", [Way(OURS, lambda: 1.0, lambda: None), Way(OURS, lambda: 1 / 0, lambda: None)])
def test_what_rounds_share_is_closed(way: Way) -> None:
    closed: list[bool] = []
    with contextlib.suppress(ZeroDivisionError):
        measure("x", Trial([way], close=lambda: closed.append(True)), 1)
    assert closed == [True]


def test_targets_are_about_cases_that_exist() -> None:
    assert {bound.case for claim in all_claims() for bound in claim.bounds} <= CASES.keys()


def test_names_of_cases_are_unique() -> None:
    assert len(CASES) == sum(len(group.cases) for group in GROUPS)


RESULT = Result(
    "read tiny",
    "s",
    0,
    {OURS: "", BARE: "open, read", NETCDF: ""},
    {OURS: [2e-6, 2e-6, 4e-6], BARE: [1e-6, 1e-6, 1e-6], NETCDF: [100e-6, 200e-6, 400e-6]},
)


def test_a_ratio_is_the_median_over_rounds() -> None:
    assert RESULT.ratios(OURS, NETCDF) == pytest.approx([50, 100, 100])
    [(claim, bound)] = targets.of("read tiny", NETCDF)
    verdict = targets.judge(claim, bound, RESULT)
    assert verdict is not None
    assert verdict.value == pytest.approx(100)
    assert verdict.reached


def test_a_rival_that_did_not_take_part_is_not_judged() -> None:
    [(claim, bound)] = targets.of("read tiny", REFERENCE)
    assert targets.judge(claim, bound, RESULT) is None


def test_the_summary_has_one_row_per_goal() -> None:
    lines = table.summary({"read tiny": RESULT}).splitlines()
    assert len(lines) == 2 + len(targets.GOALS)
    [line] = [line for line in lines if line.startswith("| read tiny")]
    assert "| 100x / -; - / -; 2.00x / - ✗" in line
    assert "80x / 70x faster than netCDF4; 8x / 5x faster than ds-format 5.0.2; within 1.4x / 2x of bare" in line


def test_the_table_of_a_group() -> None:
    text = table.group_table(small.GROUP, "Wall time", {"read tiny": RESULT}, {"write tiny": "no room"})
    assert "\n\nWall time\n\n" in text
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines() if line.startswith("|")]
    assert rows[2] == ["read tiny", "ds_format", "2 µs", "2 µs … 4 µs", "", "", ""]  # noqa: RUF001
    assert rows[3][-2:] == ["2.00x faster (2.00x … 4.0x)", "ds_format within 1.4x ✗"]
    assert rows[4][-2:] == ["100x slower (50x … 100x)", "≥ 80x slower ✓"]
    assert rows[5] == ["write tiny", "left out", "", "", "", "no room", ""]


def test_a_group_says_what_its_times_mean(tmp_path: Path) -> None:
    bench = Bench(TINY, tmp_path, None, 1)
    place = machine.file_system(tmp_path)
    assert program.conditions(small.GROUP, bench) == f"Wall time; files on {place}; one thread."
    assert (
        program.conditions(cold.GROUP, bench) == "Wall time; files on no disk; as many threads as a row says, or one."
    )


def test_the_tables_of_documents_are_replaced() -> None:
    document = "| a |\n<!-- benchmarks -->\nwords\n\n| b |\n| - |\n\n| c |\nmore\n<!-- /benchmarks -->\n| d |\n"
    found = readme.replaced(document, ["| x |\n", "| y |\n"])
    assert found == "| a |\n<!-- benchmarks -->\nwords\n\n| x |\n\n| y |\nmore\n<!-- /benchmarks -->\n| d |\n"
    with pytest.raises(ValueError, match="found 2 tables between marks, expected 1"):
        readme.replaced(document, ["| x |\n"])


def test_the_machine_is_named() -> None:
    document = "<!-- machine -->\nold\n<!-- /machine -->\n<!-- benchmarks -->\n| b |\n<!-- /benchmarks -->\n"
    assert "<!-- machine -->\nnew\n<!-- /machine -->" in readme.replaced(document, ["| x |\n"], "new")


A_TABLE = shown.Shown(
    "tiny",
    {"us": OURS, "bare": BARE},
    (shown.Row("read", ("read tiny",)), shown.Row("list", ("x",), without=("bare",))),
)


def test_the_tables_that_are_shown() -> None:
    lines = readme.filled(A_TABLE, {"read tiny": RESULT}).splitlines()
    assert lines == ["| tiny | us | bare |", "| --- | --- | --- |", "| read | 2 µs | 1 µs |", "| list | - |  |"]  # noqa: RUF001
    lines = readme.filled(A_TABLE._replace(is_turned=True), {"read tiny": RESULT}).splitlines()
    assert lines == ["| tiny | read | list |", "| --- | --- | --- |", "| us | 2 µs | - |", "| bare | 1 µs |  |"]  # noqa: RUF001
    for each in itertools.chain(*shown.PAGES.values()):
        assert {case for row in each.rows for case in row.cases} <= CASES.keys()
        assert {column for row in each.rows for column in (*row.others, *row.without)} <= each.columns.keys()


def test_a_column_of_factors() -> None:
    row = shown.Row("read", ("read tiny",), {"said": ("", "10")})
    table = shown.Shown("tiny", {"us": OURS, "factor": shown.FACTOR, "said": ""}, (row,))
    assert readme.filled(table, {"read tiny": RESULT}).splitlines()[-1] == "| read | 2 µs | 100 | 10 |"  # noqa: RUF001
    assert readme.filled(table, {}).splitlines()[-1] == "| read | - | - | 10 |"


def test_no_table_is_wider_than_a_phone_allows() -> None:
    for name, every in shown.PAGES.items():
        for each in every:
            header = readme.filled(each, {}).splitlines()[0]
            assert name == "README.md" or header.count("|") <= 6


def test_the_documents_have_the_tables() -> None:
    for name, tables in readme.tables({"read tiny": RESULT}).items():
        assert readme.replaced((readme.ROOT / name).read_text(encoding="utf-8"), tables)


@pytest.mark.parametrize("name", shown.PAGES)
def test_the_documents_have_all_figures(name: str) -> None:
    text = (readme.ROOT / name).read_text(encoding="utf-8")
    marked = readme.MARKED.search(text)
    assert marked is not None
    empty = readme.tables({})[name]
    found = readme.TABLES.findall(marked[0])
    assert [table.splitlines()[0] for table in found] == [table.splitlines()[0] for table in empty]
    assert [table.count("\n") for table in found] == [table.count("\n") for table in empty]
    assert name == shown.TARGETS or not [row for table in found for row in readme.lacking(table)]
    assert name == "README.md" or re.search(r"<!-- machine -->\n.+\n<!-- /machine -->", text)


@pytest.mark.parametrize("name", readme.FIRST)
def test_the_first_sentences_have_the_figures_of_the_table(name: str) -> None:
    text = (readme.ROOT / name).read_text(encoding="utf-8")
    assert readme.said(text, readme.read_figures()) == text, "run python -m benchmarks.readme"
    other = {chart.OURS: "98765 ns", NETCDF: "1.23e+04 ms"}
    changed = readme.said(text, other)
    assert changed.count("98765 ns") == changed.count("12300 ms") == (2 if name == "README.md" else 1)


def test_rows_that_lack_a_figure() -> None:
    table = (
        "| | us | bare |\n| - | - | - |\n| read | 1 s / 2 s | 1 s (two) |\n| list | - |  |\n| all | 38x / -; 2x ✓ | |\n"
    )
    assert readme.lacking(table) == ["list", "all"]


def test_a_page_that_lacks_figures_is_not_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "docs").mkdir()
    for name in {*shown.PAGES, *readme.FIRST}:
        (tmp_path / name).write_bytes((readme.ROOT / name).read_bytes())
    monkeypatch.setattr(readme, "ROOT", tmp_path)
    report = tmp_path / "report.json"
    report.write_text(program.as_json("", {"read tiny": RESULT}, {}), encoding="utf-8")
    monkeypatch.setattr(readme, "PICTURE", tmp_path / "reading.svg")
    before = [(tmp_path / name).read_bytes() for name in shown.PAGES]
    with pytest.raises(SystemExit, match=r"README.md: read a station report\n"):
        readme.main([str(report)])
    assert [(tmp_path / name).read_bytes() for name in shown.PAGES] == before


def test_the_picture_shows_the_figures_of_the_table() -> None:
    assert readme.PICTURE.read_text(encoding="utf-8") == readme.picture(readme.read_figures()), (
        "run python -m benchmarks.readme"
    )
    assert f"]({readme.PICTURE.relative_to(readme.ROOT)})" in (readme.ROOT / "README.md").read_text(encoding="utf-8")


def test_the_bars_of_the_picture() -> None:
    document = f"| x | y |\n| - | - |\n\n| t | write | read |\n| - | - | - |\n| a<b | | 100 ms |\n| {chart.OURS} | | 1 µs |\n| c | |  |\n"  # noqa: E501, RUF001
    found = chart.times(document, "t", "read")
    assert found == {"a<b": "100 ms", chart.OURS: "1 µs"}  # noqa: RUF001
    bars = re.findall(r'<rect class="(.*?)" x.*width="(.*?)"', chart.svg(found, "x<y"))
    assert bars == [("ours", "0"), ("other", str(chart.RIGHT - chart.LEFT))]
    assert "a&lt;b" in chart.svg(found, "x<y")
    assert chart.svg(found, "x<y").count("x&lt;y") == 2
    with pytest.raises(ValueError, match="found no column"):
        chart.times(document, "t", "list")


def test_reports_are_loaded(tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    path.write_text(program.as_json("", {"read tiny": RESULT}, {}), encoding="utf-8")
    assert readme.load([str(path)]) == ("", {"read tiny": RESULT})


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (1.5, "s", "1.5 s"),
        (2e-3, "s", "2 ms"),
        (3e-9, "s", "3 ns"),
        (7.25, "MB", "7.2 MB"),
        (1.0, "rounds", "1 round"),
        (105.0, "rounds", "105 rounds"),
    ],
)
def test_quantities(value: float, unit: str, text: str) -> None:
    assert table.quantity(value, unit) == text


def test_ways_that_disagree_are_not_timed() -> None:
    trial = Trial([calls(OURS, lambda: 1, 1), calls(BARE, lambda: 2, 1)])
    with pytest.raises(data.UnequalError, match="bare: found 2, expected 1"):
        measure("x", trial, 1)


def test_ways_take_turns() -> None:
    turns: list[str] = []

    def way(name: str) -> Way:
        def run() -> float:
            turns.append(name)
            return 6.0

        return Way(name, run, lambda: None)

    result = measure("x", Trial([way("a"), way("b")], n=3), 2)
    assert turns == ["a", "b"] * 3
    assert result.values == {"a": [2.0, 2.0], "b": [2.0, 2.0]}


def test_a_worker_tells_what_went_wrong(stand_in: Worker, tmp_path: Path) -> None:
    with pytest.raises(WorkerError, match="read: FileNotFoundError"):
        stand_in.ask("read", paths=[str(tmp_path / "absent.ds")])
    assert stand_in.ask("version")


def test_the_command_writes_a_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--smoke", "--only", "count_bits", "--repetitions", "1", "--folder", str(tmp_path)]
    assert program.main([*words, "--output", str(tmp_path / "report.md")]) == 0
    printed = capsys.readouterr().out
    assert (tmp_path / "report.md").read_text(encoding="utf-8") in printed
    assert "Total: " in printed
    assert program.main([*words, "--output", str(tmp_path / "report.json")]) == 0
    content = json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))
    assert [result["case"] for result in content["results"]] == ["count_bits, small", "count_bits, large"]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """This package as an older version, which has no BinPickle files."""
    path = tmp_path_factory.mktemp("wheel") / "ds_format-0.0.1.whl"
    package = Path(PACKAGE, "ds_format")
    with zipfile.ZipFile(path, "w") as archive:
        for file in package.rglob("*.*"):
            if file.suffix in {".py", ".json", ".so", ".pyd"} and file.parent.name != "binpickle":
                archive.write(file, file.relative_to(PACKAGE))
    with zipfile.ZipFile(path, "a") as archive, pytest.warns(UserWarning, match="Duplicate name"):
        archive.writestr("ds_format/_version.py", '__version__ = "0.0.1"')
    return path


@pytest.mark.slow
def test_an_old_version_runs_in_turn_with_this_one(wheel: Path, tmp_path: Path) -> None:
    names = ["read tiny", "stations, read_many, headers equal", "objects, dump", "write large, memory above the array"]
    with versions.opened(wheel) as both:
        cases = versions.paired([CASES[name] for name in names], both)
        results, skipped = run(Bench(TINY, tmp_path, None, 3), cases)
    assert both.old == "old: ds_format 0.0.1, ds_format-0.0.1.whl"
    assert {result.case: list(result.values) for result in results[:2]} == {
        "read tiny": ["ds_format", "old"],
        "stations, read_many, headers equal": [
            *("ds_format", "old"),
            *("ds_format, one thread", "old, one thread"),
            *("ds_format, collecting", "old, collecting"),
        ],
    }
    assert {len(values) for result in results for values in result.values.values()} == {3}
    assert re.match("old: .*build_case: .*Error: ", skipped["objects, dump"])
    assert not list(tmp_path.iterdir())


def test_rows_that_are_slower_than_the_old_version_are_marked() -> None:
    values = {
        "ds_format": [2.2, 2.2, 2.4],
        "old": [2.0, 2.0, 2.0],
        "ds_format, open": [2.0, 2.1, 2.1],
        "old, open": [2.0, 2.0, 2.0],
        "ds_format, disturbed": [2.0, 3.0, 3.0],
        "old, disturbed": [2.0, 2.0, 2.0],
    }
    of_time = Result("read", "s", 0, dict.fromkeys(values, ""), values)
    text = versions.report(
        "a machine", {"read": of_time, "size": of_time._replace(case="size", unit="MB")}, {"dump": "old: none"}
    )
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines() if line.startswith("|")]
    assert rows[2:] == [
        ["read", "ds_format", "2 s", "2.2 s", "1.10x (1.10x … 1.20x)", "1.10x", "slower"],
        ["read", "ds_format, open", "2 s", "2.1 s", "1.05x (1.00x … 1.05x)", "1.00x", ""],
        ["read", "ds_format, disturbed", "2 s", "3 s", "1.50x (1.00x … 1.50x)", "1.00x", ""],
        ["size", "ds_format", "2.0 MB", "2.2 MB", "1.10x (1.10x … 1.20x)", "1.10x", "larger"],
        ["size", "ds_format, open", "2.0 MB", "2.1 MB", "1.05x (1.00x … 1.05x)", "1.00x", ""],
        ["size", "ds_format, disturbed", "2.0 MB", "3.0 MB", "1.50x (1.00x … 1.50x)", "1.00x", ""],
        ["dump", "left out", "", "", "old: none", "", ""],
    ]
    assert "a machine" in text
    assert "Rows with both ratios above 1.05: 2" in text


def test_the_command_compares_with_a_wheel(wheel: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--old", str(wheel), "--only", "read tiny", "--folder", str(tmp_path), "--smoke", "--repetitions", "1"]
    assert program.main(words) == 0
    printed = capsys.readouterr().out
    assert "old: ds_format 0.0.1" in printed
    assert "| read tiny, headers differ | ds_format |" in printed
    with pytest.raises(SystemExit):
        program.main([*words, "--reference-python", sys.executable])
    assert "leave out --reference-python and --zippy" in capsys.readouterr().err


def test_a_wheel_of_something_else(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "other.whl", "w") as archive:
        archive.writestr("other/__init__.py", "")
    with (
        pytest.raises(WorkerError, match=r"old: ds_format was imported from .*, expected it in "),
        versions.opened(tmp_path / "other.whl"),
    ):
        pass


def test_a_worker_that_does_not_start(tmp_path: Path) -> None:
    (tmp_path / "ds_format.py").write_text("raise SystemExit")
    with pytest.raises(WorkerError, match="the process ended during 'version'"):
        Worker(sys.executable, str(tmp_path))


def test_no_such_case(capsys: pytest.CaptureFixture[str]) -> None:
    assert program.main(["--only", "nonsense"]) == 1
    assert "no case has 'nonsense' in its name" in capsys.readouterr().err


def test_a_case_may_be_left_out(tmp_path: Path) -> None:
    def build(bench: Bench, folder: Path) -> Trial:
        raise SkippedError("no room")

    results, skipped = run(Bench(TINY, tmp_path, None, 1), [Case("x", build)])
    assert not results
    assert skipped == {"x": "no room"}


def test_a_case_without_a_disk(tmp_path: Path) -> None:
    _, skipped = run(Bench(TINY, tmp_path, None, 1), cold.GROUP.cases)
    assert list(skipped.values()) == ["no folder is on a disk: --disk names one"]


def test_the_bytes_of_a_file_are_forgotten(tmp_path: Path) -> None:
    if machine.file_system(tmp_path) in disk.IN_MEMORY:
        pytest.skip("there is no disk")
    path = tmp_path / "x"
    path.write_bytes(bytes(10))
    try:
        assert disk.is_cached(str(path))
        for _ in range(50):  # the system keeps what another processor has just touched
            disk.settle([str(path)])
            disk.forget([str(path)])
            if not disk.is_cached(str(path)):
                return
            time.sleep(0.1)
    except SkippedError as reason:
        pytest.skip(str(reason))
    pytest.skip("the system does not forget the bytes of files when it is asked to")


def test_a_part_of_the_work_counts_for_all() -> None:
    way = scaled(Way(OURS, lambda: 3.0, lambda: None, "so"), 2, 20)
    assert (way.run(), way.note) == (30.0, "so; 2 files")


WHOLE = {"x": [1.5, 2.5], ".": {"x": {".dims": ["n"], "range": [0.1, 1]}, ".": {"title": "a"}}}


def test_whole_datasets_are_compared() -> None:
    meta = {"x": {".dims": ("n",), "range": np.array([0.1, 1], "f4"), ".size": [2]}, ".": {"title": np.str_("a")}}
    data.expect_whole("way", {**WHOLE, ".": meta}, WHOLE)


@pytest.mark.parametrize(
    ("found", "message"),
    [
        ({"y": [1]}, "way: variables: found"),
        ({"x": [1.5, 2]}, "way: x: found"),
        ({".": {"x": {".dims": ["m"], "range": [0.1, 1]}, ".": {"title": "a"}}}, "dimensions of x: found"),
        ({".": {"x": {".dims": ["n"]}, ".": {"title": "a"}}}, "attributes of x: found"),
        ({".": {"x": {".dims": ["n"], "range": [0, 1]}, ".": {"title": "a"}}}, "x: range: found"),
        ({".": {"x": {".dims": ["n"], "range": [0.1, 1]}, ".": {"title": "b"}}}, "title: found"),
    ],
)
def test_whole_datasets_that_differ(found: dict[str, Any], message: str) -> None:
    with pytest.raises(data.UnequalError, match=message):
        data.expect_whole("way", {**WHOLE, **found}, WHOLE)


@pytest.mark.parametrize("kind", [stations.ORDINARY, stations.OWN, *stations.MORE])
@pytest.mark.parametrize("format", ["NETCDF3_CLASSIC", "NETCDF4_CLASSIC", "NETCDF4"])
def test_other_programs_have_the_same_report(kind: str, format: str, tmp_path: Path) -> None:
    report, path = stations.station(3, kind), str(tmp_path / "x.nc")
    peers.write_netcdf(path, data.stored(report), format)
    data.expect_report(NETCDF, programs.read_netcdf(path), report)
    data.expect_report(OURS, ds.read(path), report)
    report["temperature"] = report["temperature"] + 1
    with pytest.raises(data.UnequalError, match="temperature"):
        data.expect_report(NETCDF, programs.read_netcdf(path), report)


def test_reports_are_joined_with_their_scalars() -> None:
    first, second = (data.settled(stations.ordinary(i)) for i in range(2))
    found = reports.joined([first, second])
    assert [found["station_id"][i] for i in (23, 24)] == ["ST0000000000", "ST0000000001"]
    gaps = [np.ma.count_masked(one["temperature"]) for one in (found, first, second)]
    assert gaps[0] == gaps[1] + gaps[2] > 0
    assert "station_id" not in reports.joined([first], scalars=False)


@pytest.mark.parametrize("title", instructions.CALLS)
def test_calls_whose_instructions_are_counted(title: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(gc, "freeze", lambda: None)
    instructions.work(title)


def test_instructions_need_valgrind(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("shutil.which", lambda name: None)
    assert instructions.main([]) == 2
    assert "valgrind is missing: install it" in capsys.readouterr().err


def test_instructions_are_compared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "counts.json"
    monkeypatch.setattr(instructions, "missing_tool", lambda: None)
    monkeypatch.setattr(instructions, "count", lambda title: 1000)
    assert instructions.main(["--save", str(path)]) == 0
    assert "| write | 1,000 |\n" in capsys.readouterr().out
    counts = {"read": 1031, "write": 969, "open": 1030}
    monkeypatch.setattr(instructions, "count", lambda title: counts.get(title, 970))
    assert instructions.main(["--compare", str(path)]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert "| read | 1,031 | 1,000 | 1.031 more |" in lines
    assert "| write | 969 | 1,000 | 0.969 less |" in lines
    assert "| open | 1,030 | 1,000 | 1.030 |" in lines
    assert instructions.main(["--compare", str(path), "--only", "open"]) == 0
