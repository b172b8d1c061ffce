"""CSV and TSV: how columns become variables and back, and what is wrong in a file."""

from __future__ import annotations

import csv
import io
import os
import re
import subprocess
import tempfile
import time
import tracemalloc
import warnings
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra import numpy as hnp

import ds_format as ds
from ds_format.codec.encode import properties_of
from ds_format.datasets import as_array
from ds_format.drivers import csv_
from ds_format.drivers.base import STRING_SIZE, LossWarning
from ds_format.drivers.csv_ import sink, source

from .. import golden_ds, golden_text
from ..same import same_data

NAMES = golden_text.names("csv")
WRITTEN = [name for name in NAMES if golden_text.expected("csv", name)["producer"].startswith("ds-format")]


@pytest.mark.parametrize("name", NAMES)
def test_golden_files(name: str) -> None:
    golden_text.check("csv", name)


def test_all_golden_files_are_there() -> None:
    assert len(NAMES) == 21
    assert WRITTEN == ["no_columns.csv", "no_rows.csv", "numbers.csv", "one_column.csv", "text.csv", "text.tsv"]


@pytest.mark.parametrize("name", WRITTEN)
def test_the_same_bytes_as_the_reference(name: str, tmp_path: Path) -> None:
    told = golden_text.expected("csv", name)
    dataset: dict[str, Any] = {".": {".": {}}}
    for variable, properties in sorted(told["variables"].items()):  # it writes sorted columns
        key = ds.escape(variable)
        data = golden_ds.value(properties["data"])
        dataset[key] = as_array(data)
        dataset["."][key] = {".dims": ["i"]}
    ds.write(tmp_path / name, dataset)
    assert (tmp_path / name).read_bytes() == (golden_text.FOLDER / "csv" / name).read_bytes()
    ds.convert(tmp_path / name, tmp_path / f"again_{name}")
    assert (tmp_path / f"again_{name}").read_bytes() == (tmp_path / name).read_bytes()


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=4)
words = texts.map(lambda text: f"w{text}")
columns = {
    "int64": lambda n: hnp.arrays("i8", n),
    "float64": lambda n: hnp.arrays("f8", n, elements=st.floats(allow_nan=False) | st.just(float("nan"))),
    "unicode": lambda n: hnp.arrays(object, n, elements=words),
}


@st.composite
def tables(draw: st.DrawFn) -> dict[str, Any]:
    """Draw a dataset that CSV holds."""
    n = draw(st.integers(1, 5))
    dataset: dict[str, Any] = {".": {".": {}}}
    for name in draw(st.lists(texts.filter(lambda name: name[:1] != "\ufeff"), max_size=4, unique=True)):
        array: Any = draw(columns[draw(st.sampled_from(sorted(columns)))](n))
        mask = draw(hnp.arrays(np.bool_, n))
        key = ds.escape(name)
        dataset[key] = np.ma.MaskedArray(array, mask) if mask.any() and not mask.all() else array
        dataset["."][key] = {".dims": ["i"]}
    return dataset


@given(tables(), st.sampled_from([".csv", ".tsv"]), st.sampled_from([1, 7, 1000]))
def test_a_table_comes_back(dataset: dict[str, Any], suffix: str, n_cells: int) -> None:
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        path = Path(folder) / f"a{suffix}"
        patch.setattr(source, "PIECE_SIZE", n_cells)
        patch.setattr(sink, "CELLS_IN_MEMORY", n_cells)
        patch.setattr(sink, "SAMPLE", 1)
        patch.setattr(source, "HELD_SIZE", 8 * n_cells)
        ds.write(path, dataset)
        found = ds.read(path)
        ds.convert(path, Path(folder) / "b.ds")
        again = ds.read(Path(folder) / "b.ds")
        ds.convert(Path(folder) / "b.ds", Path(folder) / f"c{suffix}")
        assert (Path(folder) / f"c{suffix}").read_bytes() == path.read_bytes()
    assert found.keys() == dataset.keys()
    for key, array in dataset.items():
        if key != ".":
            assert same_data(found[key], array), key
            assert same_data(again[key], array), key
            assert found["."][key][".dims"] == ["i"]


