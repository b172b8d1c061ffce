"""The directive `ds-help`: what `ds --help COMMAND` prints, made when the documents are built."""

from __future__ import annotations

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from ds_format.cli import help as explain


class CommandHelp(SphinxDirective):
    """Shows the command line that prints the help on a command, or on the program, and what it prints."""

    optional_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return the two blocks."""
        name = self.arguments[0] if self.arguments else ""
        return [block("sh", f"ds --help {name}".rstrip()), block("text", explain.text(name).rstrip("\n"))]


def block(language: str, text: str) -> nodes.Node:
    """Return a block of code."""
    return nodes.literal_block(text, text, language=language)


def setup(app: Sphinx) -> dict[str, bool]:
    """Tell Sphinx."""
    app.add_directive("ds-help", CommandHelp)
    return {"parallel_read_safe": True}
