"""`python -m benchmarks.readme REPORT.json ...`: put what was measured into the tables of the documents.

Only tables between the marks `<!-- benchmarks -->` and `<!-- /benchmarks -->` are changed; what is said around them is
not. Later reports replace what earlier ones say of the same cases; rows of which no report says anything stay as they
stand. Without a report, only the picture is drawn anew.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from . import chart
from .shown import FULL, SHORT, Shown
from .table import quantity, summary
from .timing import Result

ROOT = Path(__file__).parents[1]
PICTURE = ROOT / "docs/_static/reading.svg"
MARKED = re.compile(r"(?<=<!-- benchmarks -->\n).*(?=<!-- /benchmarks -->)", re.DOTALL)
TABLES = re.compile(r"(?:^\|.*\n)+", re.MULTILINE)


def filled(shown: Shown, results: Mapping[str, Result]) -> str:
    """Return a table with what was measured, and nothing in the cells of those that took no part."""
    lines = [[shown.title, *shown.columns], ["---"] * (1 + len(shown.columns))]
    for row in shown.rows:
        found = [results[case] for case in row.cases if case in results]
        lines.append([row.words])
        for column, usual in shown.columns.items():
            way, remark = row.others.get(column, (usual, ""))
            figures = [quantity(result.median(way), result.unit) for result in found if way in result.values]
            lines[-1].append(f"{' / '.join(figures)} {remark}".strip() if figures else "")
    return _lines(lines)


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


def load(paths: Sequence[str]) -> dict[str, Result]:
    """Return the results of reports, by case."""
    results: dict[str, Result] = {}
    for path in paths:
        for fields in json.loads(Path(path).read_text(encoding="utf-8"))["results"]:
            results[fields["case"]] = Result(**fields)
    return results


def tables(results: Mapping[str, Result]) -> dict[str, list[str]]:
    """Return the tables of each document."""
    return {
        "README.md": [filled(SHORT, results)],
        "docs/performance.md": [*(filled(shown, results) for shown in FULL), narrow(summary(results))],
    }


def main(paths: Sequence[str]) -> None:
    """Change the documents, and draw the picture of what they say then."""
    empty = tables({})
    for name, new in tables(load(paths)).items():
        path = ROOT / name
        path.write_text(replaced(path.read_text(encoding="utf-8"), new, empty[name]), encoding="utf-8")
    PICTURE.write_text(picture(), encoding="utf-8")


def picture() -> str:
    """Return the picture of README.md, by what docs/performance.md says."""
    return chart.svg(chart.times((ROOT / "docs/performance.md").read_text(encoding="utf-8")))


if __name__ == "__main__":
    main(sys.argv[1:])
