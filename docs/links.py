"""Check the links of the built documents: `python docs/links.py FOLDER`. The module is also used as a library.

`href`, `src`, `srcset` and `data` of all elements are checked. A link inside of the folder must lead to a file, and one
with an anchor to an element with that id. External links are not checked.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    """The links of a page, and its anchors."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[tuple[int, str]] = []
        """Line number and link."""
        self.ids: set[str] = set()
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Take what an element says."""
        line, _ = self.getpos()
        for name, value in attrs:
            if name == "id" or (name == "name" and tag == "a"):
                self.ids.add(value or "")
            elif name in ("href", "src") or (name == "data" and tag == "object"):
                self.links.append((line, value or ""))
            elif name == "srcset":
                self.links += [(line, part.split()[0]) for part in (value or "").split(",") if part.strip()]


def problems(folder: Path) -> Iterator[str]:
    """Yield what is wrong: page, line, link, and why, of all pages below a folder."""
    folder = folder.resolve()
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in sorted(folder.rglob("*.html"))}
    if not pages:
        yield f"{folder}: found no page"
    for path, page in pages.items():
        for line, link in page.links:
            why = fault(path, link, folder, pages)
            if why:
                yield f"{path.relative_to(folder)}, line {line}: {link!r}: {why}"


def fault(path: Path, link: str, folder: Path, pages: dict[Path, Page]) -> str | None:
    """Return why a link of a page leads nowhere, or None."""
    parts = urlsplit(link)
    if parts.scheme or parts.netloc:
        return None
    if parts.path.startswith("/"):
        return "begins at the root of the host, where the site need not be"
    target = Path(os.path.normpath(path.parent / unquote(parts.path))) if parts.path else path
    if target.is_dir():
        target /= "index.html"
    if not target.is_relative_to(folder):
        return "leads out of the site"
    if not target.is_file():
        return "no such file"
    anchor = unquote(parts.fragment)
    if anchor and target in pages and anchor not in pages[target].ids:
        return f"no element of {target.relative_to(folder)} has this id"
    return None


def main(folder: str) -> int:
    """Print all problems, and return the exit status."""
    found = list(problems(Path(folder)))
    print(*found, sep="\n", end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
