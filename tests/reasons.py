"""The reasons why a library reads a NetCDF or HDF5 file, as they are in the code."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import ds_format

PACKAGE = Path(ds_format.__file__).parent
FOLDERS = ("classic", "hdf5", "kernels/classic", "kernels/hdf5", "drivers/hdf5", "drivers/native.py", "drivers/netcdf")
GAP = "…"
"""In place of what differs between files."""


def reasons() -> dict[str, str]:
    """Return each reason, and a file that has it."""
    found: dict[str, str] = {}
    for folder in FOLDERS:
        start = PACKAGE / folder
        for path in [start] if start.is_file() else sorted(start.rglob("*")):
            if path.suffix in (".py", ".pyx", ".pxd"):
                texts = _of_python(path) if path.suffix == ".py" else _of_cython(path)
                found |= dict.fromkeys(texts, str(path.relative_to(PACKAGE)))
    return found


def _of_python(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if not isinstance(node, ast.Call) or getattr(node.func, "id", getattr(node.func, "attr", "")) != "Unusual":
            continue
        if not isinstance(node.args[0], ast.Attribute):  # the reason of a kernel
            yield _text(node.args[0])


def _text(node: ast.expr) -> str:
    if isinstance(node, ast.Constant):
        return str(node.value)
    assert isinstance(node, ast.JoinedStr), ast.dump(node)
    parts = [part.value if isinstance(part, ast.Constant) else GAP for part in node.values]
    return "".join(map(str, parts))


def _of_cython(path: Path) -> Iterator[str]:
    yield from re.findall(r'unusual\(k, b"([^"]+)"', path.read_text())
