"""Execute the guides, and store their output in them.

`python docs/stored.py` executes all notebooks of `docs/guides`, `python docs/stored.py zarr.ipynb ...` some of them.
`python docs/stored.py --age` executes nothing. It prints the age of the stored output and the notebooks whose cells
have changed since; the exit status is then 1.

Pages show the stored output. Details that differ from run to run are removed from it: times of execution, addresses in
memory, random identifiers, the temporary folder. A notebook that fails, prints to stderr, or shows details of the
machine is not stored, and neither are the notebooks after it.

Each notebook has a kernel and an empty folder of its own, with `sample.nc` in it and `ds` on the path. Put commands in
cells that begin with `%%sh`, and `2>&1 || ...` after commands that are meant to fail. `!COMMAND` is refused: notebooks
interpret braces in it as Python, and continue when the command has failed.
"""

from __future__ import annotations

import argparse
import base64
import datetime
import getpass
import hashlib
import importlib
import io
import itertools
import json
import os
import platform
import re
import shutil
import socket
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import ds_format

ROOT = Path(__file__).parents[1]
GUIDES = ROOT / "docs" / "guides"
SAMPLE = ROOT / "examples" / "sample.nc"
PACKAGE = Path(ds_format.__file__).parents[1]

KEY = "ds_format"
"""Key in the metadata of a notebook, for the origin of its output."""
TIMEOUT = 120
"""Seconds that a cell may take."""

ADDRESS = re.compile(r" at 0x[0-9a-f]{6,}")
IDENTIFIER = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
PRIVATE = re.compile(r"tcp://|(?<![\w./-])/(?:home|root|tmp|var|usr|opt|mnt|srv|work|Users|private)/")
"""Details that no output may show, on any machine."""
COMMON = {"localhost", "root", "user"}
"""Names of hosts and users that tell nothing."""
PNG_SIZE = 60_000
"""Bytes that a picture may have."""


class Trouble(Exception):
    """A notebook that is not as it should be; the message names it and the cell."""


def main(arguments: list[str] | None = None) -> int:
    """Do what the command line says, and return the exit status."""
    parser = argparse.ArgumentParser(description="Execute the guides, and store what they print and draw.")
    parser.add_argument("notebooks", nargs="*", type=Path, help="by default all of docs/guides")
    parser.add_argument("--age", action="store_true", help="tell how old outputs are; 1 if cells changed since")
    options = parser.parse_args(arguments)
    paths = options.notebooks or sorted(GUIDES.glob("*.ipynb"))
    if options.age:
        states = [state(read(path), datetime.date.today()) for path in paths]
        for path, (line, _) in zip(paths, states, strict=True):
            print(f"{path.stem}: {line}")
        return int(not all(good for _, good in states))
    for path in paths:
        start = time.monotonic()
        try:
            store(path)
        except Trouble as error:
            print(error, file=sys.stderr)
            return 1
        print(f"{path.stem}: {time.monotonic() - start:.0f} s, {path.stat().st_size / 1000:.0f} kB", flush=True)
    return 0


def read(path: Path) -> dict[str, Any]:
    """Return a notebook."""
    notebook: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return notebook


def write(path: Path, notebook: dict[str, Any]) -> None:
    """Write a notebook as Jupyter does."""
    text = json.dumps(notebook, indent=1, sort_keys=True, ensure_ascii=False)
    path.write_text(text + "\n", encoding="utf-8")


def joined(text: str | list[str]) -> str:
    """Return a text that notebooks may keep as a list of its lines."""
    return text if isinstance(text, str) else "".join(text)


