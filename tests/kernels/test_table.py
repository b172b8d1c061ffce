"""Numbers ↔ their text in tables: as Python and NumPy have it."""

from __future__ import annotations

import csv
import io
import random
import struct

import numpy as np
import pytest
from hypothesis import given, strategies as st

from ds_format.kernels.table.cells import Table, Wrong, first_row
from ds_format.kernels.table.lines import put_lines

COMMA = ord(",")


def spelt(array: np.ndarray) -> list[str]:
    return put_lines([array], [None], len(array), COMMA).decode().split("\r\n")[:-1]


def parsed(texts: list[str]) -> np.ndarray:
    """Return floats of texts, of which one has to be no integer."""
    table = Table(1, COMMA, 1 << 20)
    table.infer("\n".join(texts).encode(), True)
    name, _, values, _ = table.column(0)
    assert name == "float64"
    assert values is not None
    return np.frombuffer(values, "f8")


def doubles(n: int, seed: int) -> np.ndarray:
    """Return doubles as users have them, and any."""
    rng = np.random.default_rng(seed)
    bits = rng.integers(0, 1 << 64, n, "u8").view("f8")
    powers = 2.0 ** rng.integers(-60, 100, n // 4)
    parts = [
        rng.normal(size=n) * 10.0 ** rng.integers(-12, 30, n),
        np.round(rng.normal(280, 30, n), 2),
        rng.integers(-30000, 30000, n) * 0.01 + 273.15,
        bits[np.isfinite(bits)],
        powers,
        np.nextafter(powers, 0),
        np.nextafter(powers, np.inf),
        rng.integers(0, 1 << 60, n).astype("f8"),
        10.0 ** np.arange(-30, 30),
    ]
    return np.concatenate(parts)


@pytest.mark.parametrize("seed", range(3))
def test_doubles_are_spelt_as_python_does_it(seed: int) -> None:
    values = doubles(3000, seed)
    assert spelt(values) == [repr(value) for value in values.tolist()]


@pytest.mark.parametrize("seed", range(3))
def test_single_precision_has_the_digits_that_numpy_finds(seed: int) -> None:
    with np.errstate(over="ignore", under="ignore"):
        values = doubles(1000, seed).astype("f4")
    found = spelt(values)
    assert np.array(found).astype("f4").tobytes() == values.tobytes()
    for text, value in zip(found, values, strict=True):
        if np.isfinite(value):
            digits = np.format_float_scientific(value).partition("e")[0].replace(".", "").strip("-0")
            assert text.partition("e")[0].replace(".", "").strip("-0") == digits


@given(st.floats() | st.floats(width=32))
def test_any_double(value: float) -> None:
    assert spelt(np.array([value])) == [repr(value)]


@pytest.mark.parametrize("seed", range(3))
def test_texts_are_the_nearest_doubles(seed: int) -> None:
    random.seed(seed)
    texts = [repr(value) for value in doubles(2000, seed).tolist()]
    for _ in range(5000):
        digits = "".join(random.choices("0123456789", k=random.randint(1, 22)))
        at = random.randint(0, len(digits))
        texts.append(f"{digits[:at]}.{digits[at:]}e{random.randint(-40, 30)}")
    for value in doubles(300, seed + 10).tolist():  # the middle of two doubles, and both sides of it
        if 1e-20 < abs(value) < 1e30:
            middle = (np.longdouble(value) + np.longdouble(np.nextafter(value, np.inf))) / 2
            texts += [f"{middle:.{n}e}" for n in (15, 16, 17, 18, 20)]
    found = parsed(texts)
    assert [struct.pack("d", value) for value in found.tolist()] == [struct.pack("d", float(text)) for text in texts]


def test_what_is_damaged_is_left_to_the_caller() -> None:
    for data in (b"1\n", b"1,2,3\n", b'"1"x,2\n', b'"1,2\n', b"1,\xff\n", b"11111,2\n"):
        with pytest.raises(Wrong):
            Table(2, COMMA, 4).infer(data, True)
    table = Table(2, COMMA, 4)
    assert [table.infer(data, False) for data in (b"1", b"1,2", b"1,2\r", b'1,"2"', b"1,2\n3", b"\r")] == [
        0,
        0,
        0,
        0,
        4,
        0,
    ]
    table.begin(["int64", "int64"])
    with pytest.raises(Wrong):
        table.fill(b"1,\n", True, [np.zeros(1, "i8")] * 2, [None, None], 1)  # no mask
    with pytest.raises(Wrong):
        table.fill(b"1,2.5\n", True, [np.zeros(1, "i8")] * 2, [None, None], 1)


def test_wrong_arguments() -> None:
    table = Table(1, COMMA, 9)
    with pytest.raises(ValueError, match="no types"):
        table.fill(b"", True, [None], [None], 0)
    table.begin(["float64"])
    with pytest.raises(ValueError, match="the columns have types"):
        table.infer(b"", True)
    for array in (np.zeros(1), np.zeros(4)[::2], np.zeros(2, "f4"), np.zeros(2, object)):
        with pytest.raises(ValueError, match="expected a C-contiguous array of 2 values"):
            table.fill(b"1\n2\n", True, [array], [None], 2)
    with pytest.raises(ValueError, match="0 columns"):
        Table(0, COMMA, 9)
    with pytest.raises(IndexError):
        table.column(1)
    with pytest.raises(ValueError, match="2 columns and 1 masks"):
        put_lines([np.zeros(1)] * 2, [None], 1, COMMA)
    for bad in (np.zeros(2), np.zeros(1, ">f8"), np.zeros(1, "i2")):
        with pytest.raises(ValueError, match=r"expected a C-contiguous native array of 1|values of dtype int16"):
            put_lines([bad], [None], 1, COMMA)


def test_the_first_row() -> None:
    assert first_row(b'a,"b""\n",c\r\n1', COMMA, 9, False) == (["a", 'b"\n', "c"], 12)
    assert first_row(b"a,b", COMMA, 9, False) is None
    assert first_row(b"a,b", COMMA, 9, True) == (["a", "b"], 3)


def rows_of_python(data: bytes, width: int) -> list[list[str]] | None:
    """Return the rows that the standard library finds, None if it finds a fault."""
    try:
        found = list(csv.reader(io.StringIO(data.decode(), newline=""), strict=True))
    except (csv.Error, UnicodeDecodeError):
        return None
    rows = [row or [""] for row in found if row or width == 1]
    return rows if all(len(row) == width for row in rows) else None


def rows_of_table(data: bytes, width: int, piece: int) -> list[list[str]] | None:
    """Return the rows of a table whose bytes come in pieces, None if there is a fault."""
    table, at, size = Table(width, COMMA, 1 << 20), 0, piece
    try:
        while at < len(data):
            taken = table.infer(data[at : at + size], at + size >= len(data))
            at, size = at + taken, piece if taken else 2 * size
    except Wrong:
        return None
    n = table.n_rows
    table = Table(width, COMMA, 1 << 20)
    table.begin(["unicode"] * width)
    values, masks = [np.empty(n, object) for _ in range(width)], [np.zeros(n, np.bool_) for _ in range(width)]
    assert table.fill(data, True, values, masks, n)[1] == n
    assert all(mask.tolist() == (array == "").tolist() for array, mask in zip(values, masks, strict=True))
    return [list(row) for row in zip(*(array.tolist() for array in values), strict=True)]


PIECES = [b"a", b"1", b",", b",", b"\n", b"\r", b"\r\n", b'"', b'"', b"\xc5\xbe", b"\xc5", b" "]


@given(st.lists(st.sampled_from(PIECES)).map(b"".join), st.integers(1, 3), st.sampled_from([1, 3, 1000]))
def test_any_bytes_are_the_rows_that_the_standard_library_finds(data: bytes, width: int, piece: int) -> None:
    assert rows_of_table(data, width, piece) == rows_of_python(data, width)
