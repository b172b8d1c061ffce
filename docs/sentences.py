"""Draw sentences from the documents, to judge their English: `python docs/sentences.py [SEED]`.

One sentence is printed from each of thirty pages. The same seed draws the same sentences, as long as the pages do not
change. Pages are the Markdown documents, the guides, and the docstrings of public functions and classes.
"""

from __future__ import annotations

import importlib
import inspect
import json
import random
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
N_SENTENCES = 30
MIN_WORDS = 6
FENCED = re.compile(r"^(`{3,}|:{3,}).*?^\1\s*$", re.MULTILINE | re.DOTALL)
NAME = re.compile(r"^\s+~(ds_format\.[\w.]+)$", re.MULTILINE)
SENTENCE = re.compile(r"[^.!?]+(?:[.!?](?!\s)[^.!?]*)*[.!?:](?=\s|$)")


def pages() -> Iterator[tuple[str, str]]:
    """Yield the name of each page and its prose."""
    for path in [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]:
        if not {"_build", "generated", "gallery", "jupyter_execute"} & {*path.parts}:
            yield path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8")
    for path in sorted((ROOT / "docs" / "guides").glob("*.ipynb")):
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        text = "\n\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")
        yield path.relative_to(ROOT).as_posix(), text
    names = dict.fromkeys(NAME.findall((ROOT / "docs" / "python" / "index.md").read_text(encoding="utf-8")))
    for name in names:
        module, _, attribute = name.rpartition(".")
        text = inspect.getdoc(getattr(importlib.import_module(module), attribute)) or ""
        yield name, text.partition("\nExamples\n")[0]


def sentences(text: str) -> list[str]:
    """Return the sentences of a page that are prose: no code, tables, headings or short lines."""
    found = []
    for block in re.split(r"\n\s*\n|\n(?=\s*(?:[-*] |\|))", FENCED.sub("\n\n", text)):
        lines = [line.strip() for line in block.splitlines()]
        if not lines or lines[0].startswith(("#", "|", "<", "---")) or any(set(line) == {"-"} for line in lines):
            continue
        prose = re.sub(r"^(?:[-*]|\d+\.) ", "", " ".join(lines).strip())
        found += [one.strip() for one in SENTENCE.findall(prose) if len(one.split()) >= MIN_WORDS]
    return found


def draw(seed: int, n: int = N_SENTENCES) -> list[tuple[str, str]]:
    """Return n pages, and a sentence from each."""
    dice = random.Random(seed)
    known = [(name, found) for name, text in pages() if (found := sentences(text))]
    return [(name, dice.choice(found)) for name, found in dice.sample(known, min(n, len(known)))]


if __name__ == "__main__":
    for page, sentence in draw(int(sys.argv[1]) if len(sys.argv) > 1 else 1):
        print(f"{page}: {sentence}")