@given(tables(), st.data())
def test_a_part_of_a_column(dataset: dict[str, Any], data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.csv"
        ds.write(path, dataset)
        with ds.open(path) as file:
            for name, variable in file.items():
                array = dataset[ds.escape(name)]
                index = data.draw(st.slices(len(array)) | st.integers(0, len(array) - 1))
                expected = array[index : index + 1].reshape(()) if isinstance(index, int) else array[index]
                assert same_data(variable[index], expected)
                blocks = list(variable.blocks(1))
                assert len(blocks) == len(array)
                assert same_data(np.ma.concatenate(blocks), np.ma.array(array)) or not len(array)


LONG = b"x" * 131_073
WRONG_FILES: list[tuple[bytes, dict[str, Any], str]] = [
    (b"a,b\n1,2\n3\n", {}, "line 3, column 1: found 1 cells, expected 2, one for each name$"),
    (b'a,b\n"1\n2",2\n\n3,4,5,6\n', {}, "line 5, column 3: found 4 cells, expected 2"),
    (b'a,b\n3,4,5,"6\n', {}, "line 2, column 3: found 3 cells, expected 2"),
    (b"a,b\r1,2\r3,\r4\r", {}, "line 4, column 1: found 1 cells"),
    (b"# a\na,b\n1,2\n", {}, "line 2, column 2: found 2 cells, expected 1, .* `comments: '#'` skips lines"),
    (b"a,b\nm\n1,2\n", {"units": True}, "line 2, column 1: found 1 cells, expected 2"),
    (b"a,b\nm,s,K\n1,2\n", {"units": True}, "line 2, column 3: found 3 cells, expected 2"),
    (b"a,b,a\n1,2,3\n", {}, 'line 1: found the name "a" of column 3 twice'),
    (b"#\r\na,,\n1,2,3\n", {"comments": "#"}, 'line 2: found the name "" of column 3 twice'),
    (b"\na,b\n1,2\n", {}, "line 1: found an empty line, expected the names"),
    (b"x\r\n\na,b\n1,2\n", {"skip": 1}, "line 2: found an empty line, expected the names"),
    (b"x\ny", {"skip": 3}, "found 2 lines, expected more than the 3 to skip"),
    (b'a,b\n1,2\n3,"x\n4,5\n', {}, "line 3, column 2: a quoted cell begins, and does not end"),
    (b'a,"b\n1,2\n', {}, "line 1, column 2: a quoted cell begins, and does not end"),
    (b'a,b\n1,2\n"x"y,2\n', {}, "line 3, column 1: found text after the quote that ends a cell"),
    (b"a,b\n1,2\n3,\x00\n", {}, "line 3, column 2: found NUL outside of quotes"),
    (b"a,b\n1,2" + b"\x00" * 512, {}, "line 2, column 2: found NUL outside of quotes"),
    ("a,b\n1,2\n".encode("utf-16-le"), {}, "line 1, column 1: found NUL outside of quotes"),
    ("a,b\n1,2\n".encode("utf-16"), {}, "line 1, column 1: found NUL outside of quotes"),
    (b"a,b\n1,2\n1,\xe9\n", {}, "line 3, column 2: found the byte 0xe9, expected UTF-8"),
    (b"a,b\r1,2\r\xe9,2\r", {}, "line 3, column 1: found the byte 0xe9, expected UTF-8"),
    (b"a,b\r\n1,2\r\n\xe9,2\r\n", {}, "line 3, column 1: found the byte 0xe9, expected UTF-8"),
    (b"a,b\n#\xe9\n1,2\n", {"comments": "#"}, "line 2: found the byte 0xe9, expected UTF-8"),
    (b"a,b\n1,2\n1," + LONG + b"\n", {}, "line 3, column 2: found more than 131072 characters"),
    (b"a," + LONG + b"\n1,2\n", {}, "line 1, column 2: found more than 131072 characters"),
    (b"a,b\n#" + LONG + b"\n", {"comments": "#"}, "line 2: found more than 131072 characters"),
    (b"a,b\n1,2\n3.5,-1e309\n", {}, "line 3, column 2: found a number beyond those of float64"),
    (b"a\n1" + b"0" * 400 + b"\n1.5\n", {}, "line 2, column 1: found a number beyond those of float64"),
    (b"a,b\n1,2\n", {"decimal": ","}, 'line 1: found names separated by ",", which is also the decimal'),
]


@pytest.mark.parametrize(("raw", "options", "message"), WRONG_FILES, ids=range(len(WRONG_FILES)))
@pytest.mark.parametrize("piece", [1, source.PIECE_SIZE])
def test_what_is_wrong_in_a_file(
    raw: bytes, options: Any, message: str, piece: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source, "PIECE_SIZE", piece if len(raw) < len(LONG) else source.PIECE_SIZE)
    path = tmp_path / "a.csv"
    path.write_bytes(raw)
    with pytest.raises(ds.FormatError, match=rf'a\.csv: (variable "\w": )?{message}'):
        ds.read(path, **options)
    for name in ("old.csv", "new.ds"):
        (tmp_path / "old.csv").write_text("old")
        with pytest.raises(ds.FormatError):
            ds.convert(path, tmp_path / name, reading=options)
    assert (tmp_path / "old.csv").read_text() == "old"
    assert sorted(one.name for one in tmp_path.iterdir()) == ["a.csv", "old.csv"]


@pytest.mark.parametrize("start", [b'a,b\n1,"', b'a,"', b"a,b\n1,"])
def test_little_is_read_of_a_cell_of_a_gigabyte(start: bytes, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(start)
    os.truncate(path, 1 << 30)
    tracemalloc.start()
    try:
        with pytest.raises(ds.FormatError, match=r"line \d, column 2: found (more than 131072 characters|NUL)"):
            ds.read(path)
        assert tracemalloc.get_traced_memory()[1] < 1 << 24
    finally:
        tracemalloc.stop()


def test_a_file_that_changes(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    for changed in (b"a\nx\n", b"a\n1\n2\n", b"a\n", b"b,a\n1,2\n1\n"):
        path.write_bytes(b"a\n1\n")
        with ds.open(path) as file:
            time.sleep(0.01)  # the clock of file systems has steps
            path.write_bytes(changed)
            with pytest.raises(ds.ReplacedError, match=r"a\.csv: "):
                _ = file["a"][...]
            with pytest.raises(ds.ReplacedError, match=r"a\.csv: "):
                list(file["a"].blocks())


def test_one_pass_serves_several_columns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.csv"
    path.write_text("a,b,c,d,e\n" + "x,y,z,u,1\n" * 10)
    passes: list[Any] = []
    table = source.CsvSource._table

    def counted(self: source.CsvSource) -> Any:
        passes.append(self)
        return table(self)

    monkeypatch.setattr(source.CsvSource, "_table", counted)
    with ds.open(path) as file:
        assert len(passes) == 1
        assert file["e"][...].tolist() == [1] * 10
        assert len(passes) == 1  # numbers are kept while types are inferred
    passes.clear()
    ds.read(path)
    assert len(passes) == 2
    monkeypatch.setattr(source, "HELD_SIZE", 2 * 10 * STRING_SIZE)
    passes.clear()
    ds.read(path)
    assert len(passes) == 3


def test_two_readers_of_one_source(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    n = 200_000
    path.write_text("a,b\n" + "".join(f"{i},{-i}\n" for i in range(n)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(source, "HELD_SIZE", 0)
        with ds.open(path) as file:
            pairs = zip(file["a"].blocks(), file["b"].blocks(), strict=True)
            assert sum(len(a) for a, b in pairs if np.array_equal(a, -b)) == n


@pytest.mark.parametrize(
    ("dataset", "message"),
    [
        ({"x": np.zeros((2, 2))}, 'variable "x": has 2 dimensions, expected one'),
        ({"x": None}, 'variable "x": has no data'),
        ({"x": [1], "y": [1, 2]}, 'variable "y": has 2 values, but "x" has 1'),
        ({"x": np.array([b"a\xff"])}, r"""variable "x": found the bytes b'a\\xff', which are not UTF-8"""),
        ({"x": ["\ud800"]}, r'variable "x": a text has the surrogate U\+D800'),
        ({"\udcff": [1]}, "the name has surrogates"),
        ({"\ufeffa": [1], "\ufeffb": [2]}, "the first name begins with a byte order mark"),
    ],
    ids=range(7),
)
def test_what_cannot_be_written(dataset: dict[str, Any], message: str, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("old")
    with pytest.raises(ds.UnsupportedError, match=f"a.csv: .*{message}"):
        ds.write(tmp_path / "a.csv", dataset)
    assert [path.name for path in tmp_path.iterdir()] == ["a.csv"]
    assert (tmp_path / "a.csv").read_text() == "old"


@pytest.mark.parametrize(
    ("dataset", "message"),
    [
        ({"x": [1], ".": {"x": {"units": "m"}}}, r'attributes \(of "x"\)$'),
        ({"x": [1], ".": {".": {"title": "t"}}}, r"attributes \(of the dataset\)$"),
        (
            {"x": [1], ".": {"x": {".time": True}}},
            r'units of times \("x": days since -4713-11-24 12:00 UTC, calendar proleptic_gregorian; .* \(of "x"\)$',
        ),
        (
            {"x": [1], ".": {"x": {"units": "hours since 2000-01-01"}}},
            r'units of times \("x": hours since 2000-01-01; `times: iso`, .* writes dates\); attributes \(of "x"\)$',
        ),
        ({"x": [1], ".": {"x": {".dims": ["time"]}}}, r'names of dimensions \("time", read as "i"\)$'),
        ({"x": np.zeros(1, "f4")}, r'types \("x" read as float64 instead of float32\)$'),
        ({"x": [True]}, r'types \("x" read as unicode instead of bool\)$'),
        ({"x": [b"a"]}, r'types \("x" read as unicode instead of str\)$'),
        ({"x": ["1", "2"]}, r'types \("x" read as int64 instead of unicode\)$'),
        ({"x": np.ma.MaskedArray([1.5], True)}, r'types \("x" read as int64 instead of float64\)$'),
        ({"x": np.zeros(0, "i8")}, r'types \("x" read as float64 instead of int64\)$'),
        ({"x": np.array([0x7FF8000000000001], "u8").view("f8")}, r'payloads of NaN \(of "x"\)$'),
        ({"x": ["a", ""]}, r'empty texts \(of "x", read as missing\)$'),
        ({"x": ["a" * 131_073]}, r'texts of more than 131072 characters \(of "x", not read\)$'),
        (
            {str(i): np.zeros(1, "i1") for i in range(9)},
            r'types \("0" read as int64 instead of int8, "1" .* int8 and 4 more\)$',
        ),
    ],
    ids=range(15),
)
def test_one_warning_for_all_that_is_lost(dataset: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.warns(LossWarning, match=f"a.csv: CSV cannot hold {message}") as caught:
        ds.write(tmp_path / "a.csv", dataset)
    assert len(caught) == 1


@pytest.mark.filterwarnings("ignore::ds_format.drivers.base.LossWarning")
def test_single_precision_is_written_short(tmp_path: Path) -> None:
    ds.write(tmp_path / "a.csv", {"x": np.array([0.1, 1e20, 1e-5, np.nan, -0.0], "f4")})
    assert (tmp_path / "a.csv").read_bytes() == b"x\r\n0.1\r\n1e+20\r\n1e-05\r\nnan\r\n-0.0\r\n"


def test_blocks_of_any_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sink, "CELLS_IN_MEMORY", 8)
    arrays = {"a": np.arange(11), "b": np.arange(11) / 2}
    created = csv_.create(tmp_path / "a.csv", {key: properties_of(array, None) for key, array in arrays.items()})
    created.write("b", [arrays["b"][:5], arrays["b"][5:6], arrays["b"][6:]])
    created.write("a", np.split(arrays["a"], 11))
    created.commit()
    for key, array in arrays.items():
        assert same_data(ds.read(tmp_path / "a.csv")[key], array)


def test_wrong_blocks(tmp_path: Path) -> None:
    created = csv_.create(tmp_path / "a.csv", {"x": {".size": [3]}})
    with pytest.raises(ds.DsError, match='variable "x": found values of type int32'):
        created.write("x", [np.zeros(1), np.zeros(2, "i4")])
    created.abort()
    assert not list(tmp_path.iterdir())


def test_times(tmp_path: Path) -> None:
    time = {"t": np.array([2451544.5, 2451545.0]), ".": {"t": {".dims": ["i"], ".time": True}}}
    with pytest.warns(LossWarning, match="attributes"):
        ds.write(tmp_path / "a.csv", time, time_units="hours since 2000-01-01", calendar="standard")
    assert (tmp_path / "a.csv").read_bytes() == b"t\r\n0.0\r\n12.0\r\n"


def test_the_reference_reads_it(reference_python: str, tmp_path: Path) -> None:
    dataset: dict[str, Any] = {"a": np.ma.MaskedArray([1, 2], [False, True]), "b": np.array(['q"', "ž\n"], object)}
    dataset["."] = {"a": {".dims": ["i"]}, "b": {".dims": ["i"]}}
    ds.write(tmp_path / "a.csv", dataset)
    code = "import ds_format as ds; d = ds.read('a.csv'); print(ascii([d['a'].tolist(), d['b'].tolist()]))"
    printed = subprocess.check_output([reference_python, "-I", "-c", code], cwd=tmp_path, text=True)
    assert printed == ascii([[1, None], ['q"', "ž\n"]]) + "\n"


@pytest.mark.parametrize("delimiter", [";", "|", " ", "#", "\t"])
def test_any_character_between_cells(delimiter: str, tmp_path: Path) -> None:
    dataset: dict[str, Any] = {"x": np.array([1, 2]), "t": np.array(["a;b", 'q"|\t '], object)}
    dataset["."] = {"x": {".dims": ["i"]}, "t": {".dims": ["i"]}}
    ds.write(tmp_path / "a.csv", dataset, delimiter=delimiter)
    with (tmp_path / "a.csv").open(newline="") as file:
        rows = list(csv.reader(file, delimiter=delimiter))
    assert rows == [["x", "t"], ["1", "a;b"], ["2", 'q"|\t ']]
    if delimiter in source.DELIMITERS:
        assert ds.read(tmp_path / "a.csv")["t"].tolist() == ["a;b", 'q"|\t ']


@pytest.mark.parametrize("delimiter", ["", "ab", '"', "\n", "\0", "ž", 1, "a", "0", "-", "."])
def test_what_cannot_be_between_cells(delimiter: Any, tmp_path: Path) -> None:
    with pytest.raises(
        ds.DsError, match=r"delimiter: found .*, (expected one character of ASCII|which is also the decimal)"
    ):
        ds.write(tmp_path / "a.csv", {"x": [1]}, delimiter=delimiter)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("name", "line", "names"),
    [
        ("a.csv", "a;b", ["a", "b"]),
        ("a.csv", "a\tb", ["a", "b"]),
        ("a.csv", "a;b,c", ["a;b", "c"]),
        ("a.csv", '"a;b"', ["a;b"]),
        ("a.tsv", "a,b", ["a", "b"]),
        ("a.tsv", "a,b\tc", ["a,b", "c"]),
        ("a.csv", "a;b;c\td", ["a", "b", "c\td"]),
        ("a.csv", "a", ["a"]),
        ("a.csv", '"a\n,";b', ["a\n,", "b"]),
    ],
)
def test_the_line_of_names_tells_the_separator(name: str, line: str, names: list[str], tmp_path: Path) -> None:
    (tmp_path / name).write_text(f"{line}\n")
    with ds.open(tmp_path / name) as file:
        assert [*file] == names


def test_columns_are_in_the_order_of_the_dataset_or_of_the_request(tmp_path: Path) -> None:
    ds.write(tmp_path / "a.csv", {name: [1] for name in "bca"})
    assert (tmp_path / "a.csv").read_bytes() == b"b,c,a\r\n1,1,1\r\n"
    ds.convert(tmp_path / "a.csv", tmp_path / "b.csv", ["a", "b"])
    assert (tmp_path / "b.csv").read_bytes() == b"a,b\r\n1,1\r\n"


def test_scalars(tmp_path: Path) -> None:
    dataset = {"t": np.array([1, 2, 3]), "id": "S;1", "lat": 50.25, "gap": np.ma.masked_array(1, True)}
    dataset["."] = {"t": {".dims": ["i"]}}
    path = tmp_path / "a.csv"
    with pytest.warns(
        LossWarning, match=r'scalars \("id", "lat", "gap"; `--scalars`, in Python `scalars=True`, repeats'
    ):
        ds.write(path, dataset)
    assert path.read_bytes() == b"t\r\n1\r\n2\r\n3\r\n"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sink, "BLOCK_LENGTH", 2)
        ds.write(path, dataset, scalars=True)
    assert path.read_bytes() == b"t,id,lat,gap\r\n1,S;1,50.25,\r\n2,S;1,50.25,\r\n3,S;1,50.25,\r\n"
    ds.write(path, {"id": "S1", "lat": 50.25})
    assert path.read_bytes() == b"id,lat\r\nS1,50.25\r\n"


def test_packed_numbers_have_the_decimals_of_their_scale(tmp_path: Path) -> None:
    packed = np.arange(-32768, 32767, 7, dtype="i2")
    dataset: dict[str, Any] = {"x": np.ma.masked_array(packed, packed == 99)}
    for scale, offset in ((0.01, 273.15), (np.float32(0.01), np.float32(273.15)), (0.1, 0), (1e-05, None), (2, 0.5)):
        given = {"scale_factor": scale} if offset is None else {"scale_factor": scale, "add_offset": offset}
        dataset["."] = {"x": {".dims": ["i"], ".netcdf": {"packed": True}, **given}}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LossWarning)
            ds.write(tmp_path / "a.csv", dataset)
        cells = (tmp_path / "a.csv").read_text().splitlines()[1:]
        exact = [Decimal(str(scale)) * int(one) + Decimal(str(offset or 0)) for one in packed]
        assert [cell and Decimal(cell) for cell in cells] == [
            "" if one == 99 else value for one, value in zip(packed, exact, strict=True)
        ]


def test_packed_floats_have_all_their_digits(tmp_path: Path) -> None:
    entry = {".dims": ["i"], ".netcdf": {"packed": True}, "scale_factor": 0.1}
    ds.write(tmp_path / "a.csv", {"x": np.array([2629.33]), ".": {"x": entry}})
    assert ds.read(tmp_path / "a.csv")["x"].tolist() == [2629.33 * 0.1]


def test_a_scale_that_is_a_quotient_rounds_nothing(tmp_path: Path) -> None:
    entry = {".dims": ["i"], ".netcdf": {"packed": True}, "scale_factor": 1 / 3}
    ds.write(tmp_path / "a.csv", {"x": np.arange(100, dtype="i2"), ".": {"x": entry}})
    assert ds.read(tmp_path / "a.csv")["x"].tolist() == (np.arange(100) * (1 / 3)).tolist()


def cell_type(cells: list[str]) -> tuple[str, list[Any]]:
    """Return the type of a column, and its values, as Python's functions see them."""
    present = [cell for cell in cells if cell]
    text = "".join(present)
    for name, convert in (("int64", int), ("uint64", int), ("float64", float)):
        try:
            if not text.isascii() or "_" in text:
                break
            values = [convert(cell) for cell in present]
            if name == "float64" and any(
                np.isinf(one) and cell.strip()[-1].isdigit() for one, cell in zip(values, present, strict=True)
            ):
                return "beyond", []
            if name == "float64" and values and all(re.fullmatch(r"\s*[+-]?\d+\s*", cell) for cell in present):
                break  # too large for both types of integers
            low, high = {"int64": (-(1 << 63), 1 << 63), "uint64": (0, 1 << 64)}.get(name, (0, 0))
            if name == "float64" or all(low <= value < high for value in values):
                return name if cells else "float64", values
        except ValueError:
            continue
    return "unicode", present


numbers = st.one_of(
    st.integers(-(10**25), 10**25).map(str),
    st.sampled_from([2**63 - 1, 2**63, -(2**63), -(2**63) - 1, 2**64 - 1, 2**64]).map(str),
    st.floats().map(repr),
    st.floats(width=32).map(str),
    st.from_regex(r"[ \t]?[+-]?[0-9]{0,25}\.?[0-9]{0,25}([eE][+-]?[0-9]{1,3})?[ \v]?", fullmatch=True),
    st.sampled_from([
        "nan",
        "-NaN",
        "+inf",
        "Infinity",
        "-0",
        "-0.0",
        "1_0",
        "\u0661",
        ".",
        "-",
        "e5",
        "1e",
        "0x1",
        " ",
        "007",
    ]),
)
cells = st.one_of(numbers, numbers, st.just(""), st.text(st.sampled_from('a,;"\r\nž\t0'), max_size=4))


@given(st.data(), st.integers(1, 3), st.sampled_from([1, 3, 1 << 20]), st.sampled_from(["\n", "\r\n", "\r"]))
def test_cells_are_those_of_python(data: st.DataObject, width: int, piece: int, end: str) -> None:
    kinds = [data.draw(st.sampled_from([cells, numbers | st.just(""), numbers])) for _ in range(width)]
    rows = [[data.draw(kind) for kind in kinds] for _ in range(data.draw(st.integers(0, 6)))]
    text = io.StringIO(newline="")
    writer = csv.writer(
        text, lineterminator=end, quoting=data.draw(st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]))
    )
    writer.writerows([[f"c{i}" for i in range(width)], *rows])
    content = text.getvalue()
    if data.draw(st.booleans()):
        content = content.removesuffix(end)
    found_rows = [row or [""] for row in list(csv.reader(io.StringIO(content, newline="")))[1:] if row or width == 1]
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(source, "PIECE_SIZE", piece)
        patch.setattr(source, "HELD_SIZE", data.draw(st.sampled_from([0, 1 << 20])))
        path = Path(folder, "a.csv")
        path.write_bytes(content.encode())
        with ds.open(path) as file:
            for i, variable in enumerate(file.values()):
                column = [row[i] for row in found_rows]
                type_name, values = cell_type(column)
                if type_name == "beyond":
                    assert variable.type == "float64"
                    with pytest.raises(ds.FormatError, match="beyond those of float64"):
                        _ = variable[...]
                    continue
                assert variable.type == type_name, column
                array = variable[...]
                mask = np.ma.getmaskarray(array)
                assert mask.tolist() == [not cell for cell in column]
                assert repr(np.ma.getdata(array)[~mask].tolist()) == repr(values)
