"""The chart of speed of the documents: figures from the tables, on a logarithmic scale."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("sphinx")

DOCS = Path(__file__).parents[1] / "docs"


def load() -> Any:
    spec = importlib.util.spec_from_file_location("speed", DOCS / "speed.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


speed = load()
DOCUMENT = """
| not this | ds_format |
| --- | --- |
| read | 1 s |

<!-- benchmarks -->
| | netCDF4 | ds_format | system calls alone | xarray |
| --- | --- | --- | --- | --- |
| read | 4.04 ms (`reading` only) | 12.4 µs | 985 ns |  |
<!-- /benchmarks -->
"""  # noqa: RUF001 - the sign of micro


@pytest.fixture
def found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    (tmp_path / "table.md").write_text(DOCUMENT, encoding="utf-8")
    monkeypatch.setattr(speed, "DOCUMENTS", (tmp_path / "table.md",))
    return speed.figures("read")


def test_figures_are_those_of_the_table_between_the_marks(found: Any) -> None:
    assert [(figure.words, figure.shown) for figure in found] == [
        ("system calls alone", "985 ns"),
        ("ds_format", "12.4 µs"),  # noqa: RUF001
        ("netCDF4", "4.04 ms"),
    ]
    assert [figure.seconds for figure in found] == pytest.approx([985e-9, 12.4e-6, 4.04e-3])


def test_bars_are_as_long_as_logarithms(found: Any) -> None:
    svg = speed.chart(found)
    widths = [float(width) for width in re.findall(r'<rect class="\w+" [^>]*width="([\d.]+)%"', svg)]
    assert len(widths) == 3
    decade = (speed.RIGHT - speed.LEFT) / 5  # from 100 ns to 10 ms
    assert widths[1] - widths[0] == pytest.approx(decade * 1.1, abs=0.02)
    assert widths[2] - widths[1] == pytest.approx(decade * 2.513, abs=0.02)
    assert re.findall('class="scale"[^>]*>([^<]*)<', svg) == ["100 ns", "1 µs", "10 µs", "100 µs", "1 ms", "10 ms"]  # noqa: RUF001
    assert svg.index('rect class="floor"') < svg.index('rect class="ours"') < svg.index('rect class="other"')


def test_a_row_that_no_table_has_is_told(found: Any) -> None:
    with pytest.raises(ValueError, match=r"no table of table\.md has a row 'write'"):
        speed.figures("write")


def test_the_rows_that_documents_draw_exist() -> None:
    rows = [
        row for path in DOCS.rglob("*.md") for row in re.findall(r"^```\{speed\} (.*)$", path.read_text(), re.MULTILINE)
    ]
    assert rows
    for row in rows:
        assert {"ds_format", "netCDF4"} <= {figure.words for figure in speed.figures(row)}
