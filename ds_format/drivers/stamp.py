"""The module that pickled handles of version 0.2.0 and before name: loading one ends here, with the reason."""

from __future__ import annotations

from typing import NoReturn


def __getattr__(name: str) -> NoReturn:
    if name == "Stamp":
        message = "it was pickled by ds_format 0.2.0 or before: open the file again with this version"
        raise ImportError(message, name=__name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
