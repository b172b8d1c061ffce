"""Variables of small ds files, made by one kernel: as `codec.decode` makes them."""

from __future__ import annotations

import json
import sys
import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

import ds_format as ds
from ds_format.codec import line
from ds_format.codec.attributes import from_json
from ds_format.codec.header import VERSION_LINE
from ds_format.codec.line import PARSER, parse_usual
from ds_format.datasets import Dataset
from ds_format.drivers.ds import whole
from ds_format.drivers.ds.whole import KINDS
from ds_format.errors import DsError
from ds_format.kernels.ds.arrays import append_arrays, put_arrays, put_file

from ..same import same_data, same_value
from ..strategies import datasets, usual_datasets

NATIVE, FOREIGN = ("l", "b") if sys.byteorder == "little" else ("b", "l")
BODY = np.arange(6.0).tobytes()


def file_of(entries: dict[str, Any], pad: int = 0) -> tuple[Any, bytearray]:
    """Return header and bytes of a file whose body starts at a multiple of 8, and so many bytes behind."""
    text = json.dumps({key: {".endian": NATIVE, **entry} for key, entry in entries.items()}).encode()
    size = len(VERSION_LINE) + len(text) + 1
    data = bytearray(VERSION_LINE + text + b" " * (-size % 8 + pad) + b"\n" + BODY)
    found = parse_usual(data)
    assert found is not None
    return found[0], data


def put(header: Any, data: Any, share: bool = True, numbers: Any = None) -> tuple[dict[str, Any], list[str]]:
    out: dict[str, Any] = {}
    return out, put_arrays(header, KINDS, data, header.body, share, out, numbers)[0]


@pytest.mark.parametrize("pad", [0, 1])
@pytest.mark.parametrize("share", [True, False])
def test_arrays_of_numbers(pad: int, share: bool) -> None:
    header, data = file_of({"x": {".size": [2, 2]}, "y": {".size": [2], ".offset": 32}, "s": {".offset": 8}}, pad)
    out, left = put(header, data, share)
    assert left == []
    assert list(out) == ["x", "y", "s"]
    assert out["x"].tolist() == [[0, 1], [2, 3]]
    assert out["y"].tolist() == [4, 5]
    assert type(out["s"]) is np.float64
    assert out["s"] == 1
    assert out["x"].flags.writeable
    assert out["x"].flags.aligned
    assert out["x"].flags.c_contiguous
    is_view = share and not pad  # where bytes are not aligned, they are copied
    assert out["x"].flags.owndata is not is_view
    data[-8:] = bytes(8)
    assert out["y"][1] == (0 if is_view else 5)


@pytest.mark.parametrize(
    "entry",
    [
        {".size": [7]},
        {".size": [1], ".offset": 41},
        {".size": [1], ".offset": 10**17},
        {".size": [1 << 40]},
        {".size": [1 << 20, 1 << 20]},
        {".size": [1 << 20], ".missing": True},
        {".size": [400], ".type": "bool"},
        {".size": [6], ".missing": True},
        {".size": [8], ".type": "bool", ".missing": True, ".offset": 47},
        {".size": [2], ".type": "unicode", ".offset": 40},
        {".size": [1], ".type": "unicode", ".offset": 8},
    ],
    ids=str,
)
def test_what_is_left(entry: dict[str, Any]) -> None:
    header, data = file_of({"a": entry, "b": {".size": [1]}})
    out, left = put(header, data)
    assert left == ["a"]
    assert list(out) == ["a", "b"]
    assert out["a"] is None


def test_bytes_have_no_order() -> None:
    header, data = file_of({"a": {".size": [2], ".endian": FOREIGN, ".type": "uint8", ".offset": 8}})
    assert put(header, data)[0]["a"].tolist() == [0, 0]


def test_no_data() -> None:
    header, data = file_of({"a": {".size": None}})
    assert put(header, data) == ({"a": None}, [])


def test_some() -> None:
    header, data = file_of({"a": {".size": [1]}, "b": {".size": [1]}, "c": {".size": [7]}})
    out, left = put(header, data, numbers=[1, 2])
    assert list(out) == ["b", "c"]
    assert left == ["c"]
    with pytest.raises(IndexError, match="variable 3 of 3"):
        put(header, data, numbers=[3])


