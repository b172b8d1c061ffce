"""ds sql: tables of files, printed, and written to files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from ds_format.api import files

from ..tables import stations

if TYPE_CHECKING:
    from .conftest import Run

pytest.importorskip("duckdb", reason="needs DuckDB (extra tables)")
pytest.importorskip("pyarrow", reason="needs pyarrow (extra tables)")

BY_STATION = "select station, max(wind) as wind, count(temperature) n from t group by 1 order by 1 limit 3"


@pytest.fixture(autouse=True)
def reports(folder: Path) -> list[str]:
    stations.write_all(folder, "ds")
    return sorted(path.name for path in folder.iterdir())


def test_a_table(ds: Run) -> None:
    assert ds("sql", BY_STATION, "t:", "*.ds") == (
        0,
        "station  wind  n\nst0       0.0  1\nst1      11.0  1\nst2      22.0  2\n",
        "",
    )


def test_numbers_are_on_the_right_and_text_stays_on_its_line(ds: Run) -> None:
    query = "select time, weather || chr(10) as w, temperature, wind * 1.1::float as x, is_checked from t order by time"
    assert ds("sql", query, "t:", "r2.ds").out == (
        "time                 w         temperature     x  is_checked\n"
        "2026-01-03T00:00:00  žluť 0\\n          2.0  22.0        True\n"
        "2026-01-03T01:00:00  žluť 1\\n               23.1       False\n"
        "2026-01-03T02:00:00  žluť 0\\n          5.0  24.2        True\n"
    )


def test_json(ds: Run) -> None:
    status, out, _ = ds("sql", "-j", "--noindent", BY_STATION, "t:", "*.ds")
    assert status == 0
    assert [json.loads(line) for line in out.splitlines()] == [
        {"station": f"st{i}", "wind": 11.0 * i, "n": [1, 1, 2][i]} for i in range(3)
    ]
    query = "select 0.5::float f, 2.5::decimal(3, 1) d, date '2026-01-01' t, [1.5::float] l, 'a'::blob b, null m"
    query += ", interval 1 day i, count(*) n from t"
    assert json.loads(ds("sql", "-j", query, "t:", "r0.ds").out) == {
        "f": 0.5,
        "d": 2.5,
        "t": "2026-01-01",
        "l": [1.5],
        "b": "a",
        "m": None,
        "i": "1 day, 0:00:00",
        "n": 1,
    }
    assert ds("sql", "-j", "select 1 a, 2 a from t", "t:", "r0.ds") == (
        1,
        "",
        'ds sql: found two columns "a": rename one of them by `as`\n',
    )


def test_csv(ds: Run) -> None:
    query = "select time, wind from t where temperature is null order by wind limit 2"
    assert ds("sql", query, "t:", "*.ds", "--csv") == (
        0,
        "time,wind\n2026-01-02T01:00:00,11.0\n2026-01-03T01:00:00,21.0\n",
        "",
    )
    assert ds("sql", query, "t:", "*.ds", "--csv", "delimiter:", ";", "decimal:", ",").out.splitlines()[1] == (
        "2026-01-02T01:00:00;11,0"
    )


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("output", ["out.ds", "out.nc", "out.csv"])
def test_a_file(output: str, ds: Run, folder: Path) -> None:
    assert ds("sql", BY_STATION, "t:", "*.ds", "to:", output)[:2] == (0, "")
    found = files.read(folder / output)
    assert found["station"].tolist() == ["st0", "st1", "st2"]
    assert found["wind"].tolist() == [0, 11, 22]


@pytest.mark.filterwarnings("default")
def test_options_of_the_output(ds: Run, folder: Path) -> None:
    query = "select time, wind from t"
    assert ds("sql", query, "t:", "r1.ds", "to:", "out.csv", "times:", "iso", "delimiter:", ";").status == 0
    assert (folder / "out.csv").read_text().splitlines()[:2] == ["time;wind", "2026-01-02T00:00:00;10.0"]
    assert ds("sql", query, "t:", "r1.ds", "to:", "out.ds", "compression:", "zlib").status == 1
    assert not (folder / "out.ds").exists()


def test_columns_of_attributes(ds: Run) -> None:
    query = "select distinct height, network, parse_filename(filename) f from t order by height desc limit 2"
    columns = ["columns:", "{", "height", "network", "filename", "}"]
    assert ds("sql", query, "t:", "*.ds", *columns).out == (
        "height  network  f\n   500           r5.ds\n   400  a        r4.ds\n"
    )
    message = 'r0.ds: variable "statoin": found no scalar and no attribute of the dataset: did you mean station?\n'
    assert ds("sql", "select station from t", "t:", "*.ds", "columns:", "statoin").err.endswith(message)


def test_two_tables(ds: Run, folder: Path) -> None:
    places = {"station": np.array(["st1", "st2"], object), "name": np.array(["Oslo", "Bergen"], object)}
    files.write(folder / "places.csv", {**places, ".": {name: {".dims": ["i"]} for name in places}})
    query = "select name, max(wind) as wind from t join p using (station) group by 1 order by 1"
    assert ds("sql", "t:", "{", "r1.ds", "r2.ds", "}", query, "p:", "places.csv").out == (
        "name    wind\nBergen  22.0\nOslo    11.0\n"
    )


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([BY_STATION], "NAME: FILES is missing: the name of a table in the query, and its files"),
        (["t:", "r0.ds"], "QUERY is missing"),
        (
            [BY_STATION, "t:", "r0.ds", "r1.ds", "r2.ds"],
            "found r1.ds after QUERY: put patterns in quotes, and several files in braces",
        ),
        (
            [BY_STATION, "t:", "r0.ds", "colums:", "station"],
            '"colums" is neither a table in the query nor an option: did you mean columns?',
        ),
        (
            [BY_STATION, "t:", "r0.ds", "at:", "{", "time:", "0", "}"],
            'the option "at" is for other commands: write it as a condition in the query',
        ),
        ([BY_STATION, "t:", "r0.ds", "--cvs"], 'unrecognized option "cvs": did you mean csv?'),
    ],
)
def test_an_invalid_command_line(words: list[str], message: str, ds: Run) -> None:
    status, out, err = ds("sql", *words)
    assert (status, out, err.splitlines()[0]) == (1, "", f"ds sql: {message}")
    assert "Usage: ds sql [OPTIONS] [--] QUERY NAME: FILES...\n" in err


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("select * from t, x", "Catalog Error: Table with name x does not exist!"),
        ("selec * from t", 'Parser Error: syntax error at or near "selec"'),
        ("select tempature from t", 'Binder Error: Referenced column "tempature" not found in FROM clause! '),
        ("select temperature + weather from t", "Binder Error: No function matches the given name and argument types "),
        ("select cast(station as int) from t", "Conversion Error: Could not convert string 'st0' to INT32"),
        ("copy t to 'stolen.csv'", "Permission Error: "),
    ],
)
@pytest.mark.parametrize("output", [[], ["-j"], ["--csv"], ["to:", "out.ds"]])
def test_a_query_that_fails_is_one_line(query: str, message: str, output: list[str], ds: Run, folder: Path) -> None:
    before = {*folder.iterdir()}
    status, out, err = ds("sql", query, "t:", "*.ds", *output)
    assert (status, out) == (1, "")
    assert err.startswith(f"ds sql: {message}") and err.count("\n") == 1
    assert "Exception" not in err and "LINE" not in err and "BIGINT" not in err
    assert {*folder.iterdir()} == before


def test_a_file_that_cannot_be_read_is_named(ds: Run, folder: Path) -> None:
    assert ds("sql", "select * from t", "t:", "r9.ds").err.endswith("/r9.ds: File does not exist\n")
    with (folder / "r3.ds").open("r+b") as file:
        file.truncate(700)
    expected = f"ds sql: {folder / 'r3.ds'}: the header ends after 700 bytes: the file is truncated\n"
    for output in ([], ["-j"], ["--csv"], ["to:", "out.ds"]):
        assert ds("sql", "select avg(wind) from t", "t:", "*.ds", *output) == (1, "", expected)
    assert not (folder / "out.ds").exists()


def test_a_statement_without_a_result_prints_nothing(ds: Run) -> None:
    assert ds("sql", "/* t */", "t:", "r0.ds") == (0, "", "")
