"""Fetch the real NetCDF files of Debian's package libncarg-data, which `tests/test_ncarg.py` converts.

Run `python tests/fetch_ncarg.py [FOLDER]` on a Debian system; it installs nothing. The files (26.8 MB to download) go
to FOLDER, or to a cache folder of the user.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

PACKAGE = "libncarg-data"
VERSION = "6.6.2.dfsg.1-1"
SIZE = 26_845_808
SHA256 = "52b4f825c6ab75d8f324185b96defab7a2b746ab15850a047198ee3f6da3bb3d"

VARIABLE = "DS_FORMAT_NCARG"
"""Environment variable with the folder to use instead of the cache."""


def folder() -> Path:
    """Return the folder where the files are, or will be."""
    if os.environ.get(VARIABLE):
        return Path(os.environ[VARIABLE])
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache) / "ds_format" / f"{PACKAGE}-{VERSION}"


def netcdf_files(root: Path) -> list[Path]:
    """Return all NetCDF files below a folder, told by their first bytes."""
    return sorted(path for path in root.rglob("*") if path.is_file() and not path.is_symlink() and _is_netcdf(path))


def _is_netcdf(path: Path) -> bool:
    with path.open("rb") as file:
        start = file.read(8)
    return start[:3] == b"CDF" or start == b"\x89HDF\r\n\x1a\n"


def fetch(target: Path) -> None:
    """Download and unpack the package into a new folder, atomically."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as temporary:
        subprocess.run(["apt-get", "download", f"{PACKAGE}={VERSION}"], cwd=temporary, check=True)
        [package] = Path(temporary).glob("*.deb")
        content = package.read_bytes()
        found = len(content), hashlib.sha256(content).hexdigest()
        if found != (SIZE, SHA256):
            raise SystemExit(f"{package.name}: found {found}, expected {(SIZE, SHA256)}")
        unpacked = Path(temporary) / "unpacked"
        subprocess.run(["dpkg-deb", "-x", package, unpacked], check=True)
        shutil.move(unpacked, target)


if __name__ == "__main__":
    wanted = Path(sys.argv[1]) if len(sys.argv) > 1 else folder()
    if not wanted.exists():
        fetch(wanted)
    print(f"{len(netcdf_files(wanted))} NetCDF files in {wanted}")
