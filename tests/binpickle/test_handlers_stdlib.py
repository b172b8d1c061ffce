"""Values and containers of the standard library."""

from __future__ import annotations

import collections
import datetime as dt
import importlib
import importlib.util
import pathlib
import pickle
import uuid
import zoneinfo
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest

from ds_format.binpickle import machine
from ds_format.errors import DsError, FormatError, UnsafeError

from .pickles import again, call, given, load, name, raw, text

pytz: Any = importlib.import_module("pytz") if importlib.util.find_spec("pytz") else None
PARIS = zoneinfo.ZoneInfo("Europe/Paris")
UUID_1 = uuid.UUID("12345678-1234-11ee-8234-0123456789ab")
VALUES: list[Any] = [
    dt.datetime(2021, 3, 4, 5, 6, 7, 89), dt.datetime(2021, 10, 31, 2, 30, tzinfo=PARIS, fold=1), dt.datetime.max,
    dt.datetime(1, 1, 1, tzinfo=dt.timezone(dt.timedelta(hours=5, minutes=30))), dt.date(1999, 12, 31),
    dt.time(23, 59, 58, 7),
    dt.time(1, fold=1, tzinfo=dt.UTC), dt.timedelta(-1, 5, 6), dt.timezone(dt.timedelta(hours=1), "CET"), PARIS,
    Decimal("-1.50E+10"), Decimal("NaN"), Fraction(-3, 7), Fraction(4), uuid.UUID(int=5), UUID_1, 1.5 - 2j,
    range(1, 10, 3), slice(1, None, "x"), Ellipsis, NotImplemented, pathlib.Path("/a/b.c"), pathlib.PurePosixPath("a"),
    pathlib.PureWindowsPath("C:\\a\\b"), collections.OrderedDict(z=1, a=[2]), collections.Counter("abracadabra"),
    collections.defaultdict(list, k=[1]), collections.defaultdict(None),
    collections.defaultdict(collections.OrderedDict),
    collections.deque([1, 2, 3], 5), collections.deque([1]), int, dict, dt.datetime, uuid.UUID, collections.OrderedDict,
]  # fmt: skip


@pytest.mark.parametrize("value", VALUES, ids=lambda value: f"{type(value).__name__} {value!s:.20}")
def test_values_come_back(value: Any) -> None:
    found = again(value)
    assert type(found) is type(value) and repr(found) == repr(value)
    if isinstance(value, (dt.datetime, dt.time)):
        assert found.fold == value.fold and found.tzinfo == value.tzinfo
    if isinstance(value, uuid.UUID):
        assert found.is_safe is value.is_safe


def test_time_zones_without_a_cache() -> None:
    assert again(zoneinfo.ZoneInfo.no_cache("Europe/Paris")).key == "Europe/Paris"


@pytest.mark.skipif(pytz is None, reason="needs pytz")
def test_time_zones_of_pytz() -> None:
    """pandas before version 3 has them in times with a zone."""
    paris = pytz.timezone("Europe/Paris")
    assert (
        again(paris) is paris and again(pytz.utc) is pytz.utc and str(again(pytz.timezone("Etc/GMT+3"))) == "Etc/GMT+3"
    )
    twice = dt.datetime(2021, 10, 31, 2, 30)
    for value in (paris.localize(twice, is_dst=True), paris.localize(twice, is_dst=False)):
        assert repr(again(value)) == repr(value)
    value = pytz.FixedOffset(90).localize(twice)
    assert again(value) == value and again(value).utcoffset() == value.utcoffset()
    before = len(paris._tzinfos)
    unknown = load(call("pytz:_p", "Europe/Paris", 1234 * 60, 0, "XYZ"))
    assert unknown.utcoffset(None) == dt.timedelta(minutes=1234) and unknown.tzname(None) == "XYZ"
    assert load(call("pytz:_p", "Europe/Paris", 561, 0, "LMT")).zone == "Europe/Paris"
    assert len(paris._tzinfos) == before
    with pytest.raises(FormatError, match='no time zone "Europe/Nowhere"'):
        load(call("pytz:_p", "Europe/Nowhere"))


@pytest.mark.skipif(pytz is not None, reason="pytz is installed")
def test_time_zones_of_pytz_need_it() -> None:
    with pytest.raises(DsError, match="pip install 'pytz'"):
        load(call("pytz:_p", "Europe/Paris", 540, 0, "LMT"))


def test_a_path_of_the_other_system_is_a_plain_one() -> None:
    other = "WindowsPath" if isinstance(pathlib.Path(), pathlib.PosixPath) else "PosixPath"
    for module in ("pathlib", "pathlib._local"):
        found = load(call(f"{module}:{other}", "a", "b"))
        assert type(found).__name__ == f"Pure{other}" and found.parts == ("a", "b")