def code_cells(notebook: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the cells of code."""
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


def digest(notebook: dict[str, Any]) -> str:
    """Return a digest of the sources of all code cells. Text between them does not change the output."""
    sources = [joined(cell["source"]) for cell in code_cells(notebook)]
    return hashlib.sha256(json.dumps(sources).encode()).hexdigest()[:16]


def state(notebook: dict[str, Any], today: datetime.date) -> tuple[str, bool]:
    """Return a description of the stored output, and whether it belongs to the present cells."""
    stored = notebook["metadata"].get(KEY)
    if stored is None:
        return "never executed", False
    days = (today - datetime.date.fromisoformat(stored["executed"])).days
    age = "of today" if days == 0 else "1 day old" if days == 1 else f"{days} days old"
    changed = stored["sources"] != digest(notebook)
    versions = f"ds_format {stored['version']}, Python {stored['python']}"
    return f"{age} ({stored['executed']}, {versions})" + ("; cells changed since" if changed else ""), not changed


def store(path: Path) -> None:
    """Execute a notebook, and write it with what it gave.

    Raises
    ------
    Trouble
        Then the notebook is as it was.
    """
    notebook = read(path)
    for i, cell in enumerate(notebook["cells"]):
        cell.setdefault("id", f"cell-{i}")
        if cell["cell_type"] == "code" and re.search(r"^\s*!", joined(cell["source"]), re.MULTILINE):
            raise Trouble(
                f"{path.name}, {told(notebook, i)}: found !COMMAND, expected it in a cell that begins with %%sh"
            )
    sources = [cell["source"] for cell in notebook["cells"]]
    with tempfile.TemporaryDirectory() as folder:
        notebook = execute(notebook, Path(folder).resolve(), path.name)
        names = itertools.count()
        known: dict[str, str] = {}
        for i, cell in enumerate(notebook["cells"]):
            cell["source"] = sources[i]
            if cell["cell_type"] == "code":
                cell["metadata"].pop("execution", None)
                cell["outputs"] = [
                    clean(output, str(Path(folder).resolve() / "work"), known, names) for output in cell["outputs"]
                ]
                check(cell, f"{path.name}, {told(notebook, i)}")
    notebook["metadata"] = {
        KEY: {
            "executed": datetime.date.today().isoformat(),
            "version": ds_format.__version__,
            "python": platform.python_version(),
            "sources": digest(notebook),
        },
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"file_extension": ".py", "mimetype": "text/x-python", "name": "python"},
    }
    write(path, notebook)


def told(notebook: dict[str, Any], i: int) -> str:
    """Return by what a cell of code is found: its number among those, and its first line."""
    number = len(code_cells({"cells": notebook["cells"][: i + 1]}))
    lines = joined(notebook["cells"][i]["source"]).splitlines() or [""]
    return f"cell {number} ({lines[0]})"


def execute(notebook: dict[str, Any], folder: Path, name: str) -> dict[str, Any]:
    """Return a notebook with what its cells gave, in a folder for all that this needs."""
    try:
        nbformat, nbclient = map(importlib.import_module, ("nbformat", "nbclient"))
    except ImportError as error:
        raise Trouble(f"{name}: {error.name} is not installed: pip install --group docs") from error
    work = folder / "work"
    work.mkdir()
    shutil.copy(SAMPLE, work)
    with mock.patch.dict(os.environ, environment(folder)):
        for variable in ("DS_MODE", "MPLBACKEND", "PYTHONWARNINGS"):
            os.environ.pop(variable, None)
        client = nbclient.NotebookClient(
            nbformat.reads(json.dumps(notebook), as_version=4),
            kernel_name="python3",
            timeout=TIMEOUT,
            record_timing=False,
            coalesce_streams=True,
            resources={"metadata": {"path": str(work)}},
        )
        try:
            executed: dict[str, Any] = json.loads(nbformat.writes(client.execute()))
        except (nbclient.exceptions.CellExecutionError, nbclient.exceptions.CellTimeoutError) as error:
            begun = [i for i, cell in enumerate(client.nb.cells) if cell.get("execution_count")]
            what = f"{error.ename}: {error.evalue}" if hasattr(error, "ename") else str(error)
            raise Trouble(f"{name}, {told(notebook, begun[-1])}: {plain(what)}") from None
        except nbclient.exceptions.DeadKernelError as error:
            raise Trouble(f"{name}: {error}") from None
    return executed


def environment(folder: Path) -> dict[str, str]:
    """Return what the environment of a kernel is, made in a folder: nothing of it is that of who calls."""
    command = folder / "bin" / "ds"
    kernel = folder / "jupyter" / "kernels" / "python3" / "kernel.json"
    for path in (command, kernel):
        path.parent.mkdir(parents=True)
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m ds_format "$@"\n')
    command.chmod(0o755)
    argv = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}", "--log-level=ERROR"]
    kernel.write_text(json.dumps({"argv": argv, "display_name": "Python 3", "language": "python"}))
    return {
        "PATH": os.pathsep.join([str(command.parent), os.environ.get("PATH", os.defpath)]),
        "PYTHONPATH": str(PACKAGE),
        "PYTHONIOENCODING": "utf-8",
        "JUPYTER_PATH": str(folder / "jupyter"),
        "IPYTHONDIR": str(folder / "ipython"),
        "MATPLOTLIBRC": str(GUIDES / "matplotlibrc"),
        "COLUMNS": "88",
        "LINES": "24",
        "TZ": "UTC",
    }


def clean(output: dict[str, Any], work: str, known: dict[str, str], names: Iterator[int]) -> dict[str, Any]:
    """Return an output without what differs from run to run.

    Parameters
    ----------
    output : dict
        As a notebook has it.
    work : str
        The folder in which the notebook was executed: paths begin in it.
    known : dict
        Random identifiers of the notebook so far → their replacements.
    names : iterator of int
        Numbers for new ones.
    """

    def identifier(match: re.Match[str]) -> str:
        if match[0] not in known:
            known[match[0]] = f"00000000-0000-4000-8000-{next(names):012x}"
        return known[match[0]]

    def cleaned(text: str | list[str]) -> str:
        text = plain(joined(text)).replace(f"{work}/", "").replace(work, ".")
        return IDENTIFIER.sub(identifier, ADDRESS.sub("", text))

    if output["output_type"] == "stream":
        return {**output, "text": cleaned(output["text"]).splitlines(keepends=True)}
    kept = {}
    for kind, data in output["data"].items():
        if kind == "image/png":
            kept[kind] = shrunk(joined(data))
        elif kind.startswith("text/") or kind == "image/svg+xml":
            kept[kind] = cleaned(data).splitlines(keepends=True)
    metadata = {kind: value for kind, value in output["metadata"].items() if kind in kept}
    return {**output, "data": kept, "metadata": metadata}


def shrunk(png: str) -> str:
    """Return a picture in base64 with 256 colours: it looks the same, and takes a third of the bytes."""
    image = importlib.import_module("PIL.Image")  # matplotlib, which drew it, needs it as well
    with image.open(io.BytesIO(base64.b64decode(png))) as picture, io.BytesIO() as stream:
        picture.convert("RGB").quantize(256, image.Quantize.MAXCOVERAGE, kmeans=2, dither=0).save(
            stream, "PNG", optimize=True
        )
        return base64.b64encode(stream.getvalue()).decode()


def plain(text: str) -> str:
    """Return a text without colours, and lines as a terminal shows them in the end."""
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text).replace("\r\n", "\n")
    return re.sub(r"[^\n]*\r", "", text)


def check(cell: dict[str, Any], where: str) -> None:
    """Raise `Trouble` if a cell has outputs that must not be stored."""
    for output in cell["outputs"]:
        if output.get("name") == "stderr":
            raise Trouble(f"{where} prints to stderr: {joined(output['text'])}")
        for text in texts(output):
            for word in private():
                if word in text:
                    raise Trouble(f"{where} shows something of this machine: {around(text, text.index(word))}")
            if found := PRIVATE.search(text):
                raise Trouble(f"{where} shows something of this machine: {around(text, found.start())}")
        size = len(joined(output.get("data", {}).get("image/png", ""))) * 3 // 4
        if size > PNG_SIZE:
            raise Trouble(f"{where} draws a picture of {size} bytes, expected at most {PNG_SIZE}")


def texts(output: dict[str, Any]) -> Iterator[str]:
    """Yield what of an output can be read."""
    if output["output_type"] == "stream":
        yield joined(output["text"])
    for kind, data in output.get("data", {}).items():
        if not kind.startswith("image/") or kind == "image/svg+xml":
            yield joined(data)


def private() -> set[str]:
    """Return the words by which this machine and its user are known: where files are, and names."""
    places = [str(path) for path in (ROOT, PACKAGE, sys.prefix, os.path.realpath(sys.prefix), Path.home())]
    names = [name for name in (socket.gethostname(), getpass.getuser()) if name not in COMMON and len(name) > 3]
    return {place for place in places if place.count("/") > 1} | set(names)


def around(text: str, place: int) -> str:
    """Return what stands around a place in a text, for a message."""
    return repr(text[max(0, place - 40) : place + 60])


if __name__ == "__main__":
    sys.exit(main())
