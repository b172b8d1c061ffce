"""The benchmarks: every case runs with hardly any data; results are judged and put into words. No time is asserted."""

from __future__ import annotations

import gc
import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[1]))  # benchmarks are not installed; what is installed comes first

from benchmarks import __main__ as program
from benchmarks import data, table, targets
from benchmarks.cases import GROUPS
from benchmarks.cases.large import PACKAGE
from benchmarks.cases.many import has_xarray
from benchmarks.runner import Bench, Case, SkippedError, run, run_case
from benchmarks.sizes import Sizes
from benchmarks.timing import Result, Trial, Way, measure
from benchmarks.ways import BARE, FASTZDS, NETCDF, OURS, REFERENCE, XARRAY, calls
from benchmarks.worker import Worker, WorkerError

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
    many=20,
    folder=6,
    merged=200_000,
    slab=4_000,
    samples=20,
    keys=30,
    documents_few=5,
    documents=10,
    documents_many=20,
    objects=20,
    starts=1,
)
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


@pytest.mark.parametrize("name", CASES)
def test_every_case_runs_and_its_rivals_take_part(name: str, stand_in: Worker, tmp_path: Path) -> None:
    try:
        result = run_case(Bench(TINY, tmp_path, stand_in, 1), CASES[name])
    except SkippedError as reason:
        pytest.skip(str(reason))
    assert all(len(values) == 1 for values in result.values.values())
    assert not list(tmp_path.iterdir())
    absent = {REFERENCE, FASTZDS} if name == "ds ls x.ds" else {FASTZDS}  # the stand-in need not be installed
    if not has_xarray():
        absent.add(XARRAY)
    for claim in all_claims():
        for bound in claim.bounds:
            if bound.case == name and claim.kind != "at most":
                assert claim.rival in {*result.values, *absent}


def all_claims() -> list[targets.Claim]:
    return [*(claim for goal in targets.GOALS for claim in goal.claims), *targets.OTHERS]


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
    assert "| 100x / - ✓; - / -; 2.00x / - ✓" in lines[2]
    assert "80x / 70x faster than netCDF4; 8x / 5x faster than ds-format 5.0.2; within 2x of bare" in lines[2]


def test_the_table_of_a_group() -> None:
    text = table.group_table(GROUPS[0], {"read tiny": RESULT}, {"write tiny": "no room"})
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines() if line.startswith("|")]
    assert rows[2] == ["read tiny", "ds_format", "2 µs", "2 µs … 4 µs", "", "", ""]  # noqa: RUF001
    assert rows[3][-2:] == ["2.00x faster (2.00x … 4.0x)", "ds_format within 2x ✓"]
    assert rows[4][-2:] == ["100x slower (50x … 100x)", "≥ 80x slower ✓"]
    assert rows[5] == ["write tiny", "left out", "", "", "", "no room", ""]


@pytest.mark.parametrize(
    ("value", "unit", "text"), [(1.5, "s", "1.5 s"), (2e-3, "s", "2 ms"), (3e-9, "s", "3 ns"), (7.25, "MB", "7.2 MB")]
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
