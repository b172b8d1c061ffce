"""The checker of links in the built documents finds what leads nowhere, and nothing else."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest

PATH = Path(__file__).parents[1] / "docs" / "links.py"


def load() -> Any:
    spec = importlib.util.spec_from_file_location("links", PATH)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


links = load()


@pytest.fixture
def site(tmp_path: Path) -> Path:
    pages = {
        "index.html": '<h1 id="top">A</h1><a name="old"></a><a href="#top"></a><a href="#old"></a>'
        '<a href="part/page.html#h%C3%A9"></a><a href="part/"></a><img src="a%20b.png" srcset="a%20b.png 1x, c.png 2x">'
        '<a href="https://example.org/nothing"></a><a href="mailto:a@b.c"></a><a href="search.html?q=x"></a>',
        "search.html": "",
        "part/index.html": '<a href="../index.html#top"></a>',
        "part/page.html": '<p id="hé">text</p><script src="../s.js"></script><a href=""></a>',
    }
    (tmp_path / "part").mkdir()
    for name, text in pages.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    for name in ("a b.png", "c.png", "s.js"):
        (tmp_path / name).touch()
    return tmp_path


def test_links_that_lead_somewhere(site: Path) -> None:
    assert list(links.problems(site)) == []
    assert links.main(str(site)) == 0


@pytest.mark.parametrize(
    ("element", "why"),
    [
        ('<a href="nothing.html">', "no such file"),
        ('<img src="nothing.png">', "no such file"),
        ('<img srcset="c.png 1x, d.png 2x">', "no such file"),
        ('<object data="d.svg">', "no such file"),
        ('<a href="#nothing">', "no element of search.html has this id"),
        ('<a href="part/page.html#top">', "no element of part/page.html has this id"),
        ('<a href="../other.html">', "leads out of the site"),
        ('<a href="/index.html">', "begins at the root of the host, where the site need not be"),
    ],
)
def test_links_that_lead_nowhere(site: Path, element: str, why: str) -> None:
    (site / "search.html").write_text(f"<p>\n{element}", encoding="utf-8")
    (found,) = links.problems(site)
    assert found.startswith("search.html, line 2: ")
    assert found.endswith(why)
    assert links.main(str(site)) == 1


def test_a_folder_without_pages_is_not_well(tmp_path: Path) -> None:
    assert links.main(str(tmp_path)) == 1
