"""CSV and TSV in other forms: decimal commas, units, comments, and files for Excel, which LibreOffice opens, too."""

from __future__ import annotations

import csv
import datetime
import io
import re
import shutil
import subprocess
import tempfile
import zipfile
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given, strategies as st

import ds_format as ds
from ds_format.drivers.base import LossWarning
from ds_format.drivers.csv_ import source

from ..same import same_data
from .test_csv import tables, texts

SOFFICE = shutil.which("soffice")


@pytest.mark.filterwarnings("ignore::ds_format.drivers.base.LossWarning")
@given(tables(), st.data())
def test_a_table_in_any_form_comes_back(dataset: dict[str, Any], data: st.DataObject) -> None:
    for key in dataset:
        if key != "." and (units := data.draw(texts)):
            dataset["."][key]["units"] = units
    form: Any = {
        "decimal": data.draw(st.sampled_from([".", ","])),
        "delimiter": data.draw(st.sampled_from([None, ";", "\t", "|", " "])),
        "units": data.draw(st.booleans()),
    }
    excel, n_skipped, is_quoted = data.draw(st.booleans()), data.draw(st.integers(0, 2)), data.draw(st.booleans())
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(source, "PIECE_SIZE", data.draw(st.sampled_from([1, 3, 1 << 20])))
        path = Path(folder) / data.draw(st.sampled_from(["a.csv", "a.tsv"]))
        ds.write(path, dataset, excel=excel, **form)
        mark, content = source.MARK * excel, path.read_bytes()
        assert content.startswith(mark)
        content = content[len(mark) :]
        if is_quoted:
            delimiter = form["delimiter"] or source.delimiter_of(path.name, form["decimal"])
            rows = csv.reader(io.StringIO(content.decode(), newline=""), delimiter=delimiter)
            content = b"# 1\r".join(_quoted(row, delimiter) for row in rows)
        path.write_bytes(mark + b'"\r\n' * n_skipped + b'# "\n#\r\n' + content + b'#,;\n#"')
        given_delimiter = form["delimiter"] if form["delimiter"] in ("|", " ") else None
        found = ds.read(path, **{**form, "delimiter": given_delimiter}, comments="#", skip=n_skipped)
    assert found.keys() == dataset.keys()
    for key, array in dataset.items():
        if key != ".":
            assert same_data(found[key], array), key
            assert found["."][key].get("units") == (dataset["."][key].get("units") if form["units"] else None)


def _quoted(row: list[str], delimiter: str) -> bytes:
    text = io.StringIO(newline="")
    csv.writer(text, delimiter=delimiter, quoting=csv.QUOTE_ALL).writerow(row)
    return text.getvalue().encode()


