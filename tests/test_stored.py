"""The guides: what is stored in them is whole, and tells nothing of a machine; and the script that stores it."""

from __future__ import annotations

import base64
import datetime
import importlib.util
import json
import sys
from pathlib import Path
from typing import Any

import pytest

import ds_format

ROOT = Path(__file__).parents[1]
GUIDES = sorted((ROOT / "docs" / "guides").glob("*.ipynb"))
NAMES = [path.stem for path in GUIDES]
NEEDED = ("nbclient", "nbformat", "ipykernel", "PIL")
TODAY = datetime.date(2026, 3, 4)
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="  # by hand


def _load() -> Any:
    spec = importlib.util.spec_from_file_location("stored", ROOT / "docs" / "stored.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


stored = _load()


def notebook(*sources: str, **metadata: Any) -> dict[str, Any]:
    """Return a notebook whose cells are these; those that begin with `#` and a blank are text."""
    cells: list[dict[str, Any]] = []
    for i, source in enumerate(sources):
        cell: dict[str, Any] = {"id": f"c{i}", "metadata": {}, "source": source.splitlines(keepends=True)}
        if source.startswith("# "):
            cells.append(cell | {"cell_type": "markdown"})
        else:
            cells.append(cell | {"cell_type": "code", "outputs": [], "execution_count": None})
    return {"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}


def stream(text: str) -> dict[str, Any]:
    return {"output_type": "stream", "name": "stdout", "text": text}


def shown(**data: str) -> dict[str, Any]:
    kinds = {"text": "text/plain", "html": "text/html", "png": "image/png", "widget": "application/vnd.w+json"}
    return {"output_type": "display_data", "metadata": {}, "data": {kinds[kind]: data[kind] for kind in data}}


def cleaned(output: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = stored.clean(output, "/tmp/x/work", {}, iter(range(9)))
    return found


def test_there_is_a_guide_for_each_task() -> None:
    assert set(NAMES) == {
        "convert_an_archive",
        "json_documents",
        "netcdf_to_plot_on_a_cluster",
        "objects_with_arrays",
        "select_by_time_and_place",
        "station_reports",
        "table_of_stations",
        "training_samples",
    }


@pytest.mark.parametrize("path", GUIDES, ids=NAMES)
def test_a_guide_has_the_outputs_of_its_cells(path: Path) -> None:
    guide = stored.read(path)
    assert stored.state(guide, datetime.date.max)[1], "python docs/stored.py executes it"
    cells = stored.code_cells(guide)
    assert [cell["execution_count"] for cell in cells] == list(range(1, len(cells) + 1))
    assert len({cell["id"] for cell in guide["cells"]}) == len(guide["cells"])
    assert any("image/png" in output.get("data", {}) for cell in cells for output in cell["outputs"])
    for cell in cells:
        assert not [output for output in cell["outputs"] if output["output_type"] == "error"]
        stored.check(cell, path.name)


@pytest.mark.parametrize("path", GUIDES, ids=NAMES)
def test_a_guide_has_one_title_and_links_to_files(path: Path) -> None:
    texts = ["".join(cell["source"]) for cell in stored.read(path)["cells"] if cell["cell_type"] == "markdown"]
    assert texts[0].startswith("# ") and sum(text.count("\n# ") + text.startswith("# ") for text in texts) == 1
    for text in texts:
        for link in stored.re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", text):
            assert link.startswith("https://") or (path.parent / link).is_file(), link


def test_a_digest_is_of_code_alone() -> None:
    before = stored.digest(notebook("# Title", "x = 1", "x"))
    assert stored.digest(notebook("# Another", "x = 1", "x")) == before
    assert stored.digest(notebook("# Title", "x = 2", "x")) != before
    assert stored.digest(notebook("# Title", "x = 1\nx")) != before


def test_age_tells_what_changed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = {"executed": "2026-03-01", "version": "0.1", "python": "3.11.7", "sources": stored.digest(notebook("x"))}
    assert stored.state(notebook("x", ds_format=told), TODAY) == (
        "3 days old (2026-03-01, ds_format 0.1, Python 3.11.7)",
        True,
    )
    assert stored.state(notebook("x", ds_format=told), datetime.date(2026, 3, 2))[0].startswith("1 day old")
    assert stored.state(notebook("x", ds_format=told), datetime.date(2026, 3, 1))[0].startswith("of today")
    line, good = stored.state(notebook("y", ds_format=told), TODAY)
    assert line.endswith("; cells changed since") and not good
    assert stored.state(notebook("x"), TODAY) == ("never executed", False)

    stored.write(tmp_path / "old.ipynb", notebook("x", ds_format=told))
    stored.write(tmp_path / "new.ipynb", notebook("x"))
    assert stored.main(["--age", str(tmp_path / "old.ipynb")]) == 0
    assert stored.main(["--age", str(tmp_path / "old.ipynb"), str(tmp_path / "new.ipynb")]) == 1
    assert capsys.readouterr().out.endswith("new: never executed\n")


def test_what_differs_from_run_to_run_is_taken_out() -> None:
    assert cleaned(stream("<A at 0x7f12ab34cd56> in /tmp/x/work/a.ds, /tmp/x/work"))["text"] == ["<A> in a.ds, ."]
    assert cleaned(stream("\x1b[31mred\x1b[0m\r\n10%\r20%\rdone\n"))["text"] == ["red\n", "done\n"]
    html = '<i id="5fb1a5b2-4b32-4f2c-9d3b-0123456789ab"></i>'
    first, second = (
        '<i id="00000000-0000-4000-8000-000000000000"></i>',
        '<i id="00000000-0000-4000-8000-000000000001"></i>',
    )
    assert cleaned(shown(html=html + html.replace("5fb1", "6fb1") + html))["data"]["text/html"] == [
        first + second + first
    ]
    assert list(cleaned(shown(text="a", widget="b"))["data"]) == ["text/plain"]


@pytest.mark.skipif(importlib.util.find_spec("PIL") is None, reason="Pillow, which matplotlib brings, is not installed")
def test_a_picture_is_one_of_few_colours() -> None:
    data = base64.b64decode(cleaned(shown(png=PIXEL))["data"]["image/png"])
    assert data.startswith(b"\x89PNG") and data[25] == 3  # colours are of a palette


@pytest.mark.parametrize(
    "text",
    [
        *("tcp://127.0.0.1:4567", "in /home/ann/x", "'/tmp/abc/x.ds'", f"{sys.prefix}/lib"),
        *([str(ROOT / "docs")] if len(ROOT.parts) > 2 else []),  # the name of a folder in / may be any word
    ],
)
def test_what_tells_of_a_machine_is_refused(text: str) -> None:
    for output in (stream(f"see {text}"), shown(html=f"<b>{text}</b>")):
        with pytest.raises(stored.Trouble, match=r"a\.ipynb, cell 1 shows something of this machine"):
            stored.check({"outputs": [output]}, "a.ipynb, cell 1")
    stored.check({"outputs": [stream("archive/work/tmp/x.ds, and/or, 1/2, https://host/home/x")]}, "")


def test_large_pictures_and_stderr_are_refused() -> None:
    with pytest.raises(stored.Trouble, match="draws a picture of 75000 bytes"):
        stored.check({"outputs": [shown(png="A" * 100_000)]}, "")
    with pytest.raises(stored.Trouble, match="prints to stderr: oh"):
        stored.check({"outputs": [stream("oh") | {"name": "stderr"}]}, "")


needs_a_kernel = pytest.mark.skipif(
    not all(importlib.util.find_spec(name) for name in NEEDED), reason="executing needs nbclient, ipykernel and Pillow"
)


@needs_a_kernel
@pytest.mark.filterwarnings("ignore")  # of Jupyter's own libraries
def test_a_notebook_is_executed_in_a_folder_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "a.ipynb"
    sources = [
        "import os\nprint(os.listdir(), os.getcwd())\nopen('x', 'w').close()",
        "# Text",
        "%%sh\nds dims -z sample.nc",
        "object()",
    ]
    stored.write(path, notebook(*sources))
    assert stored.main([str(path)]) == 0
    done = json.loads(path.read_text())
    first, text, second, third = done["cells"]
    assert first["outputs"] == [{"name": "stdout", "output_type": "stream", "text": ["['sample.nc'] .\n"]}]
    assert text == {"cell_type": "markdown", "id": "c1", "metadata": {}, "source": ["# Text"]}
    assert second["outputs"][0]["text"] == ["lat: 5 lon: 8 time: 14 station: 3\n"]
    assert third["outputs"][0]["data"]["text/plain"] == ["<object>"]
    assert ["".join(cell["source"]) for cell in done["cells"]] == sources
    assert done["metadata"]["ds_format"]["version"] == ds_format.__version__
    assert stored.main(["--age", str(path)]) == 0
    again = path.read_text()
    assert stored.main([str(path)]) == 0 and path.read_text() == again


@needs_a_kernel
@pytest.mark.filterwarnings("ignore")  # of Jupyter's own libraries
@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("1 / 0", r"a\.ipynb, cell 2 \(1 / 0\): ZeroDivisionError: division by zero"),
        ("import warnings\nwarnings.warn('oh')", r"a\.ipynb, cell 2 \(import warnings\) prints to stderr: .*oh"),
        ("%%sh\nds ls nothing.ds", r"a\.ipynb, cell 2 \(%%sh\): CalledProcessError: "),
        ("!ds ls sample.nc", r"a\.ipynb, cell 2 \(!ds ls sample\.nc\): found !COMMAND, expected it in a cell"),
        ("import sys\nsys.prefix", r"a\.ipynb, cell 2 \(import sys\) shows something of this machine"),
    ],
)
def test_a_notebook_in_trouble_stays_as_it_was(
    source: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "a.ipynb"
    stored.write(path, notebook("x = 1", "# Text", source))
    before = path.read_bytes()
    assert stored.main([str(path)]) == 1
    assert stored.re.search(message, capsys.readouterr().err, stored.re.DOTALL)
    assert path.read_bytes() == before
