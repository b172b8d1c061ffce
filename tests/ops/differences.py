"""Where the functions on datasets differ from ds-format 5.0.2 on purpose, and calls that show it."""

from __future__ import annotations

from typing import NamedTuple

MODES = ("soft", "moderate", "strict")
STRICTER = ("moderate", "strict")


class Difference(NamedTuple):
    """One row of the table."""

    theirs: str
    """The result of the reference."""
    ours: str
    """The result of this package."""
    why: str
    calls: tuple[str, ...]
    """Code as in `cases`."""
    modes: tuple[str, ...] = ("soft",)
    more: tuple[tuple[str, str], ...] = ()
    """More calls, each with its mode."""

    def shown_by(self) -> list[tuple[str, str]]:
        """Return mode and code of all calls."""
        return [*((mode, code) for mode in self.modes for code in self.calls), *self.more]


def _set(data: str) -> str:
    return f"ds.var(d, 'new', {data}), ds.var(d, 'new'), ds.type(d, 'new')"


def _type(data: str, name: str) -> str:
    return f"(c := {{'x': {data}}}), ds.type(c, 'x', {name!r}), ds.type(c, 'x')"


def _kept(call: str, dataset: str = "{'x': M([1, 2, 3, 4], mask=[1, 1, 0, 0]), '.': {'x': {'.dims': ['i']}}}") -> str:
    return f"(c := {dataset}), {call}"


