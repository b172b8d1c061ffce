"""The package ds-format, if it is installed next to this one: both have files of the same names in one folder."""

from __future__ import annotations

import functools
import json
import shlex
import urllib.parse
from importlib import metadata
from typing import Any

from . import PACKAGE

OURS, THEIRS = "ds-format-cython", "ds-format"


@functools.cache
def warning() -> str:
    """Return a sentence that names ds-format and the repair if it is installed, too, else the empty string.

    It takes milliseconds to find out, so only `ds --version` asks, and what fails. A package of that name without files
    in the folder is none: it satisfies packages that require ds-format.

    Examples
    --------
    >>> from ds_format.base import rival
    >>> rival.warning()
    ''
    """
    try:
        other = metadata.distribution(THEIRS)
    except metadata.PackageNotFoundError:
        return ""
    if other.files is not None and not any(file.parts[0] == PACKAGE for file in other.files):
        return ""
    return (
        f"{THEIRS} {other.version} is installed in the same folder {PACKAGE}, and one may have replaced files of the "
        f"other: run `pip uninstall {THEIRS}`, then `pip install --force-reinstall --no-deps {_origin()}`"
    )


def _origin() -> str:
    """Return what pip installed this package from, as its argument: a folder, a wheel or an address, else `WHEEL`."""
    try:
        record: Any = json.loads(metadata.distribution(OURS).read_text("direct_url.json") or "{}")
        url = urllib.parse.urlsplit(record["url"])
    except (metadata.PackageNotFoundError, LookupError, ValueError):
        return "WHEEL` with a wheel of this package or the folder of its clone in place of `WHEEL"
    if url.scheme != "file":
        return shlex.quote(f"{record['vcs_info']['vcs']}+{record['url']}" if "vcs_info" in record else record["url"])
    option = "-e " if record.get("dir_info", {}).get("editable") else ""
    return option + shlex.quote(urllib.parse.unquote(url.path))
