"""Rounding to digits or bits: the bound of its error, what it leaves alone, and the same numbers as netCDF-C."""

from __future__ import annotations

from decimal import ROUND_FLOOR, Decimal
from typing import Any

import netCDF4
import numpy as np
import pytest
from hypothesis import given, strategies as st
from numpy.typing import NDArray

from ds_format.model.rounding import MOST_BITS, MOST_DIGITS, Rounding


@st.composite
def roundings(draw: st.DrawFn) -> tuple[Rounding, NDArray[Any]]:
    size = draw(st.sampled_from([4, 8]))
    digits = draw(st.none() | st.integers(1, MOST_DIGITS[size]))
    rounding = Rounding(digits) if digits else Rounding(bits=draw(st.integers(1, MOST_BITS[size])))
    decimals = st.builds(lambda m, e: float(f"{m}e{e}"), st.integers(-(10**6), 10**6), st.integers(-30, 30))
    values = draw(st.lists(st.floats(width=32 if size == 4 else 64) | decimals, max_size=20))
    with np.errstate(over="ignore"):
        return rounding, np.array(values, f"f{size}")


@given(roundings())
def test_the_error_is_bounded(drawn: tuple[Rounding, NDArray[Any]]) -> None:
    rounding, values = drawn
    before = values.tobytes()
    rounded = rounding.apply(values)
    assert values.tobytes() == before and rounded.dtype == values.dtype
    for value, result in zip(values, rounded, strict=True):
        if not np.isfinite(value) or abs(value) < np.finfo(values.dtype).tiny:
            assert result.tobytes() == value.tobytes()
            continue
        assert np.isfinite(result)
        exact = abs(Decimal(float(value)))
        error = abs(Decimal(float(result)) - Decimal(float(value)))
        if rounding.digits is None:
            assert error <= exact / 2 ** ((rounding.bits or 0) + 1)
        else:
            first = exact.log10().to_integral_value(ROUND_FLOOR)
            assert error <= Decimal(10) ** (first + 1 - rounding.digits) / 2


@given(roundings(), st.data())
def test_marks_of_missing_values(drawn: tuple[Rounding, NDArray[Any]], data: st.DataObject) -> None:
    rounding, values = drawn
    rounded = rounding.apply(values)
    results = [*values.tolist(), *rounded.tolist(), np.nan]
    marks = np.array(data.draw(st.lists(st.sampled_from(results), min_size=1, max_size=3)), values.dtype)
    kept = rounding.apply(values, marks)
    for mark in marks[np.isfinite(marks)]:
        assert np.array_equal(kept == mark, values == mark)
    is_usual = ~np.isin(rounded, marks) & ~np.isin(values, marks)
    assert np.array_equal(kept[is_usual], rounded[is_usual], equal_nan=True)


@given(roundings())
def test_bits_twice_are_bits_once(drawn: tuple[Rounding, NDArray[Any]]) -> None:
    rounding, values = drawn
    once = rounding.apply(values)
    if rounding.bits is not None:
        assert rounding.apply(once).tobytes() == once.tobytes()


def by_library(values: NDArray[Any], n: int, mode: Any) -> NDArray[Any]:
    with netCDF4.Dataset("x", "w", diskless=True) as file:
        file.createDimension("x", values.size)
        how: dict[str, Any] = {"zlib": True, "significant_digits": n, "quantize_mode": mode}
        variable = file.createVariable("x", values.dtype, ("x",), **how)
        variable.set_auto_mask(False)
        variable[:] = values
        file.sync()
        return np.array(variable[:])


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_the_same_numbers_as_the_library(dtype: str) -> None:
    random, limits = np.random.default_rng(7), np.finfo(dtype)
    exponents = random.uniform(np.log10(float(limits.tiny)) + 1, np.log10(float(limits.max)) - 1, 20_000)
    powers = np.array([10.0**i for i in range(-30, 31)], dtype)
    values = np.concatenate([
        random.choice([-1.0, 1.0], exponents.size) * 10**exponents,
        random.normal(0, 300, 20_000),
        *(np.nextafter(powers, np.array(towards, dtype)) for towards in (0, np.inf)),
        powers,
        2.0 ** np.arange(-100, 100),
    ]).astype(dtype)
    for mode, most in (("GranularBitRound", MOST_DIGITS), ("BitRound", MOST_BITS)):
        for n in (1, 2, 3, 4, 5, 6, most[values.itemsize]):
            rounding = Rounding(n) if mode == "GranularBitRound" else Rounding(bits=n)
            assert np.array_equal(rounding.apply(values), by_library(values, n, mode)), (mode, n)
