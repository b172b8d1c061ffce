"""Names in docstrings and signatures: links where there is a page, and public names of types.

In single backticks `ds.read`, `ds_format.read` and names of classes, such as `FormatError`, are looked up. All others
are code without a link: `size` is most often a parameter, and not the function of this name.
"""

from __future__ import annotations

import posixpath
import re
from typing import Any

from docutils import nodes
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxRole

LINKED = re.compile(r"(?:ds|ds_format)\.\w+(?:\.\w+)*|xarray\.\w+|[A-Z][a-zA-Z]*[a-z][a-zA-Z]*")

PUBLIC = {
    re.compile(r"str \| bytes \| ~?os\.PathLike\[str\] \| ~?os\.PathLike\[bytes\]"): "Path",
    re.compile(r"(?<![\w.])(Any)(?!\w)"): r"typing.\1",
    re.compile(r"(?<![\w.])(Callable|Iterable|Iterator|Mapping|Sequence)(?=\[)"): r"collections.abc.\1",
    re.compile(r"xarray\.core\.\w+\.(?=\w)"): "xarray.",
    re.compile(r"concurrent\.futures\._base\."): "concurrent.futures.",
}
"""Text of signatures → the names that users write."""
NOT_CALLED = {"ds_format.File", "ds_format.Variable"}
"""Classes that other functions make objects of."""


class Name(SphinxRole):
    """The default role."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        """Return the text as code, perhaps to be linked."""
        code = nodes.literal(self.rawtext, self.text, classes=["py"])
        if not LINKED.fullmatch(self.text):
            return [code], []
        target = re.sub(r"^ds\.", "ds_format.", self.text)
        link = pending_xref(
            self.rawtext, code, refdomain="py", reftype="obj", reftarget=target, refexplicit=True, optional=True
        )
        link["py:module"] = self.env.ref_context.get("py:module", "ds_format")
        return [link], []


def readable(
    _app: Sphinx, _what: str, name: str, _object: Any, _options: Any, signature: str | None, returned: str | None
) -> tuple[str | None, str | None]:
    """Return the parameters and the result of a signature with names that are public."""
    return "" if name in NOT_CALLED else signature and public(signature), returned and public(returned)


def public(text: str) -> str:
    """Return types by their public names."""
    for pattern, name in PUBLIC.items():
        text = pattern.sub(name, text)
    return text


def renamed(_app: Sphinx, _env: Any, node: pending_xref, _text: nodes.Node) -> None:
    """Look for a type of an overloaded signature, which autodoc does not pass to `readable`, by its public name."""
    node["reftarget"] = public(node["reftarget"])


BACK = re.compile(
    r'(<div class="viewcode-block" id="(?P<name>[^"]+)">\s*<a class="viewcode-back" href="(?P<page>[^"#]+)\.html)#[^"]*'
)
"""A block of source code: the name in its module, and the link to the page that documents it."""


def linked_back(app: Sphinx, page: str, _template: str, context: dict[str, Any], _doctree: Any) -> None:
    """Let pages of source code link to documented names. Sphinx takes one module for all names of a page."""
    if not page.startswith("_modules/") or "body" not in context:
        return
    objects = app.env.domains["py"].data["objects"]

    def corrected(block: re.Match[str]) -> str:
        document = posixpath.normpath(posixpath.join(posixpath.dirname(page), block["page"]))
        anchors = [
            entry.node_id
            for name, entry in objects.items()
            if entry.docname == document and f".{name}".endswith(f".{block['name']}")
        ]
        return f"{block[1]}#{anchors[0]}" if anchors else block[1]

    context["body"] = BACK.sub(corrected, context["body"])


def unlinked(_app: Sphinx, _env: Any, node: pending_xref, text: nodes.Node) -> nodes.Node | None:
    """Return the text of an optional link that has no page, without a warning. Explicit links are still checked."""
    return text if node.get("optional") else None


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the role with Sphinx."""
    app.setup_extension("sphinx.ext.autodoc")
    app.add_role("name", Name())
    app.connect("autodoc-process-signature", readable)
    app.connect("missing-reference", renamed, priority=100)
    app.connect("html-page-context", linked_back)
    app.connect("missing-reference", unlinked, priority=900)  # after intersphinx
    return {"parallel_read_safe": True}
