"""The document of differences tells of what the tests know."""

from __future__ import annotations

from pathlib import Path

from .ops.differences import DIFFERENCES

DOCUMENT = Path(__file__).parents[1] / "docs" / "differences.md"
HEAD = "| in ds-format 5.0.2 | here | why |\n|---|---|---|\n"


def test_the_table_of_functions_on_datasets_is_that_of_the_tests() -> None:
    _, _, section = DOCUMENT.read_text().partition("### Functions on datasets\n\n")
    rows = [f"| {row.theirs} | {row.ours} | {row.why} |" for row in DIFFERENCES]
    assert section == HEAD + "\n".join(rows) + "\n"


def test_tables_are_whole() -> None:
    lines = DOCUMENT.read_text().splitlines()
    for i, line in enumerate(lines):
        if line.startswith("|"):
            assert line.count("|") == 4, line
            assert line.endswith("|")
            assert lines[i - 1].startswith("|") or not lines[i - 1]
