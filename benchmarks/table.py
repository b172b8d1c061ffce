"""Results as markdown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from statistics import median

from . import targets
from .runner import Group
from .timing import Result
from .ways import OURS

REACHED = {True: "✓", False: "✗"}
MISSING = "-"
"""Replaces a figure that no report has."""
UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (0.0, "ns"))  # noqa: RUF001 - the sign of micro


def markdown(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table with columns of even width."""
    lines = [list(header), *map(list, rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    lines.insert(1, ["-" * width for width in widths])
    return "\n".join(
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) + " |" for line in lines
    )


def group_table(group: Group, conditions: str, results: Mapping[str, Result], skipped: Mapping[str, str]) -> str:
    """Return title, note, conditions and table of a group; one row per case and way."""
    rows: list[Sequence[str]] = []
    for case in group.cases:
        if case.name in results:
            rows += _rows(results[case.name])
        elif case.name in skipped:
            rows.append([case.name, "left out", "", "", "", skipped[case.name], ""])
    if not rows:
        return ""
    header = ["work", "by", "median", "least … most", "rate", "beside ds_format", "target"]
    return f"## {group.title}\n\n{group.note}\n\n{conditions}\n\n{markdown(header, rows)}\n"


def _rows(result: Result) -> Iterable[Sequence[str]]:
    for i, (way, values) in enumerate(result.values.items()):
        note = result.notes[way]
        typical = result.median(way)
        yield [
            result.case if i == 0 else "",
            f"{way}: {note}" if note else way,
            quantity(typical, result.unit),
            f"{quantity(min(values), result.unit)} … {quantity(max(values), result.unit)}" if len(values) > 1 else "",
            rate(result.size / typical) if result.size else "",
            _beside(result, way) if i else "",
            "; ".join(_judged(result, way)),
        ]


def _beside(result: Result, way: str) -> str:
    ratios = sorted(result.ratios(OURS, way))
    typical = median(ratios)
    word = "slower" if result.unit == "s" else "more"
    if typical < 1:
        ratios = sorted(1 / ratio for ratio in ratios)
        word = "faster" if result.unit == "s" else "less"
    return f"{times(median(ratios))} {word} ({times(ratios[0])} … {times(ratios[-1])})"


def _judged(result: Result, way: str) -> Iterable[str]:
    for claim, bound in targets.of(result.case, way):
        verdict = targets.judge(claim, bound, result)
        if verdict is not None:
            yield f"{_wanted(claim, bound.limit)} {REACHED[verdict.reached]}"


def _wanted(claim: targets.Claim, limit: float) -> str:
    if claim.kind == "at most":
        return f"≤ {targets.amount(limit, claim.unit)}"
    return f"≥ {limit:g}x slower" if claim.kind == "faster" else f"ds_format within {limit:g}x"


def summary(results: Mapping[str, Result]) -> str:
    """Return the table of targets with what was measured."""
    rows = []
    for goal in targets.GOALS:
        wanted = "; ".join(claim.text() for claim in goal.claims)
        rows.append([goal.work, wanted, "; ".join(_measured(claim, results) for claim in goal.claims)])
    return markdown(["work", "target", "measured"], rows)


def _measured(claim: targets.Claim, results: Mapping[str, Result]) -> str:
    """Return the measured values of all bounds. A claim is only reached if all of them were measured."""
    verdicts = [
        targets.judge(claim, bound, results[bound.case]) if bound.case in results else None for bound in claim.bounds
    ]
    figures = " / ".join(MISSING if verdict is None else _value(claim, verdict.value) for verdict in verdicts)
    if any(verdict is not None and not verdict.reached for verdict in verdicts):
        return f"{figures} {REACHED[False]}"
    return figures if None in verdicts else f"{figures} {REACHED[True]}"


def _value(claim: targets.Claim, value: float) -> str:
    return quantity(value, claim.unit) if claim.kind == "at most" else times(value)


def times(ratio: float) -> str:
    """Return a factor as text."""
    return f"{ratio:.0f}x" if ratio >= 20 else f"{ratio:.1f}x" if ratio >= 4 else f"{ratio:.2f}x"


def rate(speed: float) -> str:
    """Return bytes per second as text."""
    return f"{speed / 1e9:.2f} GB/s" if speed >= 1e8 else f"{speed / 1e6:.1f} MB/s"


def quantity(value: float, unit: str) -> str:
    """Return seconds, units of 1e6 bytes, or a number of something else, as text."""
    if unit != "s":
        return f"{value:.1f} MB" if unit == "MB" else f"{value:g} {unit.removesuffix('s') if value == 1 else unit}"
    scale, name = next(row for row in UNITS if abs(value) >= row[0])
    return f"{value / (scale or 1e-9):.3g} {name}"