def test_a_decimal_comma(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    ds.write(
        path, {"x": [1.5, -1e-05, 1e22, np.nan], "t": ["1,5x", "a;b", "1.5x", "c"], "n": [1, 2, 3, 4]}, decimal=","
    )
    assert path.read_bytes() == b'x;t;n\r\n1,5;1,5x;1\r\n-1e-05;"a;b";2\r\n1e+22;1.5x;3\r\nnan;c;4\r\n'
    found = ds.read(path, decimal=",")
    assert found["x"].tolist()[:3] == [1.5, -1e-05, 1e22]
    assert found["n"].dtype == "i8"
    assert ds.read(path)["x"].tolist() == ["1,5", "-1e-05", "1e+22", "nan"]
    long = "0," + "1" * 500
    path.write_text(f"x\ty\n{long}\t1.5\n1234567890123456789012,5\t1\n")
    found = ds.loads(path.read_bytes(), format="csv", decimal=",")
    assert found["x"].tolist() == [float(long.replace(",", ".")), 1234567890123456789012.5]
    assert found["y"].tolist() == ["1.5", "1"]
    with pytest.warns(LossWarning, match=r'types \("t" read as float64 instead of unicode\)$'):
        ds.write(path, {"t": ["1,5"]}, decimal=",")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"decimal": "'"}, r"""decimal: found "'", expected "\." or ","$"""),
        ({"decimal": ",", "delimiter": ","}, "delimiter: found ',', which is also the decimal"),
        ({"comments": ";", "delimiter": ";"}, "comments: found ';', which is also the delimiter"),
        ({"comments": "//"}, "comments: found '//', expected one character of ASCII"),
        ({"skip": -1}, "skip: found -1, expected a number of lines"),
        (
            {"unit": True},
            r'the format csv has no option "unit", expected one of comments, .* units: did you mean units',
        ),
    ],
)
def test_options_that_contradict_each_other(options: Any, message: str, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("a,b\n1,2\n")
    calls: Any = (ds.read, ds.open)
    for call in calls:
        with pytest.raises(ds.DriverError, match=rf"a\.csv: {message}"):
            call(path, **options)
    with pytest.raises(ds.DriverError, match=rf"a\.csv: {message}"):
        ds.convert(path, tmp_path / "b.ds", reading=options)
    if options.keys() <= {"decimal", "delimiter"}:
        with pytest.raises(ds.DriverError, match=rf"b\.csv: {message}"):
            ds.write(tmp_path / "b.csv", {"x": [1]}, **options)
    assert [one.name for one in tmp_path.iterdir()] == ["a.csv"]


def test_other_formats_have_no_such_options(tmp_path: Path) -> None:
    ds.write(tmp_path / "a.ds", {"x": [1]})
    with pytest.raises(ds.DriverError, match=r'a\.ds: the format ds has no option "decimal"$'):
        ds.read(tmp_path / "a.ds", decimal=",")


def test_lines_that_begin_with_a_number_sign_are_data_by_default(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    dataset = {"#id": ["#1", "#2"], "colour": ["#ff0000", "x"]}
    ds.write(path, dataset)
    assert path.read_bytes() == b'"#id",colour\r\n"#1",#ff0000\r\n"#2",x\r\n'
    for text in (path.read_text(), path.read_text().replace('"', "")):
        path.write_text(text)
        assert {key: array.tolist() for key, array in ds.read(path).items() if key != "."} == dataset
    path.write_text("% about\na,b\n1,2\n")
    with pytest.raises(ds.FormatError, match=r"line 2, column 2: found 2 cells, expected 1, one for each name$"):
        ds.read(path)
    assert ds.read(path, comments="%")["b"].tolist() == [2]


def test_comments_and_units_between_the_rows(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(b'station 7\n\n# 1\na,b\n# 2\n hPa,\n#3\n1,2\r\n\n#,,,\r3,"x\n#y"\n 4,#5\n#')
    found = ds.read(path, skip=2, comments="#", units=True)
    assert found["a"].tolist() == [1, 3, 4]
    assert found["b"].tolist() == ["2", "x\n#y", "#5"]
    assert [found["."][key].get("units") for key in "ab"] == [" hPa", None]
    path.write_bytes(b"a,b\n")
    assert ds.read(path, units=True)["a"].size == 0


def test_many_tables_are_read_in_one_form(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("# x\nx;y\n1,5;2\n")
    reading: Any = {"comments": "#", "decimal": ","}
    [done] = ds.convert_many([tmp_path / "a.csv"], tmp_path / "out", reading=reading, verify=True)
    assert ds.read(str(done.output))["x"].tolist() == [1.5]


def test_a_handle_reads_as_its_file_was_opened(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("#\nx;y\nm;s\n1,5;2\n")
    with ds.open(tmp_path / "a.csv", comments="#", decimal=",", units=True) as file:
        handle: Any = file["x"].handle()
    assert handle[...].tolist() == [1.5]


def test_units(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    entry = {".dims": ["i"], "units": "days since 2026-01-01"}
    dataset: Any = {
        "t": [1, 2],
        "p": [1.5, 2.5],
        "n": [1, 2],
        ".": {"t": entry, "p": {".dims": ["i"], "units": "°C, ;"}},
    }
    ds.write(path, dataset, units=True)
    assert path.read_bytes().decode() == 't,p,n\r\ndays since 2026-01-01,"°C, ;",\r\n1,1.5,1\r\n2,2.5,2\r\n'
    assert ds.read(path, units=True, jd=True)["t"].tolist() == [2461042.5, 2461043.5]
    dataset["."] = {"t": {**entry, "calendar": "360_day"}, "p": {".dims": ["i"], "units": 1}}
    with pytest.warns(LossWarning, match=r'attributes \(of "t", "p"\)$'):
        ds.write(path, dataset, units=True)
    with pytest.warns(LossWarning, match=r'attributes \(of "p"\)'):
        ds.write(path, {"p": [1], ".": {"p": {".dims": ["i"], "units": "\ud800"}}}, units=True)


TABLE: dict[str, Any] = {
    "time": np.ma.masked_array([0, 1.5, 2.25, 3, 4], [False, False, False, False, True]),
    "temperature": np.ma.masked_array([281.73, -1e-05, 1e20, 0, 1], [False, False, False, True, False]),
    "station": np.array(["A;1", 'ž,"q"', "#x", "two\nlines", "1,5x"], object),
    "n": np.array([1, -2, 3, 1 << 40, 0]),
    ".": {
        "time": {".dims": ["i"], "units": "hours since 2026-01-01 12:00"},
        **{key: {".dims": ["i"]} for key in ("temperature", "station", "n")},
    },
}
DATES = ["2026-01-01 12:00:00", "2026-01-01 13:30:00", "2026-01-01 14:15:00", "2026-01-01 15:00:00", None]


def test_a_file_for_excel(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    ds.write(path, TABLE, excel=True)
    assert path.read_bytes().startswith(
        b"\xef\xbb\xbftime,temperature,station,n\r\n2026-01-01 12:00:00,281.73,A;1,1\r\n"
    )
    found = ds.read(path)
    assert found["time"].tolist() == DATES
    assert all(same_data(found[key], TABLE[key]) for key in ("temperature", "station", "n"))
    ds.write(tmp_path / "b.ds", TABLE)
    ds.convert(tmp_path / "b.ds", path, excel=True, decimal=",", times="iso")
    assert path.read_bytes().startswith(
        b'\xef\xbb\xbftime;temperature;station;n\r\n2026-01-01 12:00:00;281,73;"A;1";1\r\n'
    )
    ds.write(path, {"t": [0, 0.5], ".": {"t": {"units": "seconds since 2026-01-01"}}}, excel=True, decimal=",")
    assert path.read_text().split("\n")[2] == "2026-01-01 00:00:00,500"
    with pytest.warns(LossWarning, match="units of times"):
        ds.write(path, {"t": [2451545.0], ".": {"t": {".time": True}}}, excel=True, time_units="days since 2000-01-01")
    assert path.read_text().split("\n")[1] == "0.5"


@pytest.mark.slow
@pytest.mark.skipif(SOFFICE is None, reason="needs soffice, of LibreOffice Calc")
@pytest.mark.parametrize(("decimal", "delimiter", "language"), [(".", 44, 1033), (",", 59, 1031)])
def test_a_spreadsheet_opens_the_file(decimal: Any, delimiter: int, language: int, tmp_path: Path) -> None:
    ds.write(tmp_path / "a.csv", TABLE, excel=True, decimal=decimal)
    words = [
        str(SOFFICE),
        f"-env:UserInstallation={(tmp_path / 'user').as_uri()}",
        "--headless",
        "--convert-to",
        "xlsx",
    ]
    # a separator, quotes, UTF-8, from line 1, in a language, numbers and dates recognised
    form = f"--infilter=CSV:{delimiter},34,76,1,,{language},false,true"
    subprocess.run(
        [*words, form, "--outdir", tmp_path, tmp_path / "a.csv"], check=True, capture_output=True, timeout=120
    )
    names, *rows = sheet(tmp_path / "a.xlsx")
    assert names == {0: "time", 1: "temperature", 2: "station", 3: "n"}
    columns = [TABLE[name].tolist() for name in names.values()]
    columns[0] = [text and datetime.datetime.fromisoformat(text) for text in DATES]
    expected = [[*row] for row in zip(*columns, strict=True)]
    assert [[row.get(i) for i in names] for row in rows] == expected


def sheet(path: Path) -> list[dict[int, Any]]:
    """Return the cells of the first sheet of an XLSX file by their column, as text, numbers or datetimes."""
    space = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
    with zipfile.ZipFile(path) as archive:
        trees = {
            name: ElementTree.fromstring(archive.read(f"xl/{name}.xml"))
            for name in ("sharedStrings", "styles", "worksheets/sheet1")
        }
    shared = ["".join(one.itertext()) for one in trees["sharedStrings"].iter(f"{space}si")]
    codes = {one.get("numFmtId"): one.get("formatCode", "") for one in trees["styles"].iter(f"{space}numFmt")}
    styles = [codes.get(one.get("numFmtId"), "") for one in trees["styles"].findall(f"{space}cellXfs/*")]
    rows = []
    for row in trees["worksheets/sheet1"].iter(f"{space}row"):
        cells: dict[int, Any] = {}
        for cell in row.iter(f"{space}c"):
            content = cell.findtext(f"{space}v")
            if content is None:
                continue
            value: Any = shared[int(content)] if cell.get("t") == "s" else float(content)
            if cell.get("t") == "n" and re.search("y.*h", styles[int(cell.get("s", 0))], re.IGNORECASE):
                value = datetime.datetime(1899, 12, 30) + datetime.timedelta(days=value)
            cells[ord(str(cell.get("r"))[0]) - ord("A")] = value
        rows.append(cells)
    return rows
