"""What was written, read back and compared with what was to be written.

A ds file holds all: values bit by bit, masks, types, dimensions and attributes. Of other formats values, masks and
dimensions are compared, and attributes that are there. Types may be others, and what a format does not hold its Sink
has said. Tables of text have no dimensions, and of one of which something was said values are not compared either.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ... import drivers
from ...api.creation import Coding
from ...base.names import unescape
from ...comparison.values import Rule, Tally, alike_attributes, pairs, same_attributes, tally
from ...dataset import META, attrs, dims
from ...errors import DsError, IntegrityError
from ...model.selection import Selection
from ...views.subset import Subset, open_subset

DATE_ERROR = 1e-6
"""Days by which Julian dates may differ that were written in other units."""

_PROPERTIES = (".size", ".type", ".dims", ".missing", ".records")


def compare(part: Subset, written: str, *, jd: bool = False, lossy: bool = False, times: str | None = None) -> None:
    """Check that a file holds what it was made of.

    Parameters
    ----------
    part : Subset
        What it was made of.
    written : str
        The file.
    jd : bool
        Whether times were read as Julian dates.
    lossy : bool
        Whether it was said already that the file does not hold everything.
    times : str, optional
        How times were written; see `creation.create_sink`.

    Raises
    ------
    IntegrityError
        If something differs.
    """
    format = drivers.find(written)
    exact, shaped = format.is_exact, format.is_shaped
    coding = Coding(part.meta, format, part.source.meta, times=times)
    with open_subset(written, Selection(jd=jd and not exact), format=format, verify="verify" in format.options) as back:
        for key, entry in coding.meta.items():
            found = back.meta.get(key)
            name = None if key == META else unescape(key)
            try:
                if found is None:
                    if not lossy and (exact or entry.get(".size") is not None):
                        raise IntegrityError("it is not there when the file is read back")
                    continue
                _compare_attributes(attrs(entry), attrs(found), exact=exact)
                if key != META:
                    if shaped:
                        _compare_shape(key, entry, found, (".size", ".type") if exact else (".size",))
                    if shaped or not lossy:
                        blocks = coding.blocks(key, part.blocks(key))
                        is_date = entry.get(".time") is True and not exact
                        _compare_values(blocks, back.blocks(key), exact=exact, is_date=is_date)
            except DsError as error:
                raise error.at(path=written, variable=name)


def _compare_attributes(given: Mapping[str, Any], found: Mapping[str, Any], *, exact: bool) -> None:
    for name, value in given.items():
        if name.startswith(".") and (name in _PROPERTIES or not exact):
            continue
        if name not in found:
            if exact:
                raise IntegrityError(f'attribute "{name}" is not there when the file is read back')
        elif not (same_attributes if exact else alike_attributes)(value, found[name]):
            raise IntegrityError(f'attribute "{name}": read back {found[name]!r}, expected {value!r}')


def _compare_shape(key: str, given: Mapping[str, Any], found: Mapping[str, Any], names: tuple[str, ...]) -> None:
    for name in names:
        if given.get(name) != found.get(name) and given.get(".size") is not None:
            raise IntegrityError(f"{name}: read back {found.get(name)}, expected {given.get(name)}")
    n = len(given.get(".size") or ())
    ours, theirs = list(dims(key, given, n)), list(dims(key, found, n))
    if ours != theirs:
        raise IntegrityError(f".dims: read back {theirs}, expected {ours}")


def _compare_values(blocks: Iterator[Any], back: Iterator[Any], *, exact: bool, is_date: bool) -> None:
    rule = Rule(atol=DATE_ERROR if is_date else 0.0, bits=exact, loose=not exact)
    found = tally(pairs(blocks, back), rule, first=True)
    if found.differs:
        raise IntegrityError(f"value {_first(found)} differs when the file is read back")


def _first(found: Tally) -> int:
    return min(one.position for one in (found.first, found.first_missing) if one is not None)
