"""`python -m benchmarks.readme REPORT.json ...`: put the figures of a run into the tables of the documents.

Only tables between the marks `<!-- benchmarks -->` and `<!-- /benchmarks -->` are changed, and the line between
`<!-- machine -->` and `<!-- /machine -->`. Figures of a later report replace those of earlier ones. A page whose tables
would lack a figure is not written, and the error names the rows. Without a report, only the picture is drawn again.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from . import chart
from .shown import FACTOR, PAGES, REPORT, TARGETS, Row, Shown
from .table import MISSING, quantity, summary, times
from .timing import Result
from .ways import NETCDF, OURS

ROOT = Path(__file__).parents[1]
PICTURE = ROOT / "docs/_static/reading.svg"
MARKED = re.compile(r"(?<=<!-- benchmarks -->\n).*(?=<!-- /benchmarks -->)", re.DOTALL)
MACHINE = re.compile(r"(?<=<!-- machine -->\n).*(?=<!-- /machine -->)", re.DOTALL)
TABLES = re.compile(r"(?:^\|.*\n)+", re.MULTILINE)


def filled(shown: Shown, results: Mapping[str, Result]) -> str:
    """Return a table with its figures. Cells that need no figure are empty."""
    rows = [[row.words, *(_cell(row, *item, results) for item in shown.columns.items())] for row in shown.rows]
    lines = [[shown.title, *shown.columns], *rows]
    header, *body = zip(*lines, strict=True) if shown.is_turned else lines
    return _lines([header, ["---"] * len(header), *body])


def _cell(row: Row, column: str, usual: str, results: Mapping[str, Result]) -> str:
    if column in row.without:
        return ""
    way, remark = row.others.get(column, (usual, ""))
    figures = (_figure(results.get(case), way) for case in row.cases if way)
    return f"{' / '.join(figures)} {remark}".strip()


def _figure(result: Result | None, way: str) -> str:
    if way == FACTOR and result is not None and {NETCDF, OURS} <= result.values.keys():
        return times(result.median(NETCDF) / result.median(OURS)).removesuffix("x")
    return MISSING if result is None or way not in result.values else quantity(result.median(way), result.unit)


def _lines(rows: Sequence[Sequence[str]]) -> str:
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def narrow(table: str) -> str:
    """Return a table without the spaces that make its columns even."""
    rows = [[cell.strip() for cell in line.strip("| ").split(" | ")] for line in table.splitlines()]
    return _lines([rows[0], ["---"] * len(rows[0]), *rows[2:]])


def replaced(document: str, tables: Sequence[str], machine: str = "") -> str:
    """Return a document with other tables between its marks, and another line about the machine.

    Raises
    ------
    ValueError
        If the number of tables differs.
    """
    marked = MARKED.search(document)
    n = len(TABLES.findall(marked[0])) if marked else 0
    if marked is None or n != len(tables):
        raise ValueError(f"found {n} tables between marks, expected {len(tables)}")
    new = iter(tables)
    text = TABLES.sub(lambda _: next(new), marked[0])
    document = document[: marked.start()] + text + document[marked.end() :]
    return MACHINE.sub(lambda old: f"{machine}\n" if machine else old[0], document)


def lacking(table: str) -> list[str]:
    """Return the first cells of the rows of a table that lack a figure."""
    rows = [[cell.strip() for cell in line.strip()[1:-1].split("|")] for line in table.splitlines()[2:]]
    return [row[0] for row in rows if any(MISSING in re.split("[ ;]", cell) for cell in row[1:])]


def load(paths: Sequence[str]) -> tuple[str, dict[str, Result]]:
    """Return the machine of the last report, and the results of all, by case."""
    machine, results = "", dict[str, Result]()
    for path in paths:
        report = json.loads(Path(path).read_text(encoding="utf-8"))
        machine = report["machine"]
        for fields in report["results"]:
            results[fields["case"]] = Result(**fields)
    return machine, results


def tables(results: Mapping[str, Result]) -> dict[str, list[str]]:
    """Return the tables of each document."""
    made = {name: [filled(shown, results) for shown in every] for name, every in PAGES.items()}
    made[TARGETS].append(narrow(summary(results)))
    return made


def main(paths: Sequence[str]) -> None:
    """Change the documents, and draw the picture from them.

    Raises
    ------
    SystemExit
        If a row lacks a figure. Its page is not changed.
    """
    missing: list[str] = []
    machine, results = load(paths)
    for name, every in tables(results).items() if paths else ():
        holes = [f"{name}: {row}" for table in every for row in lacking(table)]
        if not holes:
            text = (ROOT / name).read_text(encoding="utf-8")
            (ROOT / name).write_text(replaced(text, every, machine), encoding="utf-8")
        missing += holes
    PICTURE.write_text(picture(), encoding="utf-8")
    if missing:
        raise SystemExit("\n".join(["these rows lack a figure, and their pages were not written:", *missing]))


def picture() -> str:
    """Return the picture of README.md, by the figures of docs/performance.md."""
    text = (ROOT / "docs/performance.md").read_text(encoding="utf-8")
    return chart.svg(chart.times(text, REPORT.title, REPORT.rows[0].words))


if __name__ == "__main__":
    main(sys.argv[1:])
