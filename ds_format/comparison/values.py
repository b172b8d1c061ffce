"""The values of two variables, block by block: number, first and largest of the differences. Also two attributes.

Two sources divide a variable into different blocks. Blocks are used as rows of values, and as many values are compared
at a time as both sources have.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import IntegrityError

NUMBERS = "biuf"
"""NumPy kinds of dtypes that are compared as numbers."""


class Rule(NamedTuple):
    """Rules for equality of two values."""

    rtol: float = 0.0
    """They may differ by `atol + rtol * |b|`, as in `numpy.isclose`."""
    atol: float = 0.0
    bits: bool = False
    """Whether numbers of one type must be equal bit by bit, including zeros and NaN."""
    loose: bool = False
    """Whether incomparable values, such as text and numbers, count as equal."""


EXACT = Rule()


def unequal(left: NDArray[Any], right: NDArray[Any], rule: Rule = EXACT) -> NDArray[np.intp]:
    """Return the positions at which two arrays differ.

    NaN equals NaN, and 0.0 equals -0.0, unless the rule compares bits.

    Parameters
    ----------
    left, right : (N,) ndarray
    rule : Rule

    Returns
    -------
    (M,) ndarray of int
        In ascending order.

    Examples
    --------
    >>> unequal(np.array([1.0, np.nan, 3.0]), np.array([1.0, np.nan, 3.5])).tolist()
    [2]
    """
    if left.dtype.kind not in NUMBERS or right.dtype.kind not in NUMBERS:
        return _unequal_objects(left, right, rule)
    if left.dtype == right.dtype:
        bits = np.dtype(f"u{left.itemsize}")
        places = np.flatnonzero(left.view(bits) != right.view(bits))
        if rule.bits:
            return places
    else:
        places = np.flatnonzero(_differ(left, right))
    if not places.size:
        return places
    a, b = taken(left, places), taken(right, places)
    differ = _differ(a, b)
    if rule.rtol or rule.atol:
        differ &= ~_close(a, b, rule)
    return places[differ] if not differ.all() else places


def taken(array: NDArray[Any], places: NDArray[np.intp]) -> NDArray[Any]:
    """Return the values at some positions, or the array itself for all positions."""
    return array if places.size == array.size else array[places]


def _differ(left: NDArray[Any], right: NDArray[Any]) -> NDArray[np.bool_]:
    """Return where two arrays of numbers differ by value."""
    differ: NDArray[np.bool_] = left != right
    kinds = left.dtype.kind + right.dtype.kind
    if "f" in kinds:
        gone = np.isnan(left)
        if gone.any():
            differ &= ~(gone & np.isnan(right))
        for whole, other in ((left, right), (right, left)):
            if whole.dtype.kind in "iu" and whole.itemsize == 8 and other.dtype.kind == "f":
                # NumPy compares them as floats, which have not as many digits
                with np.errstate(invalid="ignore"):
                    differ |= other.astype(whole.dtype) != whole
                differ |= other >= (2.0**63 if whole.dtype.kind == "i" else 2.0**64)  # some processors cut it there
    return differ


def _close(left: NDArray[Any], right: NDArray[Any], rule: Rule) -> NDArray[np.bool_]:
    """Return where numbers are equal within tolerances, computed in float64."""
    if left.dtype.kind == "b" or right.dtype.kind == "b":
        return np.zeros(left.shape, np.bool_)
    x, y = left.astype(np.float64), right.astype(np.float64)
    with np.errstate(invalid="ignore", over="ignore"):
        allowed = rule.atol + rule.rtol * np.abs(y)
        close: NDArray[np.bool_] = distances(left, right).astype(np.float64) <= allowed
    return close & np.isfinite(x) & np.isfinite(y)


def distances(left: NDArray[Any], right: NDArray[Any]) -> NDArray[Any]:
    """Return the absolute differences of numbers: exact uint64 for integers if possible, else float64.

    Differences of integers and floats are not 0 if the numbers are not equal.
    """
    kinds = left.dtype.kind + right.dtype.kind
    if kinds in ("ii", "uu"):
        low, high = np.minimum(left, right), np.maximum(left, right)
        wide = np.dtype(f"{kinds[0]}8")
        exact: NDArray[np.uint64] = high.astype(wide).view(np.uint64) - low.astype(wide).view(np.uint64)
        return exact
    if kinds in ("iu", "ui"):
        signed, unsigned = (left, right) if kinds == "iu" else (right, left)
        bits, positive = signed.astype(np.int64).view(np.uint64), unsigned.astype(np.uint64)
        apart = np.where((signed < 0) | (positive >= bits), positive - bits, bits - positive)
        if not ((signed < 0) & (apart < positive)).any():
            return apart
    with np.errstate(invalid="ignore", over="ignore"):
        far: NDArray[np.float64] = np.abs(left.astype(np.float64) - right.astype(np.float64))
    if "f" in kinds and kinds != "ff":
        lost = np.flatnonzero(far == 0)  # float64 has not as many digits as integers
        pairs = zip(left[lost].tolist(), right[lost].tolist(), strict=True)
        far[lost] = [abs(int(a) - int(b)) for a, b in pairs]
    return far


def _unequal_objects(left: NDArray[Any], right: NDArray[Any], rule: Rule) -> NDArray[np.intp]:
    """Compare strings, or values of different types."""
    if left.dtype.kind in NUMBERS or right.dtype.kind in NUMBERS:
        return np.zeros(0, np.intp) if rule.loose else np.arange(left.size)
    left, right = left.astype(object, copy=False), right.astype(object, copy=False)
    places = np.flatnonzero(left != right)
    if not places.size:
        return places
    same = _loosely_same if rule.loose else _same_text
    pairs = zip(left[places].tolist(), right[places].tolist(), strict=True)
    return places[np.fromiter((not same(a, b) for a, b in pairs), np.bool_, places.size)]


def _loosely_same(a: Any, b: Any) -> bool:
    return type(a) is not type(b) or str(a) == str(b)


def _same_text(a: Any, b: Any) -> bool:
    """Whether bytes and text are equal as UTF-8, because some formats have only one of them."""
    return type(a) is not type(b) and _text(a) == _text(b)


def _text(value: Any) -> Any:
    return value.decode("utf-8", "surrogateescape") if isinstance(value, bytes) else value


BLOCK_LENGTH = 1 << 14
"""Number of values to compare at a time. They and intermediate results fit in the processor cache, and are too small
for memory that is requested from the operating system and returned to it each time."""


class ValuePair(NamedTuple):
    """Two values at one position."""

    position: int
    """Position among all values, in C order."""
    a: Any
    """None: missing."""
    b: Any
    size: Any = None
    """Size of the difference, if they are numbers."""


class Tally:
    """Counts and positions of differences between two variables so far.

    Parameters
    ----------
    rule : Rule

    Attributes
    ----------
    n : int
        Number of compared values, including missing ones.
    missing_a, missing_b : int
        Number of values that are missing in only one variable.
    first_missing : ValuePair or None
        The first of these.
    differing : int
        Number of values that differ, among those that are missing in neither.
    first, largest, relative : ValuePair or None
        The first of these, the largest difference, and the largest difference relative to the value of B.
    """

    def __init__(self, rule: Rule):
        self._rule = rule
        self.n = self.missing_a = self.missing_b = self.differing = 0
        self.first_missing: ValuePair | None = None
        self.first: ValuePair | None = None
        self.largest: ValuePair | None = None
        self.relative: ValuePair | None = None

    @property
    def differs(self) -> bool:
        """Whether there is a difference."""
        return bool(self.differing or self.missing_a or self.missing_b)

    def skip(self, n: int) -> None:
        """Count values that are known to be equal."""
        self.n += n

    def add(self, left: Any, right: Any) -> None:
        """Compare the next values, (N,) ndarray or MaskedArray each."""
        for start in range(0, left.size, BLOCK_LENGTH):
            self._add(left[start : start + BLOCK_LENGTH], right[start : start + BLOCK_LENGTH])

    def _add(self, left: Any, right: Any) -> None:
        a, b = np.ma.getdata(left), np.ma.getdata(right)
        places = unequal(a, b, self._rule)
        masks = np.ma.getmask(left), np.ma.getmask(right)
        if masks[0] is not np.ma.nomask or masks[1] is not np.ma.nomask:
            gone_a, gone_b = np.ma.getmaskarray(left), np.ma.getmaskarray(right)
            self._add_missing(a, b, gone_a, gone_b)
            places = places[~(gone_a | gone_b)[places]]
        if places.size:
            self._add_differing(taken(a, places), taken(b, places), places)
        self.n += left.size

    def _add_missing(self, a: Any, b: Any, gone_a: NDArray[np.bool_], gone_b: NDArray[np.bool_]) -> None:
        lonely = np.flatnonzero(gone_a != gone_b)
        if not lonely.size:
            return
        n_a = int(np.count_nonzero(gone_a[lonely]))
        self.missing_a += n_a
        self.missing_b += lonely.size - n_a
        if self.first_missing is None:
            i = lonely[0]
            values = (None if gone_a[i] else a[i]), (None if gone_b[i] else b[i])
            self.first_missing = ValuePair(self.n + int(i), *values)

    def _add_differing(self, a: Any, b: Any, places: NDArray[np.intp]) -> None:
        self.differing += places.size
        if self.first is None:
            self.first = ValuePair(self.n + int(places[0]), a[0], b[0])
        if not (a.dtype.kind in NUMBERS and b.dtype.kind in NUMBERS) or "b" in (a.dtype.kind, b.dtype.kind):
            return
        sizes = distances(a, b)
        self.largest = self._larger(self.largest, sizes, a, b, places)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            relative = sizes / np.abs(b.astype(np.float64))
        self.relative = self._larger(self.relative, relative, a, b, places)

    def _larger(
        self, known: ValuePair | None, sizes: Any, a: Any, b: Any, places: NDArray[np.intp]
    ) -> ValuePair | None:
        """Return the larger of a former difference and those of an array. NaN is ignored."""
        i = int(sizes.argmax())
        if sizes[i] != sizes[i]:
            sizes = np.where(np.isnan(sizes), -1.0, sizes)
            i = int(sizes.argmax())
        size = sizes[i].item()
        if size < 0 or (known is not None and size <= known.size):
            return known
        return ValuePair(self.n + int(places[i]), a[i], b[i], size)


def tally(
    parts: Iterable[tuple[Any, Any] | int],
    rule: Rule,
    *,
    first: bool = False,
    report: Callable[[int], None] | None = None,
) -> Tally:
    """Compare the values of two variables.

    Parameters
    ----------
    parts : iterable of (left, right) or int
        The next values of both, (N,) ndarray or MaskedArray each, or the number of values known to be equal.
    rule : Rule
    first : bool
        Whether to stop at the first difference.
    report : callable, optional
        Takes the number of values compared so far.

    Raises
    ------
    IntegrityError
        As in `pairs`.
    """
    found = Tally(rule)
    for part in parts:
        if isinstance(part, int):
            found.skip(part)
        else:
            found.add(*part)
        if report is not None:
            report(found.n)
        if first and found.differs:
            break
    return found


def pairs(left: Iterable[Any], right: Iterable[Any]) -> Iterator[tuple[Any, Any]]:
    """Yield equally many values of two variables at a time.

    Parameters
    ----------
    left, right : iterable of ndarray or MaskedArray
        Consecutive blocks of each, as from `Source.blocks`.

    Raises
    ------
    IntegrityError
        If one has more values than the other.
    """
    ours, theirs = _flat(left), _flat(right)
    a = b = np.empty(0)
    while True:
        a = next(ours, a) if not a.size else a
        b = next(theirs, b) if not b.size else b
        n = min(a.size, b.size)
        if not n:
            break
        yield a[:n], b[:n]
        a, b = a[n:], b[n:]
    if a.size or b.size:
        raise IntegrityError(f"found {'fewer' if a.size else 'more'} values in the second one than in the first")


def _flat(blocks: Iterable[Any]) -> Iterator[Any]:
    return (block.reshape(-1) for block in blocks if block.size)


LISTS = (list, tuple, np.ndarray)


def attribute_type(value: Any) -> str:
    """Return the type of an attribute, with sizes if it is an array.

    Types of Python and NumPy with the same values are the same type, such as int and int64, or a list and an array of
    text.

    Examples
    --------
    >>> [attribute_type(value) for value in ("K", 1.5, np.float32(1.5), [1, 2], np.zeros((2, 3), "i2"))]
    ['unicode', 'float64', 'float32', 'int64[2]', 'int16[2,3]']
    """
    if isinstance(value, (np.ndarray, np.generic)) and value.dtype.kind != "O":
        name = {"U": "unicode", "T": "unicode", "S": "str"}.get(value.dtype.kind, value.dtype.name)
        return f"{name}[{','.join(map(str, value.shape))}]" if value.ndim else name
    if isinstance(value, LISTS):
        kinds = {attribute_type(item) for item in value}
        return f"{kinds.pop() if len(kinds) == 1 else 'none' if not kinds else 'list'}[{len(value)}]"
    kinds_of_python = ((bool, "bool"), (int, "int64"), (float, "float64"), (str, "unicode"), (bytes, "str"))
    for kind, name in kinds_of_python:
        if isinstance(value, kind):
            return name
    return "none" if value is None else "object"


def same_attributes(left: Any, right: Any) -> bool:
    """Whether two attributes have the same type and value. NaN equals NaN."""
    return attribute_type(left) == attribute_type(right) and _same_values(left, right)


def _same_values(left: Any, right: Any) -> bool:
    if isinstance(left, LISTS) and isinstance(right, LISTS):
        return len(left) == len(right) and all(map(_same_values, left, right))
    return _same_one(left, right)


def alike_attributes(left: Any, right: Any) -> bool:
    """Whether two attributes have the same value, whatever their types. Incomparable values count as equal."""
    if isinstance(left, LISTS) or isinstance(right, LISTS):
        ours, theirs = (list(one) if isinstance(one, LISTS) else [one] for one in (left, right))
        return len(ours) == len(theirs) and all(map(alike_attributes, ours, theirs))
    if isinstance(left, (str, bytes)) or isinstance(right, (str, bytes)):
        return str(left) == str(right) or type(left) is not type(right)
    return _same_one(left, right)


def _same_one(left: Any, right: Any) -> bool:
    try:
        return bool(left == right or (left != left and right != right))
    except ValueError:
        return False
