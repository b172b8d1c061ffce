"""What files that are opened as one must have in common."""

from __future__ import annotations

from typing import Any

from ..base.names import unescape
from ..dataset import META, dims
from ..drivers.base import Metadata
from ..errors import DsError, MissingError, UnsupportedError
from ..kernels.header.alike import are_alike
from ..model.merge_plan import DECIDING
from ..model.packing import is_packed
from ..timeaxis import is_time

KEPT = (*DECIDING, ".missing")
"""What is kept of the metadata of a variable of each file but the first."""
BUT_SIZE = frozenset(KEPT) - {".size"}
ABSENT: dict[str, Any] = {".size": None}
FLOATS = frozenset(("float32", "float64"))
"""Types whose values become float64 if files differ in them."""


class Schema:
    """The variables of the first file, with which those of the others are compared.

    Of metadata that were seen before there is only one object, whatever the number of files.

    Parameters
    ----------
    dim : str
        Along which files may differ in size.
    fills : bool
        Whether a file may lack variables.
    first_units : bool
        Whether units without a known conversion are those of the first file.

    Attributes
    ----------
    first : Metadata
        Of each variable those of the first file that has it.
    """

    def __init__(self, dim: str, fills: bool, first_units: bool):
        self.first: Metadata = {}
        self._dim = dim
        self._fills = fills
        self._first_units = first_units
        self._path = ""
        self._references: dict[str, tuple[str, dict[str, Any]]] = {}
        self._known: dict[str, dict[str, dict[str, Any]]] = {}
        self._last: dict[str, tuple[Metadata, dict[Any, dict[str, Any]]]] = {}
        self._spans: dict[int, int | None] = {}

    def add(self, path: str, meta: Metadata, first: Metadata) -> Metadata:
        """Compare a file, or several that are alike.

        Parameters
        ----------
        path : str
            The first of them.
        meta : Metadata
        first : Metadata
            Of the first of them.

        Returns
        -------
        Metadata
            What decides how they are merged.

        Raises
        ------
        MissingError
            If it lacks a variable, or the first file does.
        UnsupportedError
            If they differ.
        """
        if not self._path:
            self._path = path
        elif not self._fills:
            self._check_names(path, meta)
        out = {META: first[META] if not self.first else {}}
        for key, entry in meta.items():
            if key == META:
                continue
            out[key] = self._same(path, key, entry)
            if key not in self.first:
                self.first[key] = first[key]
        self._check_lengths(path, out)
        self.first.setdefault(META, first[META])
        return out

    def _same(self, path: str, key: str, entry: dict[str, Any]) -> dict[str, Any]:
        """Return the one object for what decides of some metadata of a variable."""
        whole, size = {key: entry}, entry.get(".size")
        shape = None if size is None else tuple(size)
        last, by_shape = self._last.get(key, ({}, {}))
        if not last or not are_alike(whole, last, BUT_SIZE):
            by_shape = {}
            self._last[key] = whole, by_shape
        if shape not in by_shape:
            reduced = {name: entry[name] for name in KEPT if name in entry}
            known = self._known.setdefault(key, {})
            signature = repr(reduced)
            if signature not in known:
                known[signature] = self._added(path, key, reduced)
            by_shape[shape] = known[signature]
        return by_shape[shape]

    def _added(self, path: str, key: str, entry: dict[str, Any]) -> dict[str, Any]:
        """Return the metadata of a variable once they are found to fit those that are known."""
        reference_path, reference = self._references.get(key, (path, ABSENT))
        if reference[".size"] is None and (self._fills or key not in self._references):
            self._references[key] = path, entry
            return entry
        try:
            return self._compared(entry, reference, key)
        except DsError as error:
            error.message += f" as in {reference_path}"
            raise error.at(path=path, variable=unescape(key))

    def _compared(self, entry: dict[str, Any], reference: dict[str, Any], key: str) -> dict[str, Any]:
        size, expected = entry.get(".size"), reference.get(".size")
        if size is None or expected is None:
            if self._fills and size is None:
                return entry
            raise UnsupportedError(f"found {_data(size)}, expected {_data(expected)}")
        names, wanted = dims(key, entry, len(size)), dims(key, reference, len(expected))
        if names != wanted:
            raise UnsupportedError(f"dimensions: found {names}, expected {wanted}")
        for name, found, n in zip(names, size, expected, strict=True):
            if found != n and name != self._dim:
                raise UnsupportedError(f'size of dimension "{name}": found {found}, expected {n}')
        if 0 in size or 0 in expected:
            _settle(entry, reference, is_first_empty=0 in expected)
        type_name, expected_type = entry.get(".type"), reference.get(".type")
        packed = is_packed(entry, type_name), is_packed(reference, expected_type)
        counted = is_time(entry) and is_time(reference) and _axis(entry) != _axis(reference)
        promoted = {type_name, expected_type} <= FLOATS
        if type_name != expected_type and not (promoted or any(packed) or counted):
            raise UnsupportedError(f"type: found {type_name}, expected {expected_type}")
        units, expected_units = entry.get("units"), reference.get("units")
        if repr(units) == repr(expected_units) or (is_time(entry) and is_time(reference)):
            return entry
        if self._first_units:
            kept = {name: value for name, value in entry.items() if name != "units"}
            return kept if expected_units is None else {**kept, "units": expected_units}
        raise UnsupportedError(
            f'units: found {_shown(units)}, only those of times are converted (units="first" takes those of the '
            f"first file); expected {_shown(expected_units)}"
        )

    def _check_names(self, path: str, meta: Metadata) -> None:
        for key in self.first:
            if key not in meta:
                raise _lacking(path, key, self._path)
        for key in meta:
            if key not in self.first:
                raise _lacking(self._path, key, path)

    def _check_lengths(self, path: str, meta: Metadata) -> None:
        """Check that variables of a file agree on the size of the dimension along which files are put together."""
        found: int | None = None
        for key, entry in meta.items():
            n = None if key == META else self._span(key, entry)
            if n is None or found is None:
                found = n if found is None else found
            elif n != found:
                raise UnsupportedError(
                    f'size of dimension "{self._dim}": found {n}, expected {found} as another variable has',
                    path=path,
                    variable=unescape(key),
                )

    def _span(self, key: str, entry: dict[str, Any]) -> int | None:
        """Return the size of that dimension; None: the variable does not have it."""
        if id(entry) not in self._spans:
            size = entry.get(".size")
            names = [] if size is None else dims(key, entry, len(size))
            self._spans[id(entry)] = size[names.index(self._dim)] if size and self._dim in names else None
        return self._spans[id(entry)]


def _settle(entry: dict[str, Any], reference: dict[str, Any], is_first_empty: bool) -> None:
    """Let strings of which there are none be of the type of others: nobody can tell, and so it is byte strings."""
    if {entry.get(".type"), reference.get(".type")} == {"str", "unicode"}:
        settled, other = (reference, entry) if is_first_empty else (entry, reference)
        settled[".type"] = other[".type"]


def _lacking(path: str, key: str, other: str) -> MissingError:
    message = f'variable not found, expected as in {other}; missing="fill" fills it, drop_variables leaves it out'
    return MissingError(message, path=path, variable=unescape(key))


def _data(size: Any) -> str:
    return "no data" if size is None else "data"


def _axis(entry: dict[str, Any]) -> tuple[Any, Any]:
    return entry.get("units"), entry.get("calendar")


def _shown(units: Any) -> str:
    return "none" if units is None else repr(units)
