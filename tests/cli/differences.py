"""Intended differences of the command line from ds-format 5.0.2; `docs/differences.md` explains each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from ds_format._version import __version__


class Difference(NamedTuple):
    """The result of a recorded run here."""

    reason: str
    stdout: str = ""
    exit: int = 0
    outputs: Mapping[str, dict[str, Any]] = {}
    """Datasets that files hold, where the recorded ones are damaged or were not made."""


TIME = np.array([1, 2, 3])
TEMPERATURE = np.array([16.0, 18.0, 21.0])
META: dict[str, dict[str, Any]] = {
    "temperature": {".dims": ["time"], "long_name": "temperature", "units": "celsius"},
    "time": {".dims": ["time"], "long_name": "time", "units": "s"},
    ".": {"title": "Temperature data"},
}
BASE: dict[str, Any] = {"temperature": TEMPERATURE, "time": TIME, ".": META}


def base(**changes: Any) -> dict[str, Any]:
    """The dataset that most runs begin with, with other data or, as `meta`, other metadata."""
    meta = changes.pop("meta", {})
    return {**BASE, **changes, ".": {**META, **meta}}


def one(data: Any, dims: list[str] | None = None, name: str = "x") -> dict[str, Any]:
    """A dataset with one variable."""
    return {name: data, ".": {name: {} if dims is None else {".dims": dims}, ".": {}}}


def strings(*values: Any) -> Any:
    out = np.empty(len(values), object)
    out[:] = values
    return out


AB_Z = {
    "a": np.ma.MaskedArray(strings("x", None), [False, True]),
    "z": np.array([1, 2, 3]),
    ".": {"a": {".dims": ["i"]}, "z": {".dims": ["j"]}, ".": {}},
}
TABLE = {
    "time": np.array([1, 2, 3]),
    "temperature": np.array([16.0, 18.0, 21.0]),
    ".": {"time": {".dims": ["i"]}, "temperature": {".dims": ["i"]}, ".": {}},
}
PACKED = """.: {{ }}
p: {{
	.dims: { n }
	.netcdf: {{
		packed: true
	}}

	_FillValue: -1
	scale_factor: 0.500000
	add_offset: 10.000000
	.dtypes: {{
		_FillValue: int16
		scale_factor: float64
		add_offset: float64
	}}

	.size: { 2 }
	.offset: 0
	.len: 4
	.type: int16
	.missing: false
	.endian: l
}}
"""

DIFFERENCES = {
    "version": Difference("its own version", f"{__version__}\n"),
    "format-2.0.1-file": Difference("files of the 2.0.1 layout are read"),
    "ls-F-literal": Difference("names come in the order of the words", "temperature\ntime\n"),
    "ls-l-scalars": Difference(
        "variables without data", "{{ }}\na int64 { }\nb float64 { }\nc unicode { }\ne none { }\n"
    ),
    "ls-l-empty-typed": Difference("variables without data", "{{ }}\nx float64 { }\n"),
    "cat-empty-variable": Difference("variables without data", "e\n"),
    "cat-scalar-and-empty": Difference("variables without data", "a e\n5 none\n"),
    "select-empty-variable": Difference("variables without data", outputs={"out.ds": one(None)}),
    "select-zero-size": Difference("sizes of 0", outputs={"out.ds": one(np.zeros(0), ["i"])}),
    "set-on-file-with-zero-size-nodims": Difference(
        "sizes of 0", outputs={"out.ds": {"x": np.zeros(0), ".": {"x": {}, ".": {"a": 1}}}}
    ),
    "select-to-csv": Difference("columns are in the order of the dataset", outputs={"out.csv": TABLE}),
    "select-to-tsv": Difference("columns are in the order of the dataset", outputs={"out.tsv": TABLE}),
    "cat-bool-scalar": Difference("booleans that do not fill a byte", "flag\ntrue\n"),
    "cat-bool-three": Difference("booleans that do not fill a byte", "x\ntrue\nfalse\ntrue\n"),
    "select-bool7": Difference(
        "booleans that do not fill a byte", outputs={"out.ds": one(np.array([True, False, True]), ["i"])}
    ),
    "select-missing-str-roundtrip": Difference("missing strings", outputs={"out.ds": AB_Z}),
    "cat-after-missing-str": Difference("missing strings", "z\n1\n2\n3\n"),
    "cat-after-str-roundtrip": Difference("copies of byte strings", "z\n1\n2\n3\n"),
    "cat-no-var": Difference("cat without a variable is an error", exit=1),
    "cat-negative-offset": Difference("what lies outside of the file is refused", exit=1),
    "cat-sel-two-lists": Difference("two lists select a grid", "p\n1.000000 2.000000\n5.000000 6.000000\n"),
    "cat-between-var-not-dim": Difference("between selects by any variable", "p\n2\n3\n"),
    "cat-range-beyond": Difference("a range ends where the dimension ends", "time\n1\n2\n3\n"),
    "cat-hidden-name": Difference("names with a dot", ".hid\n1\n2\n"),
    "cat-uint64": Difference("integers stay integers", "x\n18446744073709551615\n0\n"),
    "cat-bytes-json-not-utf8": Difference("bytes that are not UTF-8 in JSON", '"x"\n"a"\n"\\udcff"\n'),
    "dim-glob": Difference("-F of dim means what it means elsewhere", "3\n"),
    "dim-glob-F": Difference("-F of dim means what it means elsewhere", exit=1),
    "stats-missing": Difference(
        "missing values do not count",
        "count: 2 min: 1 max: 3 mean: 2.000000 median: 2.000000 std: 1.000000 "
        "p68: { 1.320000 2.680000 } p95: { 1.050000 2.950000 } p99: { 1.010000 2.990000 }\n",
    ),
    "stats-bool": Difference(
        "booleans are numbers",
        "count: 8 min: 0 max: 1 mean: 0.625000 median: 1.000000 std: 0.484123 "
        "p68: { 0.000000 1.000000 } p95: { 0.000000 1.000000 } p99: { 0.000000 1.000000 }\n",
    ),
    "set-type-unicode": Difference(
        "any type is converted",
        outputs={"out.ds": base(time=strings("1", "2", "3"))},
    ),
    "set-str-type-new": Difference("any type is converted", outputs={"out.ds": one(strings(b"a", b"b"), ["i"], "s")}),
    "set-unicode-type-new": Difference("any type is converted", outputs={"out.ds": one(strings("a", "b"), ["i"], "s")}),
    "set-uint8-overflow": Difference("what does not fit a type is refused", exit=1),
    "set-missing-2d": Difference(
        "missing values keep the shape",
        outputs={"out.ds": one(np.ma.MaskedArray([[1, 0], [3, 4]], [[False, True], [False, False]]))},
    ),
    "set-dims-auto": Difference(
        "{ } resets dimensions",
        outputs={"out.ds": base(meta={"temperature": {**META["temperature"], ".dims": ["temperature_1"]}})},
    ),
    "set-none-attrs": Difference("none is the dataset", outputs={"out.ds": base(meta={".": {"title": "X"}})}),
    "set-glob-F": Difference("-F is an option everywhere, and no variable has this name", exit=1),
    "set-F-first": Difference("-F works, and no variable has this name", exit=1),
    "rename-F-attr": Difference(
        "-F works",
        outputs={"out.ds": base(meta={"temperature": {".dims": ["time"], "long_name": "temperature", "u": "celsius"}})},
    ),
    "rename-swap": Difference(
        "all names change at once",
        outputs={
            "out.ds": {
                "temperature": TIME,
                "time": TEMPERATURE,
                ".": {
                    "temperature": {**META["time"], ".dims": ["temperature"]},
                    "time": {**META["temperature"], ".dims": ["temperature"]},
                    ".": META["."],
                },
            }
        },
    ),
    "rename-to-number": Difference(
        "a name may look like a number",
        outputs={
            "out.ds": {
                "temperature": TEMPERATURE,
                "5": TIME,
                ".": {
                    "temperature": {**META["temperature"], ".dims": ["5"]},
                    "5": {**META["time"], ".dims": ["5"]},
                    ".": META["."],
                },
            }
        },
    ),
    "merge-dim-number": Difference(
        "a name may look like a number",
        outputs={
            "out.ds": {
                "temperature": TEMPERATURE[np.newaxis],
                "time": TIME[np.newaxis],
                ".": {
                    "temperature": {**META["temperature"], ".dims": ["5", "time"]},
                    "time": {**META["time"], ".dims": ["5", "time"]},
                    ".": META["."],
                },
            }
        },
    ),
    "rename_dim-unknown-strict": Difference("strict mode holds everywhere", exit=1),
    "cat-unknown-soft": Difference("no heading without data", exit=1),
    "cat-unknown-soft-t": Difference("no heading without data", exit=1),
    "mode-env-invalid": Difference("no heading without data", exit=1),
    **{
        name: Difference("a query of what does not exist", exit=1)
        for name in (
            *("attrs-unknown-var", "attrs-unknown-attr", "attrs-dot", "dims-unknown", "size-unknown"),
            *("type-unknown", "meta-unknown", "stats-unknown"),
        )
    },
    "cat-sel-unknown-dim": Difference("a selector that selects by nothing", exit=1),
    "select-unknown-var": Difference("nothing to write", exit=1),
    "set-soft-unknown": Difference("nothing to change", exit=1),
    "rm-unknown": Difference("nothing to change", exit=1),
    "rename-unknown": Difference("nothing to change", exit=1),
    "rename_dim-unknown": Difference("nothing to change", exit=1),
    "select-nc-packed": Difference("packed values stay packed", PACKED),
    "select-nc-roundtrip-fillvalue": Difference(
        "what came from NetCDF goes back",
        outputs={
            "out.nc": {
                "p": np.array([10, 11], "f4"),
                ".": {"p": {".dims": ["n"], "_FillValue": np.float32(-1)}, ".": {}},
            }
        },
    ),
    "select-scalar-string-to-nc": Difference("strings in NetCDF", outputs={"out.nc": {"s": "hello", ".": {".": {}}}}),
    "select-bool-to-nc": Difference(
        "booleans in NetCDF",
        outputs={"out.nc": {"s": np.array([True, False] * 4), ".": {"s": {".dims": ["i"]}, ".": {}}}},
    ),
}
"""By the names of the cases in `tests/golden/cli/cli_cases.json`."""
