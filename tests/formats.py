"""The formats that tests run for. They follow the records of the formats, so that an added format is in each list.

It is short, because it only names groups of formats.
"""

from __future__ import annotations

from typing import Any

from ds_format.drivers import BUILT_IN, FILE, TIMES

SUFFIX = {name: format.suffixes[0] for name, format in BUILT_IN.items()}
SUFFIXES = [*SUFFIX.values()]
STRAIGHT = [SUFFIX[name] for name, format in BUILT_IN.items() if format.creation >= FILE]
"""Of formats that can do without a temporary name."""
TIMED = [SUFFIX[name] for name, format in BUILT_IN.items() if format.creation >= TIMES]
"""Of formats that have no type of times."""
RECORDS = [SUFFIX[name] for name, format in BUILT_IN.items() if "key" in format.creation]
DATASETS = [SUFFIX[name] for name, format in BUILT_IN.items() if format.is_shaped]
"""Of formats that have attributes and shapes."""
FOR_OTHERS = [SUFFIX[name] for name, format in BUILT_IN.items() if format.unpack is None]
"""Of formats that get unpacked numbers, for programs that know no scale."""


def rows(**values: Any) -> list[tuple[str, Any]]:
    """Return the suffix of each format with a value for it, without those whose value is None.

    It fails if a format has no value, which names those to which a test does not apply.
    """
    assert values.keys() == BUILT_IN.keys(), f"no row: {BUILT_IN.keys() - values.keys()}"
    return [(SUFFIX[name], value) for name, value in values.items() if value is not None]
