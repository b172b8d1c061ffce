"""The directive `layers`: a picture of each contract in `pyproject.toml`, drawn when the documents are built.

Each module of a layer is a box with its name and the first paragraph of its docstring. Nothing is imported for that.
"""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

ROOT = Path(__file__).parents[1]
SETTINGS = ROOT / "pyproject.toml"


def contracts() -> list[dict[str, Any]]:
    """Return the contracts, in the order of the file."""
    found: list[dict[str, Any]] = tomllib.loads(SETTINGS.read_text())["tool"]["importlinter"]["contracts"]
    return found


def layers(contract: dict[str, Any]) -> list[list[str]]:
    """Return the full names of the modules of each layer, from the top."""
    (container,) = contract["containers"]
    return [[f"{container}.{name.strip(' ()')}" for name in re.split("[|:]", line)] for line in contract["layers"]]


def path_of(module: str) -> Path:
    """Return where a module is written down."""
    path = ROOT.joinpath(*module.split("."))
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def summary_of(path: Path) -> str:
    """Return the first paragraph of a module's docstring."""
    paragraph, _, _ = (ast.get_docstring(ast.parse(path.read_text())) or "").partition("\n\n")
    return " ".join(paragraph.split())


def inline(text: str) -> Iterator[nodes.Node]:
    """Yield text whose words in backticks are code."""
    for i, part in enumerate(re.split("`+", text)):
        if part:
            yield nodes.literal(part, part) if i % 2 else nodes.Text(part)


class Layers(SphinxDirective):
    """Draws all contracts that are layers, and lists what the others say."""

    def run(self) -> list[nodes.Node]:
        """Return the pictures, and the list."""
        self.env.note_dependency(str(SETTINGS))
        found = contracts()
        pictures = [node for contract in found if contract["type"] == "layers" for node in self.picture(contract)]
        others = nodes.bullet_list()
        for contract in found:
            if contract["type"] != "layers":
                others += nodes.list_item("", nodes.paragraph("", "", *inline(contract["name"])))
        return [*pictures, nodes.rubric("", "Besides"), others]

    def picture(self, contract: dict[str, Any]) -> list[nodes.Node]:
        """Return a heading, and a box for each layer with a box for each of its modules."""
        picture = nodes.container(classes=["layers"])
        for modules in layers(contract):
            layer = nodes.container(classes=["layer"])
            for module in modules:
                path = path_of(module)
                self.env.note_dependency(str(path))
                name = nodes.literal("", module.rpartition(".")[2])
                text = nodes.paragraph("", "", name, nodes.Text(" "), *inline(summary_of(path)))
                layer += nodes.container("", text, classes=["module"])
            picture += layer
        return [nodes.rubric("", contract["name"]), picture]


def setup(app: Sphinx) -> dict[str, bool]:
    """Tell Sphinx."""
    app.add_directive("layers", Layers)
    app.add_css_file("layers.css")
    return {"parallel_read_safe": True}
