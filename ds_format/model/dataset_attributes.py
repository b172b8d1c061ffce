"""Attributes of datasets that are joined: those that differ are reported, and requested ones become variables."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from ..base import modes
from ..base.text import unescape
from ..datasets import META, as_array
from ..errors import DsError, UnsupportedError
from .constants import short_text

OF_FILE = frozenset((
    *(
        "history",
        "date_created",
        "date_issued",
        "date_modified",
        "date_metadata_modified",
        "id",
        "uuid",
    ),  # CF, ACDD 1.3
    *("creation_date", "creation_time", "tracking_id", "pid", "version_id"),  # CMIP5, CMIP6, CORDEX
    *("nco", "nco_openmp_thread_number", "history_of_appended_files", "cdo", "cdo_openmp_thread_number"),
    *("filename", "file_name"),
))
"""Names, in lower case, of attributes that date, number or log a file. They differ between any two files."""
MAX_SHOWN = 3
"""Number of attributes of which a message shows the values."""


class AttributeComparison:
    """Compares the attributes of datasets that are joined, up to the first two that differ.

    Attributes that a dataset lacks are not compared.

    Parameters
    ----------
    dim : str
        Dimension of the join.
    asked : collection of str
        Keys of attributes that are not compared, because all of their values are kept.
    """

    def __init__(self, dim: str, asked: Collection[str] = ()):
        self._dim = dim
        self._asked = asked
        self._first: dict[str, tuple[Any, Any]] = {}
        self._previous: Mapping[str, Any] = {}
        self._text: str | None = None

    def add(self, name: str | os.PathLike[str], attributes: Mapping[str, Any]) -> bool:
        """Compare the attributes of a dataset, by their keys, with the first values of each. Return if one differs."""
        if self._text is not None:
            return True
        try:
            if attributes == self._previous:  # takes less time
                return False
        except ValueError:  # arrays
            pass
        self._previous = attributes
        first = self._first
        for key, value in attributes.items():
            known = first.get(key)
            if known is None:
                first[key] = value, name
            elif known[0] is not value and self._differs(key, known[0], value):
                self._text = self._describe(known[1], name, attributes)
                return True
        return False

    def _differs(self, key: str, left: Any, right: Any) -> bool:
        # most attributes are text or single numbers, for which this takes less time
        is_plain = type(left) is type(right) and not isinstance(left, (list, np.ndarray))
        if (is_plain and left == right) or _same(left, right) or key in self._asked:
            return False
        return not key.startswith(".") and unescape(key).rpartition("/")[2].lower() not in OF_FILE

    def _describe(self, first: Any, name: Any, attributes: Mapping[str, Any]) -> str:
        pairs = [(key, self._first[key][0], value) for key, value in attributes.items() if self._is_of(first, key)]
        found = [(unescape(key), left, right) for key, left, right in pairs if self._differs(key, left, right)]
        texts = [f'"{key}" is {short_text(left)} and {short_text(right)}' for key, left, right in found[:MAX_SHOWN]] + [
            f"{len(found) - MAX_SHOWN} more"
        ] * (len(found) > MAX_SHOWN)
        listed = " and ".join([", ".join(texts[:-1]), texts[-1]][len(texts) < 2 :])
        return f"attributes of the dataset differ in {first} and {name}: {listed}"

    def _is_of(self, name: Any, key: str) -> bool:
        return key in self._first and self._first[key][1] == name

    def report(self, kept: str, *, can_keep: bool = True) -> None:
        """Report what differs.

        Parameters
        ----------
        kept : str
            Whose values the joined dataset has: "first" or "last".
        can_keep : bool
            Whether there is the option `attributes`, which keeps all of them.

        Raises
        ------
        UnsupportedError
            In strict mode; otherwise it is a warning.
        """
        if self._text is not None:
            message = f"{self._text}. The values of the {kept} dataset that has them are kept"
            if can_keep:
                message += f'; name them in `attributes` to keep all of them as variables along "{self._dim}"'
            modes.warn_or_raise(UnsupportedError(message))


def _same(left: Any, right: Any) -> bool:
    """Return whether values are the same, in whichever type a format has them."""
    typed = [value.dtype for value in (left, right) if isinstance(value, (np.generic, np.ndarray))]
    floats = [dtype for dtype in typed if dtype.kind == "f"]
    if floats and not isinstance(left, str) and not isinstance(right, str):
        narrow = min(floats, key=lambda dtype: dtype.itemsize)  # the same number, written twice
        try:
            return np.array_equal(np.asarray(left).astype(narrow), np.asarray(right).astype(narrow), equal_nan=True)
        except (TypeError, ValueError):
            return False
    left, right = (value.tolist() if isinstance(value, (np.generic, np.ndarray)) else value for value in (left, right))
    return bool(left == right) or repr(left) == repr(right)


def as_variables(
    asked: Collection[str],
    each: Sequence[Mapping[str, Any]],
    lengths: Sequence[int],
    dim: str,
    meta: dict[str, dict[str, Any]],
) -> dict[str, Any]:
    """Return attributes of joined datasets as variables, which are missing where a dataset lacks the attribute.

    Parameters
    ----------
    asked : collection of str
        Their keys. None of the datasets may have one: then it is reported as a name that does not exist.
    each : sequence of dict
        The attributes of each dataset.
    lengths : sequence of int
        Number of its positions along `dim`.
    dim : str
    meta : dict
        Metadata of the joined dataset. The attributes become entries of variables, before those of the dataset.

    Raises
    ------
    UnsupportedError
        If there is a variable with the name, or values have no common type.
    """
    arrays = {}
    attributes = meta.pop(META)
    for key in asked:
        if not any(key in one for one in each):
            known = [unescape(name) for name in attributes if not name.startswith(".")]
            modes.missing(f'attribute "{unescape(key)}" of the dataset not found', meant=(unescape(key), known))
            continue
        check_name(key, meta)
        arrays[key] = as_variable(key, [one.get(key) for one in each], lengths)
        attributes.pop(key, None)
        meta[key] = {".dims": [dim]}
    meta[META] = attributes
    return arrays


def check_name(key: str, meta: Collection[str]) -> None:
    """Raise an UnsupportedError if there is a variable with the name of an attribute that becomes one."""
    if key in meta:
        raise UnsupportedError("both a variable and an attribute of the dataset have this name", variable=unescape(key))


def as_variable(key: str, values: Sequence[Any], lengths: Any) -> Any:
    """Return an attribute, of which each dataset has one value or None, as a variable: each is repeated.

    Raises
    ------
    UnsupportedError
        If values have no common type, or are not scalars. The message names the variable.
    """
    try:
        array = as_array([value.item() if isinstance(value, np.generic) else value for value in values])
        if array.ndim != 1:
            raise UnsupportedError(f"found values of {array.ndim - 1} dimensions, expected one value per file")
        repeat = np.ma.repeat if isinstance(array, np.ma.MaskedArray) else np.repeat
        return repeat(array, lengths)
    except DsError as error:
        error.message = f"attribute of the dataset as a variable: {error.message}"
        raise error.at(variable=unescape(key))