def test_a_subclass_is_refused_by_its_name() -> None:
    class Own(dict): ...

    Own.__module__, Own.__qualname__ = "mine", "Own"
    data = pickle.dumps(collections.OrderedDict(a=1)).replace(b"\x8c\x0bcollections", b"\x8c\x0bcollectionz")
    with pytest.raises(UnsafeError, match=r"collectionz\.OrderedDict"):
        machine.load(data)


ZONE = call("builtins:getattr", name("zoneinfo:ZoneInfo"), "_unpickle")
LIES = {
    "month 13": call("datetime:datetime", raw(b"\x07\xe4\x0d\1\0\0\0\0\0\0")),
    "hour 99": call("datetime:datetime", raw(b"\x07\xe4\1\1\x63\0\0\0\0\0")),
    "microsecond": call("datetime:datetime", raw(b"\x07\xe4\1\1\0\0\0\xff\xff\xff")),
    "short datetime": call("datetime:datetime", raw(bytes(9))),
    "datetime of numbers": call("datetime:datetime", 2020, 1, 1),
    "zone that is none": call("datetime:datetime", raw(b"\x07\xe4\1\1\0\0\0\0\0\0"), "UTC"),
    "year 0": call("datetime:date", raw(b"\0\0\1\1")),
    "time": call("datetime:time", raw(b"\x7f\0\0\0\0\0")),
    "timedelta of 2^70": call("datetime:timedelta", 2**70, 0, 0),
    "timedelta of floats": call("datetime:timedelta", 0.5, 0, 0),
    "zone of 25 hours": call("datetime:timezone", call("datetime:timedelta", 0, 90000, 0)),
    "zone of a number": call("datetime:timezone", 1),
    "getattr of a list": call("builtins:getattr", name("builtins:list"), "append"),
    "getattr of another name": call("builtins:getattr", name("zoneinfo:ZoneInfo"), "__init__"),
    "zone outside": ZONE + b"(" + text("../../etc/passwd") + b"\x88tR",
    "zone, absolute": ZONE + b"(" + text("/etc/passwd") + b"\x88tR",
    "zone that is unknown": ZONE + b"(" + text("Europe/Nowhere") + b"\x88tR",
    "pytz, outside": call("pytz:_p", "../../etc/passwd"),
    "pytz, a number": call("pytz:_p", 1),
    "pytz, days": call("pytz:_p", "Europe/Paris", 90000, 0, "X"),
    "pytz, 2^70": call("pytz:_p", "Europe/Paris", 2**70, 0, "X"),
    "pytz, two": call("pytz:_p", "Europe/Paris", 0, "X"),
    "pytz, name": call("pytz:_p", "Europe/Paris", 0, 0, 0),
    "pytz, minutes": call("pytz:FixedOffset", 1440),
    "pytz, half of a minute": call("pytz:FixedOffset", 0.5),
    "decimal": call("decimal:Decimal", "one"),
    "decimal of a number": call("decimal:Decimal", 1),
    "fraction, huge": call("fractions:Fraction", "1e999999999"),
    "fraction of zero": call("fractions:Fraction", 1, 0),
    "fraction of a list": call("fractions:Fraction", [1]),
    "uuid": given(call("uuid:UUID"), {"int": 2**128}),
    "uuid, no number": given(call("uuid:UUID"), {}),
    "uuid, more": given(call("uuid:UUID"), {"int": 1, "hex": 2}),
    "uuid, state": given(call("uuid:UUID"), [1]),
    "uuid, arguments": call("uuid:UUID", "12345678123456781234567812345678"),
    "path of a number": call("pathlib:PurePosixPath", 1),
    "complex of texts": call("builtins:complex", "1", "2"),
    "range of one": call("builtins:range", 1),
    "range, step 0": call("builtins:range", 1, 2, 0),
    "factory": call("collections:defaultdict", name("collections:defaultdict")),
    "factory that runs": call("collections:defaultdict", name("numpy:ndarray")),
    "two factories": call("collections:defaultdict", name("builtins:list"), name("builtins:list")),
    "counter of a list": call("collections:Counter", [1]),
    "counter, twice": call("collections:Counter", {}, {}),
    "deque of items": call("collections:deque", [1]),
    "deque of -1": call("collections:deque", (), -1),
    "deque of 2^70": call("collections:deque", (), 2**70),
    "ordered dictionary of pairs": call("collections:OrderedDict", [(1, 2)]),
    "slice as key": b"}" + call("builtins:slice", 1, 2, 3) + b"Ns",
}


@pytest.mark.parametrize("lie", LIES)
def test_lies_are_refused(lie: str) -> None:
    with pytest.raises(FormatError, match=r"^pickle, byte \d+: "):
        load(LIES[lie])


def test_getattr_is_never_a_value() -> None:
    with pytest.raises(DsError, match="part of the object"):
        load(name("builtins:getattr"))
    with pytest.raises(DsError, match="part of the object"):
        load(ZONE)
