"""`python -m benchmarks.readme REPORT.json ...`: put what was measured into the tables of the documents.

Only tables between the marks `<!-- benchmarks -->` and `<!-- /benchmarks -->` are changed; what is said around them is
not. Later reports replace what earlier ones say of the same cases; rows of which no report says anything stay as they
stand. A page is written only if all its figures are there: otherwise the error names the rows that have none. Without a
report, only the picture is drawn anew.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from . import chart
from .shown import FULL, SHORT, Row, Shown
from .table import MISSING, quantity, summary
from .timing import Result

ROOT = Path(__file__).parents[1]
PICTURE = ROOT / "docs/_static/reading.svg"
MARKED = re.compile(r"(?<=<!-- benchmarks -->\n).*(?=<!-- /benchmarks -->)", re.DOTALL)
TABLES = re.compile(r"(?:^\|.*\n)+", re.MULTILINE)
FIGURE = re.compile(r"\d\S* (?:ns|µs|ms|s|MB)(?!\w)")  # noqa: RUF001 - the sign of micro
SHOWN: Mapping[str, Sequence[Shown]] = {"README.md": (SHORT,), "docs/performance.md": FULL}
"""Document → its tables between the marks. The last one of docs/performance.md, the summary, comes after them."""


def filled(shown: Shown, results: Mapping[str, Result]) -> str:
    """Return a table with what was measured. Cells that need no figure are empty."""
    rows = [[row.words, *(_cell(row, *item, results) for item in shown.columns.items())] for row in shown.rows]
    return _lines([[shown.title, *shown.columns], ["---"] * (1 + len(shown.columns)), *rows])


def _cell(row: Row, column: str, usual: str, results: Mapping[str, Result]) -> str:
    if column in row.without:
        return ""
    way, remark = row.others.get(column, (usual, ""))
    figures = (_figure(results.get(case), way) for case in row.cases)
    return f"{' / '.join(figures)} {remark}".strip()


def _figure(result: Result | None, way: str) -> str:
    return MISSING if result is None or way not in result.values else quantity(result.median(way), result.unit)


def _lines(rows: Sequence[Sequence[str]]) -> str:
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def narrow(table: str) -> str:
    """Return a table without what makes its columns even."""
    rows = [[cell.strip() for cell in line.strip("| ").split(" | ")] for line in table.splitlines()]
    return _lines([rows[0], ["---"] * len(rows[0]), *rows[2:]])


def replaced(document: str, tables: Sequence[str], empty: Sequence[str]) -> str:
    """Return a document with other tables between its marks, but for rows that are as in tables without figures.

    Raises
    ------
    ValueError
        If it has not as many tables there.
    """
    marked = MARKED.search(document)
    found = TABLES.findall(marked[0]) if marked else []
    if marked is None or len(found) != len(tables):
        raise ValueError(f"found {len(found)} tables between marks, expected {len(tables)}")
    new = iter(zip(tables, empty, strict=True))
    text = TABLES.sub(lambda old: _kept(old[0], *next(new)), marked[0])
    return document[: marked.start()] + text + document[marked.end() :]


def _kept(old: str, new: str, empty: str) -> str:
    known = {_work(line): line for line in old.splitlines()}
    lines = zip(new.splitlines(), empty.splitlines(), strict=True)
    return "".join(f"{known.get(_work(line), line) if line == bare else line}\n" for line, bare in lines)


def _work(line: str) -> str:
    return line.split(" | ")[0]


def holes(document: str, every: Sequence[Shown]) -> list[str]:
    """Return the rows between the marks of a document that lack a figure, with the columns that lack it."""
    marked = MARKED.search(document)
    tables = [_rows(table) for table in TABLES.findall(marked[0] if marked else "")]
    found = []
    for shown, lines in zip(every, tables, strict=False):
        for row, (_, *cells) in zip(shown.rows, lines, strict=True):
            columns = [
                column
                for column, cell in zip(shown.columns, cells, strict=True)
                if column not in row.without and len(FIGURE.findall(cell)) != len(row.cases)
            ]
            if columns:
                found.append(f"{row.words} ({', '.join(columns)})")
    for lines in tables[len(every) :]:
        found += [row[0] for row in lines if any(MISSING in re.split("[ ;]", cell) for cell in row)]
    return found


def _rows(table: str) -> list[list[str]]:
    """Return the cells of a table below its header."""
    return [[cell.strip() for cell in line.strip()[1:-1].split("|")] for line in table.splitlines()[2:]]


def load(paths: Sequence[str]) -> dict[str, Result]:
    """Return the results of reports, by case."""
    results: dict[str, Result] = {}
    for path in paths:
        for fields in json.loads(Path(path).read_text(encoding="utf-8"))["results"]:
            results[fields["case"]] = Result(**fields)
    return results


def tables(results: Mapping[str, Result]) -> dict[str, list[str]]:
    """Return the tables of each document."""
    made = {name: [filled(shown, results) for shown in every] for name, every in SHOWN.items()}
    made["docs/performance.md"].append(narrow(summary(results)))
    return made


def main(paths: Sequence[str]) -> None:
    """Change the documents, and draw the picture of what they say then.

    Raises
    ------
    SystemExit
        If a row has no figure, neither in the reports nor in the document. No file is changed.
    """
    empty = tables({})
    documents = {
        name: replaced((ROOT / name).read_text(encoding="utf-8"), new, empty[name])
        for name, new in tables(load(paths)).items()
    }
    missing = [f"{name}: {row}" for name, text in documents.items() for row in holes(text, SHOWN[name])]
    if missing:
        raise SystemExit("\n".join(["these rows lack a figure, and nothing was written:", *missing]))
    for name, text in documents.items():
        (ROOT / name).write_text(text, encoding="utf-8")
    PICTURE.write_text(picture(), encoding="utf-8")


def picture() -> str:
    """Return the picture of README.md, by what docs/performance.md says."""
    return chart.svg(chart.times((ROOT / "docs/performance.md").read_text(encoding="utf-8")))


if __name__ == "__main__":
    main(sys.argv[1:])