def test_a_part_of_the_body() -> None:
    header, data = file_of({"a": {".size": [1]}, "b": {".size": [2], ".offset": 16}})
    out: dict[str, Any] = {}
    assert put_arrays(header, KINDS, data[header.body + 16 :], -16, True, out, None)[0] == ["a"]
    assert out["b"].tolist() == [2, 3]


def test_wrong_arguments() -> None:
    header, data = file_of({"a": {".size": [1]}})
    with pytest.raises(TypeError, match="expected a dict"):
        put_arrays(header, KINDS, data, header.body, True, [], None)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        put(header, "text")


def append(data: Any, columns: Any) -> list[int]:
    header = parse_usual(data)[0]  # type: ignore[index]
    return append_arrays(header, KINDS, data, header.body, columns)


def columns_of(header: Any) -> list[Any]:
    """Return empty columns, one for each variable."""
    kinds = [KINDS[header.variable(i)[0]] for i in range(len(header.keys))]
    return [(None, bytearray(), []) if kind in (str, bytes) else (bytearray(), bytearray(), None) for kind in kinds]


def state(columns: Any) -> Any:
    return [[None if part is None else part.copy() for part in column] for column in columns]


@given(datasets() | usual_datasets(), st.data())
def test_columns_are_all_arrays_one_after_another(dataset: dict[str, Any], drawn: st.DataObject) -> None:
    """This includes files that end too early: nothing is appended if not all arrays can be made."""
    data = bytearray(ds.dumps(dataset))
    found = parse_usual(data)
    if found is None:
        return
    header, _ = found
    if drawn.draw(st.integers(0, 3)) == 0:
        data = data[: drawn.draw(st.integers(header.body, len(data)))]
    columns = columns_of(header)
    if header.is_doubtful_in(len(data) - header.body):
        assert append(data, columns) == [i for i in range(len(header.keys)) if header.variable(i)[1] is not None]
        return
    out, left = put(header, data, share=False)
    for n in (1, 2, 3):
        assert [header.keys[i] for i in append(data, columns)] == left
        for (numbers, flags, strings), array in zip(columns, out.values(), strict=True):
            if left or array is None:
                assert not numbers and not flags and not strings
                continue
            array = np.ma.asanyarray(array) if isinstance(array, np.ma.MaskedArray) else np.asanyarray(array)
            values = np.ma.getdata(array)
            mask = np.ma.getmaskarray(array)
            if strings is None:
                assert bytes(numbers) == n * values.tobytes()
            else:
                assert strings == n * (values.tolist() if values.ndim == 1 else values.ravel().tolist())
            assert bytes(flags) == (n * mask.tobytes() if mask.any() else b"")


def test_flags_of_values_before_the_first_missing_one() -> None:
    for array in (np.arange(3.0), np.array([True, False, True]), np.array([b"a", b"b", b"c"], object)):
        masked = np.ma.MaskedArray(array, [False, True, False])
        plain, gappy = (bytearray(ds.dumps({"x": data, ".": {}})) for data in (array, masked))
        columns = columns_of(parse_usual(plain)[0])  # type: ignore[index]
        for data, flags in ((plain, b""), (gappy, bytes([0, 0, 0, 0, 1, 0])), (plain, bytes([0, 0, 0, 0, 1, 0]))):
            assert append(data, columns) == []
            assert bytes(columns[0][1]) == flags
        assert append(gappy, columns) == []
        assert bytes(columns[0][1]) == bytes([0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 1, 0])


def test_text_that_is_not_utf_8_is_left_and_nothing_is_appended() -> None:
    data = bytearray(ds.dumps({"n": np.arange(2), "s": ["ž", "b"], ".": {}}))
    data[-3:-1] = b"\xff\xff"
    columns = columns_of(parse_usual(data)[0])  # type: ignore[index]
    before = state(columns)
    assert append(data, columns) == [1]
    assert state(columns) == before
    assert append(data, [columns[0], None]) == []
    assert columns[0][0] == np.arange(2).tobytes()


