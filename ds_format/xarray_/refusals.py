"""What xarray's coders refuse, told so that one sees of which file and variable."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..base.dtypes import TYPES
from ..errors import DsError, UnsupportedError

SCALES = ("scale_factor", "add_offset")

REFUSALS = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
"""What the coders raise where attributes, encoding or values are not what they expect, whatever these are."""


def refusal(error: Exception) -> str:
    """Return what an error says, with its kind where the text alone says little, as that of a KeyError."""
    return str(error) if isinstance(error, (ValueError, OverflowError)) else f"{type(error).__name__}: {error}"


@contextlib.contextmanager
def naming(name: str) -> Iterator[None]:
    """Give errors of this package, and what the coders raise, the name of a variable."""
    try:
        yield
    except DsError as error:
        raise error.at(variable=name)
    except REFUSALS as error:
        raise UnsupportedError(refusal(error), variable=name) from error


def unscalable(attrs: Mapping[str, Any], type_name: str) -> str | None:
    """Return the name of the attribute by which the coders cannot scale values of a type; None: there is none.

    It has to be a number, or a list of one.
    """
    for name in SCALES:
        if attrs.get(name) is not None:
            array = np.asarray(attrs[name])
            if array.size != 1 or array.dtype.kind not in "iufb" or TYPES[type_name].is_string:
                return name
    return None


@dataclass(frozen=True)
class Unscalable:
    """Raises when values are read that cannot be scaled: the other variables of the file can still be had."""

    name: str
    attribute: str
    found: Any

    def __call__(self, values: Any) -> Any:
        """Raise an UnsupportedError."""
        raise UnsupportedError(
            f"{self.attribute}: found {self.found!r}, expected a number, and numbers to scale by it; "
            "open it with mask_and_scale=False",
            variable=self.name,
        )
