"""What the tables of docs/coming_from say to write here does run: commands, and lines of Python.

Of Python libraries that are installed the other side runs, too. In a table code is told from names by its parentheses.
"""

from __future__ import annotations

import datetime
import importlib
import importlib.util
import re
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ds_format as ds
from ds_format import timeaxis
from ds_format.cli.commands import COMMANDS

ROOT = Path(__file__).parents[1]
PAGES = sorted(path for path in (ROOT / "docs" / "coming_from").glob("*.md") if path.stem != "index")
BOTH_SIDES = {"netcdf4": "netCDF4", "xarray": "xr"}
"""Pages whose left column is Python → the name of the library there."""
IN_XARRAY = ("xarray", "zarr")
"""Pages whose right column is xarray, too."""
NOT_THEIRS = ("to_zarr", "open_mfdataset", "open_datatree")
"""What needs more than the library, or leaves files open: see `closed`."""


def rows(path: Path) -> list[tuple[str, str]]:
    """Return left and right cells of all tables, heads and lines below them left out."""
    found = re.findall(r"^\| (.*?[^\\]) \| (.*) \|$", path.read_text(), re.MULTILINE)
    return [(left, right) for left, right in found if "`" in left + right]


def code(cell: str) -> list[str]:
    """Return the code of a cell."""
    spans = [span.replace("\\|", "|") for span in re.findall(r"`([^`]+)`", cell)]
    return [span for span in spans if span.startswith("ds ") or re.search(r"[(\[]|^\w+ = ", span)]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::ds_format.LossWarning")  # classic files, made for the tables
@pytest.mark.filterwarnings("ignore:left out:ds_format.DsWarning")  # grids in a file of which a frame is made
@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("path", PAGES, ids=[path.stem for path in PAGES])
def test_what_stands_in_the_tables_runs(path: Path) -> None:
    if path.stem in IN_XARRAY:
        pytest.importorskip("xarray")
        pytest.importorskip("dask")
    if path.stem == "pandas":
        for library in ("pandas", "pyarrow", "duckdb"):
            pytest.importorskip(library)
    names: dict[str, Any] = {"ds": ds, "np": np, "timeaxis": timeaxis, "datetime": datetime}
    for name, module in (("xr", "xarray"), ("netCDF4", "netCDF4")):
        if importlib.util.find_spec(module) is not None:
            names[name] = importlib.import_module(module)
    prepare(path.stem)
    n = n_compared = 0
    for left, right in rows(path):
        if BOTH_SIDES.get(path.stem) in names:
            for source in code(left):
                if not any(word in source for word in NOT_THEIRS) and "..." not in source:
                    exec(closed(source), names)
        before = dict(names)
        for source in code(right):
            n += run(source, names)
        if path.stem == "xarray" and "xr" in names:
            n_compared += compared(code(left), code(right), before, names)
    assert n > 5
    assert path.stem != "xarray" or n_compared > 15
    for name in ("f", "many"):
        if hasattr(names.get(name), "close"):
            names[name].close()


def run(source: str, names: dict[str, Any]) -> bool:
    """Run one piece of code, and return whether what it needs is there."""
    if source.startswith("ds "):
        if source.split()[1] not in COMMANDS:
            return False
        done = subprocess.run(["sh", "-c", source], check=False, capture_output=True, text=True)
        assert done.returncode == 0, f"{source}: {done.stderr}"
        return True
    if re.search(r"\bxr\.open_zarr|\bx\.to_zarr", source) or ("xr." in source and "xr" not in names):
        return False
    if "open_many" in source and importlib.util.find_spec("dask") is None:
        return False
    exec(closed(source), names)
    return True


def closed(source: str) -> str:
    """Return code that leaves no NetCDF file open: xarray alone may crash when it opens one again that it lost."""
    return source.replace('xr.open_dataset("sample.nc"', 'xr.load_dataset("sample.nc"')


def compared(left: list[str], right: list[str], before: dict[str, Any], names: dict[str, Any]) -> int:
    """Compare what both columns of a row give, and return how many values were compared; `before` the right one ran."""
    n = 0
    for one, other in zip(left, right, strict=False):
        assigned = [re.match(r"(\w+) = (?!ds\.open|xr\.open_datatree)", source) for source in (one, other)]
        if all(assigned):
            theirs, ours = (given[match[1]] for match, given in zip(assigned, (before, names), strict=True) if match)
            if isinstance(ours, dict) and hasattr(theirs, "variables"):
                shared = [name for name in theirs.variables if name in ours]
                assert shared and {*ours} - {"."} <= {*theirs.variables}
                for name in shared:
                    same(theirs[name].values, ours[name])
                n += len(shared)
        elif not any(assigned) and "=" not in one and ".to_" not in one:
            same(eval(one, before), eval(other, names))
            n += 1
    return n


def same(theirs: Any, ours: Any) -> None:
    """Check that two values are the same where none is missing; times of xarray may be text here."""
    if isinstance(theirs, (str, dict)):
        assert ours == theirs
        return
    values, mask = np.ma.getdata(ours), np.ma.getmaskarray(ours)
    theirs = np.asarray(theirs)
    if theirs.dtype == "S1":
        return  # characters that are not decoded
    assert theirs.shape == values.shape
    if theirs.dtype.kind == "M" and values.dtype.kind in "fiu":
        return  # numbers of days in one, dates in the other
    if theirs.dtype.kind == "M":
        values = values.astype(theirs.dtype)
    if theirs.dtype.kind == "f":
        np.testing.assert_allclose(theirs[~mask], values[~mask], rtol=1e-6)
    else:
        assert theirs[~mask].tolist() == values[~mask].tolist()


def prepare(page: str) -> None:
    """Make the files that tables speak of."""
    if page == "netcdf4":
        for name in ("classic1.nc", "classic2.nc"):
            ds.convert("sample.nc", name, variables=["time", "lat", "pressure"], format="NETCDF3_CLASSIC")
    elif page == "zarr":
        meta = {"t": {".dims": ["time", "x"], "units": "K"}}
        ds.write("x.ds", {"t": np.arange(300.0).reshape(30, 10), ".": meta})
        if importlib.util.find_spec("xarray") is not None:
            ds.to_xarray(ds.read("x.ds"))
    elif page == "nco":
        Path("parts").mkdir()


def test_each_page_is_in_the_index_and_other_way_round() -> None:
    index = (ROOT / "docs" / "coming_from" / "index.md").read_text()
    assert set(re.findall(r"\]\((\w+)\.md\)", index)) == {path.stem for path in PAGES}