def test_wrong_columns() -> None:
    header, data = file_of({"x": {".size": [4]}})
    with pytest.raises(ValueError, match="0 columns for 1 variables"):
        append(data, [])
    wrong: list[Any] = [[], (None, bytearray(), []), (b"x", bytearray(), None)]
    for column in wrong:
        with pytest.raises((TypeError, IndexError)):
            append(data, [column])
    for body in (-1, len(data) + 1):
        assert append_arrays(header, KINDS, data, body, columns_of(header)) == [0]
    exported = bytearray()
    with memoryview(exported), pytest.raises(BufferError):
        append(data, [(exported, bytearray(), None)])


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview, lambda data: memoryview(data).toreadonly()])
def test_arrays_are_as_writable_as_the_buffer_and_keep_it(kind: Any) -> None:
    header, data = file_of({"x": {".size": [2, 2]}})
    buffer = kind(data)
    out, left = put(header, buffer)
    assert left == []
    assert out["x"].base is buffer
    assert out["x"].flags.writeable is not memoryview(buffer).readonly


VALUES = np.arange(4.0)


def made(attributes: dict[str, Any] | None = None, n: int = 4, entry: dict[str, Any] | None = None) -> bytearray:
    """Return a file of one variable, whose body starts at a multiple of 8."""
    order = "l" if sys.byteorder == "little" else "b"
    var = {".size": [n], ".type": "float64", ".endian": order, **(entry or {})}
    text = json.dumps({"x": var, ".": attributes or {}}).encode()
    size = len(VERSION_LINE) + len(text) + 1
    return bytearray(VERSION_LINE + text + b" " * (-size % 8) + b"\n" + np.resize(VALUES, n).tobytes())


def fill(data: bytearray, keys: Any = None, full: bool = False) -> tuple[dict[str, Any], Any]:
    out: dict[str, Any] = {}
    return out, put_file(PARSER, from_json, KINDS, data, out, keys, full, keys is None)


@pytest.mark.parametrize("n", [4, 1000])
def test_arrays_keep_no_header_that_is_longer_than_they_are(n: int) -> None:
    data = made(n=n)
    out, rest = fill(data)
    assert rest is None
    assert out["x"].tolist() == np.resize(VALUES, n).tolist()
    assert out["x"].flags.writeable
    assert out["x"].flags.aligned
    assert len(out["x"].base) == (8 * n if n == 4 else len(data))
    assert out["."] == {"x": {".size": [n], ".type": "float64"}, ".": {}}


def test_attributes_have_their_types() -> None:
    data = made({"a": [1], ".dtypes": {"a": ["int16", 1]}})
    for _ in range(3):
        out, rest = fill(data)
        assert rest is None
        assert out["."]["."]["a"].dtype == np.int16
        out["."]["."]["a"][0] = 2


@pytest.mark.parametrize(("full", "known"), [(False, ["."]), (True, ["x", "."])])
def test_some_variables(full: bool, known: list[str]) -> None:
    out, rest = fill(made(), ["y"], full)
    assert rest is None
    assert list(out) == ["."]
    assert list(out["."]) == known


@pytest.mark.parametrize(
    ("data", "left"),
    [
        (made(entry={".size": [5]}), ["x"]),
        (made(entry={".type": "unicode"}), ["x"]),
        (made(entry={".type": "str", ".len": 31}), None),
        (made(entry={".netcdf": {"packed": True}}), []),
    ],
    ids=["truncated", "lengths of strings beyond the end", "offsets in doubt", "packed perhaps"],
)
def test_what_is_left_to_others(data: bytearray, left: list[str] | None) -> None:
    _, rest = fill(data)
    assert rest is not None
    parsed, remaining, _ = rest
    assert parsed is not None
    assert remaining == left


@pytest.mark.parametrize("record", [{"fill": "default"}, {"mark": 5.0}, {"fill": "none"}, {"char": {}}, {}])
def test_masked_variables_whose_metadata_may_have_a_mark(record: dict[str, Any]) -> None:
    data = made(entry={".size": [8], ".missing": True, ".netcdf": record})
    data[-32] = 0b11111001  # the mask
    out, rest = fill(data)
    assert np.ma.count_masked(out["x"]) == 6
    assert (rest is None) is (record.keys().isdisjoint({"fill", "mark"}))
    if rest is not None:
        assert rest[1:] == ([], ["x"])


def slowly(data: bytearray, keys: Any, share: bool) -> Dataset:
    """Read a file without the kernel."""
    dataset = Dataset()
    whole._complete(dataset, data, None, None, [], keys, False, False, None, share)
    return dataset


