"""Links to the documentation of Python, NumPy and xarray. Building the documents needs no network.

`docs/inventories/PROJECT.txt` has one object per line: name, type, and address below the project's site. Intersphinx
reads these lines as an inventory. `python docs/inventories.py` refreshes the addresses from the sites. It needs a
network, and fails if a site no longer has one of the names. To add a name, add a line with any address, and refresh.
"""

from __future__ import annotations

import sys
import urllib.request
import zlib
from collections.abc import Mapping
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.config import Config

FOLDER = Path(__file__).parent / "inventories"
SITES = {
    "python": "https://docs.python.org/3/",
    "numpy": "https://numpy.org/doc/stable/",
    "xarray": "https://docs.xarray.dev/en/stable/",
}
HEADER = (
    "# Sphinx inventory version 2\n# Project: {}\n# Version: \n# The remainder of this file is compressed using zlib.\n"
)


def objects(project: str) -> dict[str, tuple[str, str]]:
    """Return the listed objects of a project: name → type and address."""
    lines = (FOLDER / f"{project}.txt").read_text(encoding="utf-8").splitlines()
    return {name: (kind, address) for name, kind, address in map(str.split, lines)}


def packed(project: str, listed: Mapping[str, tuple[str, str]]) -> bytes:
    """Return objects as a file of intersphinx (version 2)."""
    lines = "".join(f"{name} {kind} 1 {address} -\n" for name, (kind, address) in listed.items())
    return HEADER.format(project).encode() + zlib.compress(lines.encode())


def unpacked(inventory: bytes) -> dict[str, tuple[str, str]]:
    """Return the objects of Python in a file of intersphinx (version 2)."""
    body = zlib.decompress(inventory.split(b"\n", 4)[4]).decode()
    found = {}
    for line in body.splitlines():
        name, kind, _, address, _ = line.split(maxsplit=4)
        if kind.startswith("py:"):
            found[name] = (kind, address.removesuffix("$") + name * address.endswith("$"))
    return found


def refresh(project: str) -> None:
    """Look up the listed names of a project at its site, and write their types and addresses down.

    Raises
    ------
    SystemExit
        If the site does not have one of the names. The list is then left as it is.
    """
    with urllib.request.urlopen(f"{SITES[project]}objects.inv") as answer:
        found = unpacked(answer.read())
    listed = objects(project)
    if absent := sorted(listed.keys() - found.keys()):
        raise SystemExit(f"{SITES[project]} has no {', '.join(absent)}")
    lines = "".join(f"{name} {' '.join(found[name])}\n" for name in listed)
    (FOLDER / f"{project}.txt").write_text(lines, encoding="utf-8")


def configure(app: Sphinx, config: Config) -> None:
    """Give intersphinx the inventories, before it checks its settings."""
    folder = Path(app.doctreedir) / "inventories"
    folder.mkdir(parents=True, exist_ok=True)
    for project, site in SITES.items():
        (folder / f"{project}.inv").write_bytes(packed(project, objects(project)))
        config.intersphinx_mapping[project] = (site, str(folder / f"{project}.inv"))


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the inventories with Sphinx."""
    app.setup_extension("sphinx.ext.intersphinx")
    app.connect("config-inited", configure, priority=100)
    return {"parallel_read_safe": True}


if __name__ == "__main__":
    for name in sys.argv[1:] or SITES:
        refresh(name)
