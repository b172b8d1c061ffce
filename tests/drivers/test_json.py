"""JSON: what is written is read again, and what is wrong in a file is named."""

from __future__ import annotations

import json
import subprocess
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

import ds_format as ds
from ds_format.base.dtypes import TYPES
from ds_format.codec.encode import properties_of
from ds_format.datasets import as_array
from ds_format.drivers import json_
from ds_format.drivers.json_ import nested
from ds_format.kernels.json.decode import Unusual

from .. import golden_text
from ..same import same_data, same_metadata, same_object
from ..strategies import arrays, datasets

NAMES = golden_text.names("json")


def one_nan(data: Any) -> Any:
    """Return data with every NaN as the one that JSON has."""
    array = as_array(data)
    if array is None or array.dtype.kind != "f":
        return array
    values = np.ma.getdata(array).copy()
    values[np.isnan(values)] = np.nan
    return np.ma.MaskedArray(values, np.ma.getmaskarray(array))


def write(path: Path, text: str | bytes) -> Path:
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


@pytest.mark.parametrize("name", NAMES)
def test_golden_files(name: str) -> None:
    golden_text.check("json", name)


def test_all_golden_files_are_there() -> None:
    assert len(NAMES) == 5


@pytest.mark.filterwarnings("ignore:.*have a payload")
@given(datasets())
def test_a_dataset_comes_back(dataset: dict[str, Any]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.json"
        ds.write(path, dataset)
        found = ds.read(path)
        ds.convert(path, Path(folder) / "b.json")
        assert (Path(folder) / "b.json").read_bytes() == path.read_bytes()
    assert list(found) == list(dataset)
    for key, data in dataset.items():
        if key != ".":
            assert same_data(one_nan(data), one_nan(found[key])), key
            assert same_metadata(dataset["."][key], found["."][key]), key
    assert same_metadata(dataset["."]["."], found["."]["."])


@pytest.mark.filterwarnings("ignore:.*have a payload")
@given(arrays(), st.integers(1, 400))
def test_a_variable_comes_back_from_blocks(array: Any, budget: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path, again = Path(folder) / "a.json", Path(folder) / "b.json"
        ds.write(path, {"x": array})
        sink = json_.JsonSink(again, {"w": {".size": None}, "x": properties_of(array, None), "y": {".size": [0, 2]}})
        with ds.open(path) as file:
            sink.write("x", file["x"].blocks(budget))
        sink.commit()
        found = ds.read(again)
    assert list(found) == ["w", "x", "y", "."]
    assert same_data(one_nan(found["x"]), one_nan(array))
    assert found["y"].shape == (0, 2)
    assert found["y"].dtype == float


@given(st.lists(st.integers(1, 4), min_size=1, max_size=4), st.lists(st.integers(1, 9)))
def test_nested_lists_in_pieces(size: list[int], cuts: list[int]) -> None:
    array = np.arange(int(np.prod(size))).reshape(size)
    ends = sorted({*(cut for cut in np.cumsum(cuts).tolist() if cut < array.size), array.size})
    text = ""
    for start, end in zip([0, *ends], ends, strict=False):
        text += "".join(nested(start, tuple(size), array.reshape(-1)[start:end], np.ndarray.tolist))
    assert text == json.dumps(array.tolist())


@pytest.mark.filterwarnings("ignore:.*leaves nothing", "ignore:.*have a payload")
@given(arrays(), st.data())
def test_a_part_of_a_variable(array: Any, data: st.DataObject) -> None:
    index = tuple(data.draw(st.slices(n)) for n in array.shape)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.json"
        ds.write(path, {"x": array})
        with ds.open(path) as file:
            found = file["x"][index]
            assert same_data(file["x"][...], file["x"][...])
    assert same_data(one_nan(found), one_nan(array[index] if array.ndim else array))


def test_the_text(tmp_path: Path) -> None:
    dataset = {
        "f": np.array([[0.1, 1e10], [16777216, np.nan]], "f4"),
        "b": np.array([b"a\xff", "ž".encode()], object),
        "m": np.ma.MaskedArray(np.array([1, 2], "u1"), [False, True]),
        "n": None,
        "s": np.ma.MaskedArray(5, True),
        "z": np.zeros((2, 0, 3), "i2"),
        ".": {"f": {".dims": ["x", "y"], "a": np.float32(0.5), ".offset": 3, ".endian": "l"}, ".": {}},
    }
    ds.write(tmp_path / "a.json", dataset)
    assert (tmp_path / "a.json").read_text() == (
        '{"f": [[0.1, 10000000000.0], [16777216.0, NaN]], "b": ["a\\udcff", "\\u017e"], "m": [1, null], "n": null, '
        '"s": null, "z": [[], []], ".": {'
        '"f": {".dims": ["x", "y"], "a": 0.5, ".dtypes": {"a": "float32"}, ".size": [2, 2], ".type": "float32"}, '
        '"b": {".size": [2], ".type": "str"}, "m": {".size": [2], ".type": "uint8"}, '
        '"n": {".size": null, ".type": null}, "s": {".size": [], ".type": "int64"}, '
        '"z": {".size": [2, 0, 3], ".type": "int16"}, ".": {}}}'
    )


def test_payloads_of_nan(tmp_path: Path) -> None:
    bits = np.array([0x7FF8000000000000, 0xFFF8000000000000, 0x7FF8000000000001, 0x7FF0000000000001], "u8")
    with pytest.warns(ds.LossWarning, match=r'a.json: variable "x": 2 NaN have a payload, which JSON cannot hold'):
        ds.write(tmp_path / "a.json", {"x": bits.view("f8").astype(">f8")})
    ds.write(tmp_path / "a.json", {"x": np.ma.MaskedArray(bits.view("f8"), [False, False, True, True])})
    assert np.isnan(ds.read(tmp_path / "a.json")["x"].compressed()).all()


def test_every_single_comes_back() -> None:
    bits = np.random.default_rng(0).integers(0, 1 << 32, 50_000, "u4")
    array = np.concatenate([bits, np.array([1, 0x7F7FFFFF, 0x00800000, 0x80000000], "u4")]).view("f4")
    array = array[~np.isnan(array)]
    with tempfile.TemporaryDirectory() as folder:
        ds.write(Path(folder) / "a.json", {"x": array})
        assert same_data(ds.read(Path(folder) / "a.json")["x"], array)


@pytest.mark.parametrize(
    ("text", "dtype", "data"),
    [
        ("[1, 2]", "i8", [1, 2]),
        ("[1, 2.5, null]", "f8", [1.0, 2.5, None]),
        ("[18446744073709551615]", "u8", [18446744073709551615]),
        ('["a", null]', "O", ["a", None]),
        ("[[true], [false]]", "?", [[True], [False]]),
        ("[null, null]", "f8", [None, None]),
        ("[]", "f8", []),
        ("[[], []]", "f8", [[], []]),
        ("5", "i8", 5),
        ('"text"', "O", "text"),
        ("[-Infinity]", "f8", [float("-inf")]),
    ],
)
def test_lists_without_types(text: str, dtype: str, data: Any, tmp_path: Path) -> None:
    array = as_array(ds.read(write(tmp_path / "a.json", f'{{"x": {text}}}'))["x"])
    assert array.dtype == dtype
    assert array.tolist() == data


SIGNS = st.sampled_from(["", "-"])
INTEGERS = st.builds(
    lambda sign, bits, more: f"{sign}{(1 << bits) + more}", SIGNS, st.integers(1, 62), st.integers(-2, 2)
)
DECIMALS = st.one_of(
    st.floats().map(json.dumps),
    st.floats(width=16).map(json.dumps),
    st.from_regex(r"-?(0|[1-9][0-9]{0,25})(\.[0-9]{1,25})([eE][-+]?[0-9]{1,4})?", fullmatch=True),
)
STRINGS = st.text(max_size=9).map(json.dumps)
BOOLEANS = st.sampled_from(["true", "false"])
SPECIAL_NUMBERS = [
    "-0",
    "-0.0",
    "16777217",
    "2049",
    "1e400",
    str(1 << 63),
    str(-1 << 63),
    str(-1 << 64),
    f"0.{'1' * 70}",
]
UNUSUAL_STRINGS = ['"ž"', '"\\ud800"', '"\\udcff"']
NOT_VALUES = ["01", "1.", "-", "+1", ".5", "1e", "nul", "-NaN", "'a'", '"a', "[1]", "[]", '{"a": [1, 2]}', ""]
ANYTHING = st.one_of(
    INTEGERS, DECIMALS, STRINGS, BOOLEANS, st.sampled_from([*SPECIAL_NUMBERS, *UNUSUAL_STRINGS, *NOT_VALUES])
)


@st.composite
def json_texts(draw: st.DrawFn) -> bytes:
    """Return a dataset of nested lists, most of which have one shape and one kind, or nearly so."""

    def seldom() -> bool:
        return draw(st.integers(0, 49)) == 0

    def nested_text(items: st.SearchStrategy[str], size: list[int]) -> str:
        if seldom():
            return draw(ANYTHING)
        if not size:
            return draw(items)
        comma = draw(st.sampled_from([", ", ",", "\n ,"]))
        return f"[{comma.join(nested_text(items, size[1:]) for _ in range(size[0] - seldom()))}]"

    members, entries = [], []
    for name in draw(st.lists(st.sampled_from(["a", "b", "ž"]), min_size=1, max_size=3, unique=True)):
        kinds = st.sampled_from([[INTEGERS], [DECIMALS], [INTEGERS, DECIMALS], [STRINGS], [BOOLEANS]])
        items = st.one_of(*draw(kinds), *[st.just("null")] * draw(st.integers(0, 1)))
        members.append(f'"{name}": {nested_text(items, draw(st.lists(st.integers(1, 3), max_size=3)))}')
        if draw(st.booleans()):
            entries.append(f'"{name}": {{".type": "{draw(st.sampled_from([*TYPES, "x"]))}"}}')
    members.append('"\\u0061": 1' if seldom() else f'".": {{{", ".join(entries)}}}')
    text = f"{{{', '.join(members)}}}\n".encode()
    if seldom():
        at = draw(st.integers(0, len(text)))
        text = text[:at] + draw(st.binary(max_size=2)) + text[at + draw(st.integers(0, 2)) :]
    return text


def outcome(path: Path) -> Any:
    """Return what reading gives: data and metadata, or an error, and warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            found: Any = dict(ds.read(path))
        except ds.DsError as error:
            found = str(error)
    return found, [str(warning.message) for warning in caught]


def decode_nothing(text: bytes) -> Any:
    raise Unusual


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(json_texts())
def test_usual_lists_are_read_as_by_python(text: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = write(Path(folder) / "a.json", text)
        found = outcome(path)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(json_, "decode_variables", decode_nothing)
            assert same_object(found, outcome(path))


@pytest.mark.parametrize(
    ("values", "type_name", "dtype"),
    [
        ("[1, 300]", "uint8", "i8"),
        ("[1.5]", "int32", "f8"),
        ("[1e39]", "float32", "f8"),
        ("[16777217]", "float32", "i8"),
        ("[9007199254740993]", "float64", "i8"),
        ('["a"]', "float64", "O"),
        ("[1]", "unicode", "i8"),
        ("[1]", "bool", "i8"),
        ('["\\ud800"]', "str", "O"),
        ("[1]", "float128", "i8"),
    ],
)
def test_data_that_contradict_their_type(values: str, type_name: str, dtype: str, tmp_path: Path) -> None:
    path = write(tmp_path / "a.json", f'{{"x": {values}, ".": {{"x": {{".type": "{type_name}"}}}}}}')
    with pytest.warns(UserWarning, match=rf'a.json: variable "x": .type: found "{type_name}", which cannot hold'):
        dataset = ds.read(path)
    assert dataset["x"].dtype == dtype
    assert dataset["."]["x"][".type"] != type_name


def test_sizes_that_contradict_the_data(tmp_path: Path) -> None:
    text = '{"x": [1, 2], "y": [], "z": [], ".": {"x": {".size": [3]}, "y": {".size": [0, 4]}, "z": {".size": [1]}}}'
    dataset = ds.read(write(tmp_path / "a.json", text))
    assert [dataset[key].shape for key in "xyz"] == [(2,), (0, 4), (0,)]
    assert [dataset["."][key][".size"] for key in "xyz"] == [[2], [0, 4], [0]]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the file is empty"),
        ("  \n", "the file is empty"),
        ("[1]", "found an array, expected an object"),
        ("1", "found a number, expected an object"),
        ('{"x": [1,\n  2,,]}', "line 2, column 5: expecting value"),
        ('{"x": [1, 2]', "line 1, column 13: expecting ',' delimiter"),
        ('{"x": 1} 2', "line 1, column 10: extra data"),
        ('{"x": 1, "x": 2}', '"x" occurs twice in one object'),
        ('{".": {"x": {"a": 1, "a": 2}}}', '"a" occurs twice in one object'),
        ('{"\\\\a": 1, "\\\\\\\\a": 2}', r'variable "\\a": occurs twice in one object'),
        (b'\xef\xbb\xbf{"x": 1}', "line 1, column 1: found a byte order mark"),
        (b'{"\xc5\xbe": 1,\n "\xc5\xbe\xe9": 2}', "line 2, column 4: found the byte 0xe9, expected UTF-8"),
        ("[" * 200_000, "nested too deeply"),
        ('{"x": ' + "1" * 5000 + "}", "Exceeds the limit"),
        ('{"x": [[1, 2], [3]]}', r'variable "x": at \[1\]: found a list of 1, expected 2 as in the first one'),
        ('{"x": [[[1], [2]], [[3], 4]]}', r'variable "x": at \[1\]\[1\]: found a number, expected a list of 1'),
        ('{"x": [1, [2]]}', r'variable "x": at \[1\]: found an array, expected a value'),
        ('{"x": [1, {"a": 2}]}', r'variable "x": at \[1\]: found an object, expected a value'),
        ('{"x": {"a": 2}}', 'variable "x": found an object, expected a value'),
        ('{"x": [1, "a"]}', 'variable "x": a list holds int, str; expected values of one type'),
        ('{"x": [9007199254740993, 0.5]}', 'variable "x": a list holds float, int that no one type can hold exactly'),
        ('{"x": [36893488147419103232]}', 'variable "x": integers that neither int64 nor uint64 can hold'),
        ('{"x": ' + "[" * 65 + "]" * 65 + "}", 'variable "x": found more than 64 nested lists'),
        ('{"x": [], ".": {"x": {".size": [0, -1]}}}', r'variable "x": .size: found \[0, -1\]'),
        ('{"x": [1], ".": {"x": {".dims": ["a", "b"]}}}', 'variable "x": .dims: found 2 names, expected 1'),
        ('{"x": [1], ".": {"x": {".dims": "a"}}}', 'variable "x": .dims: found "a", expected a list of names'),
        ('{"x": [1], ".": []}', '".": found an array, expected an object'),
        ('{"x": [1], ".": [1]}', '".": found an array, expected an object'),
        ('{"x": [1], ".": {"x": 5}}', '".": "x": found a number, expected an object'),
        ('{".x": 1}', r'found the name ".x", expected "\\.x"'),
    ],
    ids=range(30),
)
def test_what_is_wrong_in_a_file(text: str | bytes, message: str, tmp_path: Path) -> None:
    with pytest.raises(ds.FormatError, match=f"a.json: {message}"):
        ds.read(write(tmp_path / "a.json", text))


def test_metadata_of_a_variable_that_is_not_there(tmp_path: Path) -> None:
    dataset = ds.read(write(tmp_path / "a.json", '{".": {"x": {".type": "int8", ".size": [3], "a": 1}}}'))
    assert dataset["x"] is None
    assert dataset["."]["x"] == {".type": "int8", ".size": None, "a": 1}


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (np.array(["a", "\ud800"], object), "a text has the surrogate U\\+D800"),
        (np.array(["a", b"b"], object), "an object array holds bytes, str; expected all str or all bytes"),
    ],
)
def test_what_cannot_be_written(data: Any, message: str, tmp_path: Path) -> None:
    write(tmp_path / "a.json", "old")
    with pytest.raises(ds.UnsupportedError, match=f'a.json: variable "x": {message}'):
        ds.write(tmp_path / "a.json", {"x": data})
    assert [path.name for path in tmp_path.iterdir()] == ["a.json"]
    assert (tmp_path / "a.json").read_text() == "old"


def test_values_of_two_types(tmp_path: Path) -> None:
    sink = json_.JsonSink(tmp_path / "a.json", {"x": {".size": [3]}})
    with pytest.raises(ds.DsError, match="expected float64"):
        sink.write("x", [np.zeros(1), np.zeros(2, "i4")])
    sink.abort()
    assert not list(tmp_path.iterdir())


def test_times(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    time = {"t": np.array([2451544.5, 2451545.0]), ".": {"t": {".dims": ["t"], ".time": True}}}
    ds.write(path, time)
    assert json.loads(path.read_text())["."]["t"][".time"] is True
    ds.write(path, time, time_units="hours since 2000-01-01", calendar="standard")
    found = json.loads(path.read_text())
    assert found["t"] == [0.0, 12.0]
    entry = found["."]["t"]
    assert (entry["units"], entry["calendar"]) == ("hours since 2000-01-01", "standard")
    assert ".time" not in entry


def test_the_reference_reads_it(reference_python: str, tmp_path: Path) -> None:
    dataset = {
        "x": np.arange(4, dtype="i2").reshape(2, 2),
        "m": np.ma.MaskedArray(np.arange(2.0), [False, True]),
        "s": np.array(["a", "ž"], object),
        "u": np.array([(1 << 64) - 1], "u8"),
        ".": {"x": {".dims": ["a", "b"], "units": "m", "n": np.int8(3)}, ".": {"title": "ž"}},
    }
    ds.write(tmp_path / "a.json", dataset)
    code = (
        "import ds_format as ds, json; d = ds.read('a.json'); m = d['.']\n"
        "print(json.dumps([*(ds.var(d, name).tolist() for name in 'xmsu'), m['x']['.dims'], m['x']['n'], m['.']]))"
    )
    printed = subprocess.check_output([reference_python, "-I", "-c", code], cwd=tmp_path)
    expected = [[[0, 1], [2, 3]], [0.0, None], ["a", "ž"], [(1 << 64) - 1], ["a", "b"], 3, {"title": "ž"}]
    assert json.loads(printed) == expected


def test_sizes_of_what_is_not_there_make_no_missing_values(tmp_path: Path) -> None:
    """The reference leaves metadata of variables that were not selected."""
    entry = {".type": "int8", ".size": [], ".offset": 40, ".len": 1}
    (tmp_path / "x.json").write_text(json.dumps({".": {"n": entry, "m": {**entry, ".size": [3]}}}))
    found = ds.read(tmp_path / "x.json")
    assert (found["n"], found["m"]) == (None, None)
    assert ds.meta(found, "m")[".size"] is None