@given(datasets() | usual_datasets(), st.booleans(), st.data())
def test_variables_of_all_kinds_are_those_that_codec_decode_makes(
    dataset: dict[str, Any], share: bool, data: st.DataObject
) -> None:
    content = bytearray(ds.dumps(dataset))
    keys = data.draw(st.none() | st.lists(st.sampled_from([*dataset])))
    out = Dataset()
    rest = put_file(PARSER, from_json, KINDS, content, out, keys, False, share)
    expected = slowly(bytearray(content), keys, share)
    if rest is not None:
        assert rest[1] == [] or rest[0] is None
        whole._complete(out, content, *rest, keys, False, False, None, share)
    assert [*out] == [*expected]
    assert same_value(dict(out["."]), dict(expected["."]))
    assert all(same_data(out[key], expected[key]) for key in out if key != ".")


def swapped(content: bytearray) -> bytearray:
    """Return a file of numbers and text whose values have the other byte order."""
    header, _ = line.parse(content, line.find_end(content, whole=True))
    out = bytearray(content).replace(b'".endian": "l"', b'".endian": "b"', -1)
    for key in header.keys:
        var = header.variables[key].var
        assert var is not None and var.type is not None and var.size is not None
        n = int(np.prod(var.size))
        mask_size = (n + 7) // 8 if var.missing else 0
        first = header.body + var.offset + mask_size
        mask = np.frombuffer(content, np.uint8, mask_size, first - mask_size)
        bits = np.unpackbits(mask, count=n if mask_size else 0)
        if var.type.ordered:
            item_size = var.type.bits // 8
            stored = np.frombuffer(content, f"u{item_size}", n - int(bits.sum()), first)
            out[first : first + stored.nbytes] = stored.byteswap().tobytes()
    return out


@pytest.mark.parametrize("code", ["f8", "i2", "u4", "u1", "?", "O", "S"])
def test_both_byte_orders(code: str) -> None:
    strings: dict[str, list[Any]] = {"O": ["a", "é", "x" * 300], "S": [b"a", b"", b"xyz"]}
    values: Any = np.array(strings[code] * 3, object) if code in strings else np.arange(9).astype(code)
    masked = np.ma.MaskedArray(values, np.arange(9) % 4 == 1)
    dataset = {"x": values, "y": masked, "s": values[1], "e": values[:0], ".": {}}
    content = bytearray(ds.dumps(dataset))
    first, second = fill(content), fill(swapped(content) if sys.byteorder == "little" else content)
    assert first[1] is None
    assert second[1] is None
    assert all(same_data(first[0][key], second[0][key]) for key in "xyse")
    assert same_data(first[0]["y"], dataset["y"])


@given(datasets(), st.data())
def test_truncated_and_changed_files_are_read_or_refused_as_without_the_kernel(
    dataset: dict[str, Any], data: st.DataObject
) -> None:
    content = bytearray(ds.dumps(dataset))
    body = content.index(b"\n", 7) + 1
    del content[data.draw(st.integers(body, len(content))) :]
    for _ in range(data.draw(st.integers(0, 3))):
        if len(content) > body:
            content[data.draw(st.integers(body, len(content) - 1))] = data.draw(st.integers(0, 255))

    def outcome(read: Any) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                return read()
            except DsError as error:
                return str(error).removeprefix("x.ds: ")

    found = outcome(lambda: whole.from_held("x.ds", bytearray(content), None, None))
    expected = outcome(lambda: slowly(bytearray(content), None, False))
    if isinstance(expected, str):
        assert found == expected
    else:
        assert [*found] == [*expected]
        assert all(same_data(found[key], expected[key]) for key in found if key != ".")


def test_a_header_that_is_left_to_others() -> None:
    data = bytearray(b'ds-1.0\n{"x": 1}\n')
    out, rest = fill(data)
    assert out == {}
    assert rest == (None, None, [])


@given(datasets() | usual_datasets(), st.integers(0, 500), st.data())
def test_a_larger_file_is_read_in_blocks(
    tmp_path_factory: pytest.TempPathFactory, dataset: dict[str, Any], limit: int, data: st.DataObject
) -> None:
    path = str(tmp_path_factory.mktemp("blocks") / "x.ds")
    ds.write(path, dataset)
    keys = data.draw(st.none() | st.lists(st.sampled_from([*dataset])))
    expected = whole.read(path, keys, False, False, None)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(whole, "WHOLE_SIZE", limit)
        found = whole.read(path, keys, False, False, None)
    assert [*found] == [*expected]
    assert same_value(dict(found["."]), dict(expected["."]))
    assert all(same_data(found[key], expected[key]) for key in found if key != ".")
