"""Fast scientific file I/O: the ds format, conversion to and from NetCDF, and selection.

Names are loaded when they are first used, so that importing the package costs next to nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._version import __version__

if TYPE_CHECKING:
    from .conversion import convert
    from .dataset import Dataset, validate
    from .errors import (
        DriverError,
        DsError,
        FormatError,
        IntegrityError,
        MissingError,
        TruncatedError,
        UnsafeError,
        UnsupportedError,
        VersionError,
    )
    from .files import open, read, write
    from .lazy import File, Variable
    from .names import escape, unescape

_MODULES = {
    "conversion": ("convert",),
    "dataset": ("Dataset", "validate"),
    "errors": (
        "DriverError",
        "DsError",
        "FormatError",
        "IntegrityError",
        "MissingError",
        "TruncatedError",
        "UnsafeError",
        "UnsupportedError",
        "VersionError",
    ),
    "files": ("open", "read", "write"),
    "lazy": ("File", "Variable"),
    "names": ("escape", "unescape"),
}
_HOMES = {name: module for module, names in _MODULES.items() for name in names}

__all__ = [
    "Dataset",
    "DriverError",
    "DsError",
    "File",
    "FormatError",
    "IntegrityError",
    "MissingError",
    "TruncatedError",
    "UnsafeError",
    "UnsupportedError",
    "Variable",
    "VersionError",
    "__version__",
    "convert",
    "escape",
    "open",
    "read",
    "unescape",
    "validate",
    "write",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
