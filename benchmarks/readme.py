"""`python -m benchmarks.readme REPORT.json ...`: put the figures of a run into the tables of the documents.

It changes the tables between the marks `<!-- benchmarks -->` and `<!-- /benchmarks -->`, the line between
`<!-- machine -->` and `<!-- /machine -->`, and the times in the first sentences of README.md and docs/index.md. Figures
of a later report replace those of earlier ones. A page whose tables would lack a figure is not written, and the error
names the rows; in docs/targets.md, only rows whose figures were all measured change. Without a report, sentences and
the picture get the figures of the tables.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from . import chart
from .shown import FACTOR, PAGES, REPORT, TARGETS, Row, Shown
from .stations import ordinary
from .table import MISSING, quantity, summary, times
from .timing import Result
from .ways import NETCDF, OURS

TIME = rf"\d+ (?:{'|'.join(chart.SECONDS)})\b"
ROOT = Path(__file__).parents[1]
PICTURE = ROOT / "docs/_static/reading.svg"
FIRST = ("README.md", "docs/index.md")
SENTENCE = re.compile(rf"{TIME}(?P<between>[^|]{{1,80}}netCDF4[^|]{{1,80}}?){TIME}")
"""Our time, and that of netCDF4 after it."""
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
    return [row[0] for row in map(_cells, table.splitlines()[2:]) if _lacks(row)]


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip()[1:-1].split("|")]


def _lacks(row: Sequence[str]) -> bool:
    return any(MISSING in re.split("[ ;]", cell) for cell in row[1:])


def updated(table: str, document: str) -> str:
    """Return a table in which rows that lack a figure are those of a document with the same work and target."""
    former = {tuple(row[:2]): row for row in map(_cells, "".join(TABLES.findall(document)).splitlines())}
    rows = map(_cells, table.splitlines())
    return _lines([former.get(tuple(row[:2]), row) if _lacks(row) else row for row in rows])


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
        text = (ROOT / name).read_text(encoding="utf-8")
        holes = [f"{name}: {row}" for table in every for row in lacking(table)]
        if name == TARGETS:  # of several runs
            text = replaced(text, [updated(table, text) for table in every])
        elif not holes:
            text = replaced(text, every, machine)
        else:
            missing += holes
        (ROOT / name).write_text(text, encoding="utf-8")
    figures = read_figures()
    for name in FIRST:
        text = (ROOT / name).read_text(encoding="utf-8")
        (ROOT / name).write_text(said(text, figures), encoding="utf-8")
    PICTURE.write_text(picture(figures), encoding="utf-8")
    if missing:
        raise SystemExit("\n".join(["these rows lack a figure, and their pages were not written:", *missing]))


def read_figures() -> dict[str, str]:
    """Return the times to read a station report, by the names of programs, of docs/performance.md."""
    text = (ROOT / "docs/performance.md").read_text(encoding="utf-8")
    return chart.times(text, REPORT.title, REPORT.rows[0].words)


def said(document: str, figures: Mapping[str, str]) -> str:
    """Return a document with other figures in the sentences before its first section."""
    head, section, rest = document.partition("\n## ")
    ours, theirs = (rounded(figures[name]) for name in (chart.OURS, NETCDF))
    return SENTENCE.sub(rf"{ours}\g<between>{theirs}", head) + section + rest


def rounded(figure: str) -> str:
    """Return a time as a sentence has it."""
    number, unit = figure.split()
    return f"{float(number):.0f} {unit}"


def picture(figures: Mapping[str, str]) -> str:
    """Return the picture of README.md."""
    data = ordinary(0)
    n_attributes = sum(not key.startswith(".") for entry in data["."].values() for key in entry)
    return chart.svg(figures, f"Reading a station report: {len(data) - 1} variables, {n_attributes} attributes")


if __name__ == "__main__":
    main(sys.argv[1:])
