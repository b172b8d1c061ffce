"""Turns xarray's own tests of NetCDF files into tests of ds files: writing makes ds files, and reading opens these."""

from __future__ import annotations

import os
from typing import Any

import xarray

import ds_format
from ds_format import drivers

OPENING = (
    "open_dataset",
    "load_dataset",
    "open_dataarray",
    "load_dataarray",
    "open_datatree",
    "load_datatree",
    "open_groups",
    "open_mfdataset",
)
ORIGINAL = {name: getattr(xarray, name) for name in OPENING}
WRITING = (xarray.Dataset, xarray.DataArray, xarray.DataTree)
NO_OPTIONS = ("engine", "format", "invalid_netcdf", "auto_complex")
"""Arguments of `to_netcdf` that are about NetCDF files alone."""


def to_ds(x: Any, path: Any = None, mode: str = "w", format: Any = None, **options: Any) -> Any:
    """Write an object to a ds file under any name, with the parameters of `to_netcdf`."""
    if path is None or not isinstance(path, (str, os.PathLike)):
        raise NotImplementedError("a ds file is written to a path")
    group = options.pop("group", None)
    kept = {name: value for name, value in options.items() if name not in NO_OPTIONS}
    if group is not None:
        x = xarray.DataTree.from_dict({group: x if isinstance(x, xarray.Dataset) else x.to_dataset()})
        kept["encoding"] = {"/" + group.strip("/"): kept.get("encoding") or {}}
    return ds_format.write(os.path.expanduser(path), x, mode=mode, **kept)


def is_ds(path: str) -> bool:
    with open(path, "rb") as file:
        return file.read(3) == b"ds-"


def use_ds_files(monkeypatch: Any, folder: Any, *modules: Any) -> None:
    """Let tests write and open ds files, until the test ends.

    Parameters
    ----------
    monkeypatch : pytest.MonkeyPatch
    folder : Path
        Where files of other formats are converted to when a test opens them.
    *modules : module
        Modules of xarray's tests.
    """
    monkeypatch.chdir(folder)  # some tests write into the working directory
    found = drivers.find

    def find(path: Any) -> Any:
        name = os.fsdecode(path)
        is_other = name.endswith(".ds") or (os.path.isfile(name) and not is_ds(name))
        return found(path if is_other else "a.ds")

    def as_ds(path: Any) -> Any:
        name = os.path.expanduser(path) if isinstance(path, (str, os.PathLike)) else ""
        if not os.path.isfile(name) or is_ds(name):
            return path
        converted = folder / f"{os.path.basename(name)}-{os.stat(name).st_ino}.ds"
        if not converted.exists():
            ds_format.convert(name, converted)
        return converted

    def opening(name: str) -> Any:
        def opened(path: Any, *args: Any, engine: Any = None, **options: Any) -> Any:
            path = [as_ds(one) for one in path] if isinstance(path, list) else as_ds(path)
            return ORIGINAL[name](path, *args, engine="ds", **options)

        return opened

    for name in OPENING:
        for module in (xarray, *modules):
            if hasattr(module, name):
                monkeypatch.setattr(module, name, opening(name))
    for kind in WRITING:
        monkeypatch.setattr(kind, "to_netcdf", to_ds)
    monkeypatch.setattr(drivers, "find", find)