DIFFERENCES = (
    Difference(
        "`var` flattens nested lists with None",
        "keeps their shape",
        "the shape is data",
        (_set("[[1, None], [3, 4]]"), "ds.var({'x': [[1, None], [3, 4]]}, 'x')"),
    ),
    Difference(
        "`var` makes integers of booleans with None or integers, floats of large integers, and text of numbers",
        "keeps booleans, and raises if no type holds all values of a list exactly",
        "values would change silently",
        (_set("[True, None]"), _set("[2**64 - 1, -1]"), _set("[1, True]"), _set("['a', 1]"), _set("[1, np.ma.masked]")),
    ),
    Difference(
        "`var` makes a list of missing values int64",
        "float64, as an empty list",
        "one type for lists without values",
        (_set("[None]"), _set("[None, None]")),
    ),
    Difference(
        "`var` cuts NULs from the end of text in lists",
        "keeps them, in an object array",
        "values would change silently",
        (_set("['a\\0', 'b']"), _set("[b'a\\0']"), _set("'a\\0'")),
    ),
    Difference(
        "`var` accepts object arrays with None, or with text and bytes; writing them fails later",
        "None is missing; a mix is an error",
        "the mistake is reported at once",
        (_set("np.array(['a', None], 'O')"), _set("np.array(['a', b'b'], 'O')"), _set("np.array(None, 'O')")),
    ),
    Difference(
        "`var` of float16: `invalid data type`",
        "it is a type",
        "data of half precision are common",
        (_set("np.float16(1)"),),
    ),
    Difference(
        "`var` of an unsupported type: `invalid data type`",
        "the error names variable and type",
        "the cause is visible",
        (
            _set("1j"),
            _set("{}"),
            _set("2**64"),
            _set("np.array([1, None], 'O')"),
            _set("range(3)"),
        ),
    ),
    Difference(
        "`var` makes a missing scalar float64, and flattens a list of masked arrays",
        "a missing scalar keeps its type, and a list of arrays is stacked",
        "types and shapes are data",
        (_set("M(np.int32(5), mask=True)"), _set("[M([1, 2], mask=[0, 1])]")),
    ),
    Difference(
        "`var` that sets data leaves `.size` and `.type` of the old data in the metadata",
        "updates them if they are present",
        "metadata match the data",
        ("ds.var(d, 'm', 5)",),
        MODES,
    ),
    Difference(
        "`type` wraps integers, and converts NaN and infinity to numbers, and large floats to infinity",
        "raises, names the value, and changes nothing; fractions are cut off in both",
        "values would change silently",
        (
            *(_type(data, "uint8") for data in ("np.array([1.5, -2.7])", "np.array([100, -1])", "[300]", "[np.nan]")),
            *(_type("np.array([1e300])", name) for name in ("int64", "float32")),
            _type("[np.nan]", "bool"),
        ),
    ),
    Difference(
        "`type` to `str` or `unicode` is always a TypeError if there are data",
        "converts numbers to text, and text to UTF-8 bytes and back",
        "it is documented",
        tuple(_type(data, name) for data in ("[1, 2]", "2.5", "['a', None]", "[b'a']") for name in ("str", "unicode")),
    ),
    Difference(
        "`type` of text that is not a number, or in strict mode of a variable that does not exist, leaves the new "
        "`.type` in the metadata",
        "the error names the variable, and nothing is changed",
        "metadata match the data",
        (
            *(_type("['a', '']", name) for name in ("int8", "uint8", "float32", "float64", "int64")),
            *(_type("[b'1.5']", name) for name in ("int8", "uint8", "int64")),
        ),
        more=(
            *((mode, "ds.type(d, 's', 'int8')") for mode in MODES),
            *(("strict", f"ds.type(d, {name!r}, 'int8')") for name in ("nope", ".")),
        ),
    ),
    Difference(
        "`type` to an unknown type: `invalid type`",
        "the error names it, and all types",
        "it can be corrected",
        ("ds.type(d, 'x', 'foo')",),
    ),
    Difference(
        "`size` of a variable with metadata only, without a size, is a TypeError",
        "an empty list, as without data",
        "such variables come from files",
        ("ds.size({'.': {'e': {'.size': None}}}, 'e')",),
    ),
    Difference(
        "`dims(d, var, None)` is refused, and a tuple stays one",
        "removes the names, and converts a tuple to a list",
        "it is documented; JSON does not have tuples",
        ("ds.dims(d, 'x', None)", "ds.dims(d, 'x', ('a',))"),
    ),
    Difference(
        "`dims(d, var)` returns the list in the metadata",
        "a copy",
        "changing it would change the dataset",
        ("ds.dims(d, 'x').append('j')",),
    ),
    Difference(
        "`dims(size=True)` of a variable with more names than dimensions is an IndexError",
        "the size of extra names is None; `validate` reports them",
        "inspecting a dataset must not fail",
        ("ds.dims({'x': [1], '.': {'x': {'.dims': ['i', 'j']}}}, 'x', size=True)",),
    ),
    Difference(
        "`meta(d, '', value)` sets the metadata of a variable without a name; `type`, `dims` and `time` of `''` "
        "those of the dataset",
        "the other way round",
        "`meta(d, '')` returns the attributes of the dataset",
        ("ds.meta(d, '', dict(a=1))", "ds.meta(d, '', None)", "ds.dims(d, '', ['a'])", "ds.time(d, '', True)"),
        MODES,
        (*((mode, "ds.type(d, '', 'int8')") for mode in MODES), *((mode, "ds.time(d, '')") for mode in STRICTER)),
    ),
    Difference(
        "`rm` and `rename_dim` of unknown names are silent in all modes",
        "respect the mode",
        "as in all other functions",
        (
            *(f"ds.rm(d, {name!r})" for name in ("nope", "", ".")),
            *(f"ds.rename_dim(d, {name!r}, 'new')" for name in ("nope", "x_1", "i*")),
        ),
        STRICTER,
    ),
    Difference(
        "`rename_m` and `rename_dim_m` rename dimensions one after the other",
        "at once, so that two can swap their names",
        "it is documented; sizes would be wrong",
        ("ds.rename_dim_m(g, {'i': 't', 't': 'i'})", "ds.rename_m(g, {'i': 't', 't': 'i'})"),
    ),
    Difference(
        "`rename_m` and `rename_attr_m` rename two to one name, and lose one",
        "raise",
        "data would be lost silently",
        ("ds.rename_m(g, {'i': 'k', 't': 'k'})", "ds.rename_attr_m(d, {'units': 'a', '.a': 'a'}, 'x')"),
    ),
    Difference(
        "`rename` converts text to NumPy scalars, and adds empty metadata",
        "does not change data and metadata",
        "only the name changes",
        ("ds.rename(d, 's', 'new')", "ds.rename(d, 'n', 'new')"),
        MODES,
    ),
    Difference(
        "`select` needs `sel`, and metadata of all variables",
        "needs neither",
        "it is documented",
        (
            "ds.select(g, range_={'i': [0, 1]})",
            "ds.select(d, {'i': 0})",
            _kept("ds.select(c, {'x_1': 0})", "{'x': [1, 2]}"),
        ),
    ),
    Difference(
        "`select` with a slice, with an end beyond the size, with `at` or `between` of a variable that does not have "
        "the name of its dimension, or with a time in ISO 8601, fails or selects all",
        "selects",
        "it is documented, or the intent is clear",
        (
            *("ds.select(g, {'i': slice(1, None)})", "ds.select(g, {}, {'i': [0, 9]})"),
            *(
                _kept(
                    call,
                    "{'lat': np.array([-10., 0, 10]), 'p': np.arange(3), '.': {'lat': {'.dims': ['i'], "
                    "'units': 'days since 2000-01-01'}, 'p': {'.dims': ['i']}}}",
                )
                for call in ("ds.select(c, {}, between={'lat': [0, 20]})", "ds.select(c, {}, at={'lat': '2000-01-09'})")
            ),
        ),
    ),
    Difference(
        "`split` puts the attributes of the dataset under `''`, adds a `.size` where there was none, and drops "
        "variables that have only metadata",
        "keeps all of these",
        "attributes would be lost",
        ("ds.split(g, 't')", "ds.split(g, ('i',))"),
    ),
    Difference(
        "`split` fails on variables without data, along several dimensions if a variable has only one of them, and "
        "along none",
        "splits",
        "it is documented",
        ("ds.split(d, 'i')", "ds.split(g, ['t', 'i'])", "ds.split(g, [])", "ds.split(d, 'nope')"),
    ),
    Difference(
        "`group_by` and `apply` lose missing values",
        "missing in, missing out",
        "the values below a mask mean nothing",
        (
            *("ds.group_by(g, 'i', np.array([5, 3, 5]), np.max)", "ds.group_by(g, 't', np.array(['b', 'a']), np.max)"),
            *(
                _kept("ds.group_by(c, 'i', np.array([0, 0, 1, 1]), np.mean)"),
                _kept("ds.apply(c, lambda x: x + 1, 'i')"),
            ),
        ),
    ),
    Difference(
        "`group_by` and `apply` convert results to the type of the variable: the mean 1.5 of integers is 1",
        "integers, if all results for integers are whole; else results keep their type",
        "a mean of integers may have a fraction",
        ("ds.group_by(d, 'i', np.array([0, 0, 1]), np.mean)", "ds.apply(d, lambda x: x / 2, 'i', vars='x')"),
    ),
    Difference(
        "`group_by` refuses a list of groups, and does not explain an array of a wrong length",
        "accepts lists, and names both lengths",
        "it is documented",
        ("ds.group_by(d, 'i', [0, 0, 1], np.sum)", "ds.group_by(d, 'i', np.array([0, 0]), np.sum)"),
    ),
    Difference(
        "`apply` refuses `dims=None`",
        "a slice is the whole variable",
        "it is documented",
        ("ds.apply(d, np.size)",),
    ),
    Difference(
        "`apply` with `dims` in another order than in the variable names the dimensions of the result wrong",
        "in the order of the variable, as `func` gets them",
        "sizes and names must match",
        ("ds.apply(d, lambda x: x, ['i', 't'])",),
    ),
    Difference(
        "`apply` fails on results that are lists, text or numbers without `ndim`, and without dimensions, and does not "
        "explain results of wrong shape",
        "accepts them, and names the variable",
        "functions return such values",
        (
            *("ds.apply(d, lambda x: [1, 2], 'i', ['k'])", "ds.apply(d, lambda x: 'a', 'i')", "ds.apply(d, str, [])"),
            *("ds.apply(d, lambda x: None, 'i')", "ds.apply(d, lambda x: np.outer(x, x), 'i')"),
            *(
                "ds.apply(d, lambda x: x[:int(x[0]) + 1], 'i')",
                "ds.apply(d, np.sum, 'i', 5)",
                "ds.apply(d, np.sum, vars=5)",
            ),
        ),
    ),
    Difference(
        "`group_by` is silent about unknown dimensions in all modes",
        "respects the mode",
        "as in all other functions",
        ("ds.group_by(d, 'nope', np.array([0]), np.sum)",),
        STRICTER,
    ),
    Difference(
        "`with_mode` accepts any mode, which acts like soft",
        "raises",
        "`with_mode('strct')` would hide mistakes",
        ("ds.with_mode('foo').__enter__()",),
    ),
    Difference(
        "`time` of two values: `value: invalid type`",
        "`only one value argument is expected`",
        "as in all other functions",
        ("ds.time(d, 'x', True, False)",),
    ),
)
