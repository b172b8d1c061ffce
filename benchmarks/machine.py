"""The machine and the versions of a report."""

from __future__ import annotations

import os
import platform
from pathlib import Path

import netCDF4
import numpy as np

from ds_format import __version__

MOST_THREADS = min(4, os.cpu_count() or 1)
"""The default number of threads of ds_format, for functions that use several."""


def describe(folder: Path, reference: str | None) -> str:
    """Return processor, versions and file system in one line.

    Parameters
    ----------
    folder : Path
        The folder of the files.
    reference : str, optional
        Name and version of the reference program.
    """
    parts = [
        f"{_processor()}, {os.cpu_count()} cores",
        f"{platform.system()} {platform.release()}",
        f"Python {platform.python_version()}",
        f"NumPy {np.__version__}",
        f"netCDF4 {netCDF4.__version__} (HDF5 {netCDF4.__hdf5libversion__})",
        f"ds_format {__version__}",
        reference or "no reference program",
        f"files on {file_system(folder)}",
    ]
    return "; ".join(parts)


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def file_system(folder: Path) -> str:
    """Return the type of the file system that holds a folder."""
    mounts = Path("/proc/mounts")
    if not mounts.exists():
        return "an unknown file system"
    real = os.path.join(os.path.realpath(folder), "")
    found = ("", "an unknown file system")
    for line in mounts.read_text().splitlines():
        _, point, kind, *_ = line.split()
        if real.startswith(os.path.join(point, "")) and len(point) >= len(found[0]):
            found = (point, kind)
    return found[1]
