"""Which of several numbers marks each missing value in a NetCDF or HDF5 file, and the description of this in ds files.

In memory these numbers are below the mask. A ds file has no bytes for missing values, but the setting `mark` of
`.netcdf`: a number, or numbers and runs of values. It is made from the values below masks when a ds file is written.
When one is read, the numbers are put back. Nothing between knows of it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from ..base.dtypes import NETCDF, TYPES, np
from .missing import DEFAULT_FILLS, FILL_ATTRIBUTE, default_fill, fitting, is_value, sentinels
from .settings import drop_stored_marks, setting, with_settings

if TYPE_CHECKING:
    from numpy.typing import NDArray

MOST_BYTES = 64 * 1024
"""Bytes of `mark` in JSON; a variable that needs more keeps only its mask."""
MOST_RUNS = MOST_BYTES // 4
"""Runs that may fit into these."""
OTHER = -1
"""In place of the position of a number: a value that marks nothing, as one that was masked in memory."""


class Marks:
    """Finds out by which numbers the missing values of a variable are marked, from the values below masks.

    This also decides on the setting `fill: default` in `.netcdf`: missing values were never written. It is kept only if
    all values under masks are the default fill value or a value of `missing_value`. If no value is unwritten, it
    becomes `fill: unused`, which affects storage only. `mark` is added if all missing values are unwritten, but
    `missing_value` is another number. A scalar has it if its number is not the first.

    Parameters
    ----------
    entry : dict
        Metadata of the variable.
    dtype : dtype
        Dtype of its values.
    """

    def __init__(self, entry: Mapping[str, Any], dtype: np.dtype[Any]):
        self._entry = entry
        self._is_filled = _is_filled(entry)
        self._numbers = sentinels(dict(entry), dtype, False)
        self._n_named = len(self._numbers)
        if self._is_filled:
            default = default_fill(dtype)
            named = [i for i, one in enumerate(self._numbers) if is_value(np.asarray(default), one)]
            self._default_at = named[0] if named else self._n_named
            self._numbers += [] if named else [default]
        self._counts = [0] * (len(self._numbers) + 1)  # the last one of `OTHER`
        self._size = 0
        self._is_scalar = False
        self._last: int | None = None
        self._runs: list[tuple[int, int]] = []
        """First position, and number, of each run of missing values."""

    @classmethod
    def of(cls, entry: Mapping[str, Any], dtype: np.dtype[Any] | None) -> Marks | None:
        """Return the marks of a variable; None if it has neither `fill: default` nor two marking numbers."""
        is_filled = _is_filled(entry)
        if not (is_filled or may_be_several(entry)) or dtype is None or dtype.str[1:] not in DEFAULT_FILLS:
            return None
        marks = cls(entry, dtype.newbyteorder("="))
        return marks if is_filled or len(marks._numbers) > 1 else None

    @classmethod
    def of_type(cls, entry: Mapping[str, Any]) -> Marks | None:
        """Do the same as `of` for values of the type that the metadata name."""
        ds_type = TYPES.get(entry.get(".type") or "")
        return None if ds_type is None else cls.of(entry, np.dtype(ds_type.code))

    def see(self, block: Any) -> None:
        """Add the missing values of a block, which follows the one before in C order."""
        start, self._size = self._size, self._size + np.size(block)
        self._is_scalar = not np.ndim(block)
        if type(block) is np.ndarray:
            return  # loading np.ma takes a tenth of the time of `ds ls`
        mask = np.ma.getmask(block)
        if mask is np.ma.nomask or not mask.any():
            return
        raw = np.ma.getdata(block)[mask]
        last = self._last if self._last is not None else self._codes(raw[:1])[0]
        if last != OTHER and np.all(is_value(raw, self._numbers[last])):
            self._counts[last] += raw.size
            codes = np.array([last])
        else:
            codes = self._codes(raw)
            found, counts = np.unique(codes, return_counts=True)
            for code, n in zip(found.tolist(), counts.tolist(), strict=True):
                self._counts[code] += n
        self._add_runs(codes, start, mask)

    def _codes(self, raw: NDArray[Any]) -> NDArray[np.intp]:
        """Return the position of the number that each value is; `OTHER` for values that mark nothing."""
        codes = np.full(raw.shape, OTHER)
        for i, number in enumerate(self._numbers):
            codes[is_value(raw, number)] = i
        return codes

    def _add_runs(self, codes: NDArray[np.intp], start: int, mask: Any) -> None:
        begins = np.flatnonzero(np.diff(codes, prepend=OTHER - 1 if self._last is None else self._last))
        self._last = int(codes[-1])
        if begins.size and len(self._runs) <= MOST_RUNS:
            begins = begins[: MOST_RUNS + 1]
            at = np.flatnonzero(mask)[begins] + start
            self._runs += zip(at.tolist(), codes[begins].tolist(), strict=True)

    def over(self, blocks: Iterable[Any]) -> Iterator[Any]:
        """Yield blocks, and check each one."""
        for block in blocks:
            self.see(block)
            yield block

    def told(self) -> str:
        """Return how missing values are marked, if in more than one way; otherwise an empty string."""
        used = [(n, one) for n, one in zip(self._counts[:-1], self._numbers, strict=True) if n]
        which = ", ".join(f"{n} are {one}" for n, one in used)
        return f"missing values are marked in {len(used)} ways ({which})" if len(used) > 1 else ""

    def widest(self) -> dict[str, Any]:
        """Return metadata that take at least as many bytes in a header as those of `stored` without runs."""
        widest = max((one.item() for one in self._numbers), key=lambda number: len(repr(number)))
        mark = {"mark": widest} if len(self._numbers) > 1 else {}
        return with_settings(self._entry, {**({"fill": "default"} if self._is_filled else {}), **mark})

    def settled(self) -> dict[str, Any]:
        """Return the metadata, with the setting `fill` that agrees with all checked values."""
        if not self._is_filled:
            return {**self._entry}
        if self._counts[OTHER]:
            return without_fill(self._entry)
        used = [i for i, n in enumerate(self._counts) if n]
        is_told = len(used) == 1 and used[0] > 0 and (self._is_scalar or used[0] == self._n_named)
        mark = {"mark": self._numbers[used[0]].item()} if is_told else {}
        return with_settings(self._entry, {"fill": "default" if self._default_at in used else "unused", **mark})

    def stored(self) -> tuple[dict[str, Any], bool]:
        """Return the metadata for a ds file, with a `mark`, and whether it tells numbers apart: it may be too large."""
        entry = self.settled()
        if len(self._numbers) < 2 or sum(self._counts) == self._counts[OTHER]:
            return entry, True
        numbers, runs = [one.item() for one in self._numbers], [(at, max(code, 0)) for at, code in self._runs]
        runs = [run for i, run in enumerate(runs) if not i or run[1] != runs[i - 1][1]]
        first = runs[0][1]
        # without a mark, a missing value is read as 0, which then marks it if it is one of the numbers
        if len(runs) == 1 and not first and 0 not in numbers[1:]:
            return with_settings(entry, {}), True
        has_number = "mark" in entry[NETCDF] if _is_filled(entry) else first or not self._is_scalar
        if len(runs) == 1 and has_number:  # which metadata of the NetCDF file have as well, or which is dropped
            return with_settings(entry, {"mark": numbers[first]}), True
        begins = [0, *(at for at, _ in runs[1:])]
        lengths = [end - begin for begin, end in zip(begins, [*begins[1:], self._size], strict=True)]
        mark = {
            "numbers": numbers,
            "runs": [n for (_, i), length in zip(runs, lengths, strict=True) for n in (i, length)],
        }
        if len(self._runs) > MOST_RUNS or len(json.dumps(mark)) > MOST_BYTES:
            return with_settings(entry, {"mark": numbers[0], **({"fill": "unused"} if self._is_filled else {})}), False
        return with_settings(entry, {"mark": mark}), True


def may_be_several(entry: Mapping[str, Any]) -> bool:
    """Return whether attributes may name several numbers, by a test that takes little time."""
    fill = entry.get(FILL_ATTRIBUTE)
    return "missing_value" in entry or isinstance(fill, list) or getattr(fill, "ndim", 0) > 0


def _is_filled(entry: Mapping[str, Any]) -> bool:
    record = entry.get(NETCDF)
    return isinstance(record, dict) and record.get("fill") == "default"


def without_fill(entry: Mapping[str, Any]) -> dict[str, Any]:
    """Return metadata without the settings about values that were never written."""
    return with_settings(entry, {}, ("fill", "mark"))


def settle(entry: Mapping[str, Any], array: Any) -> Any:
    """Return the metadata of a variable, with the setting `fill` that agrees with its values; see `Marks`."""
    marks = Marks.of(entry, getattr(array, "dtype", None)) if _is_filled(entry) else None
    if marks is None:
        return entry
    marks.see(array)
    return marks.settled()


def settled(meta: Mapping[str, Mapping[str, Any]], arrays: Mapping[str, Any]) -> dict[str, Any]:
    """Return the metadata of a dataset; `settle` is applied to each variable that has an array."""
    out: dict[str, Any] = dict(meta)
    for key, entry in meta.items():
        if NETCDF in entry and _is_filled(entry) and key in arrays:
            out[key] = settle(entry, arrays[key])
    return out


class StoredMarks(NamedTuple):
    """The description of a ds file by which numbers the missing values of a variable are marked."""

    numbers: tuple[Any, ...]
    runs: tuple[int, ...]
    """Position of a number, and how many values it holds for, present ones included; and so on to the last value."""
    shape: tuple[int, ...]
    """Shape of the variable."""

    @classmethod
    def of(cls, entry: Mapping[str, Any]) -> StoredMarks | None:
        """Return the description in the metadata of a variable; None if there is none, or an invalid one."""
        record, ds_type, size = entry.get(NETCDF), TYPES.get(entry.get(".type") or ""), entry.get(".size")
        if not isinstance(record, dict) or ds_type is None or ds_type.code not in DEFAULT_FILLS or size is None:
            return None
        mark, dtype, n = record.get("mark"), np.dtype(ds_type.code), math.prod(size)
        if isinstance(mark, dict):
            given, runs = setting(mark, "numbers", list) or [], setting(mark, "runs", list) or []
            numbers = [number for one in given for number in fitting(one, dtype)]  # together, large ones become floats
            if len(numbers) != len(given) or not _is_division(runs, len(numbers), n):
                return None
            return cls(tuple(one.item() for one in numbers), tuple(runs), tuple(size))
        numbers = fitting(mark, dtype) if "mark" in record else []
        if not numbers and record.get("fill") in ("default", "unused"):
            named = sentinels(dict(entry), dtype, False)
            # of both kinds each may be missing in a file of a former version
            numbers = named if record["fill"] == "unused" else [] if named else [default_fill(dtype)]
        return cls((numbers[0].item(),), (0, n), tuple(size)) if numbers else None

    def restore(self, values: Any, index: tuple[Any, ...] | None = None, start: int = 0) -> None:
        """Write the numbers below the mask of an array.

        Parameters
        ----------
        values : object
            The array; nothing is done without a mask.
        index : tuple of Index, optional
            The part of the variable that they are; None: they are consecutive in C order.
        start : int
            Number of the values before them, if they are.
        """
        mask = np.ma.getmask(values)
        if mask is np.ma.nomask:
            return
        data = np.ma.getdata(values)
        numbers = np.array(self.numbers, data.dtype)
        if len(self.runs) == 2:
            np.copyto(data, numbers[self.runs[0]], where=mask)
            return
        at = np.flatnonzero(mask) + start if index is None else self._positions(mask, index)
        run = np.searchsorted(np.cumsum(self.runs[1::2]), at, side="right")
        data[mask] = numbers[np.array(self.runs[::2])[run]]

    def _positions(self, mask: NDArray[np.bool_], index: tuple[Any, ...]) -> Any:
        """Return the positions in the variable of the missing values of a part."""
        axes = iter(np.nonzero(mask) if mask.ndim else ())
        at: Any = 0
        for item, n in zip(index, self.shape, strict=True):
            at = at * n + (item if isinstance(item, int) else np.asarray(item)[next(axes)])
        return at


def _is_division(runs: list[Any], n_numbers: int, n: int) -> bool:
    """Return whether runs divide `n` values among numbers."""
    codes, lengths = runs[::2], runs[1::2]
    are_integers = all(type(number) is int for number in runs) and len(codes) == len(lengths)
    return (
        are_integers and min(lengths, default=0) > 0 and sum(lengths) == n and 0 <= min(codes) <= max(codes) < n_numbers
    )


def take_stored(meta: dict[str, dict[str, Any]]) -> dict[str, StoredMarks]:
    """Return the descriptions in the metadata of a ds file; see `settings.drop_stored_marks`."""
    found = {key: marks for key, entry in meta.items() if NETCDF in entry and (marks := StoredMarks.of(entry))}
    drop_stored_marks(meta)
    return found
