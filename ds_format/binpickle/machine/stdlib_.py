"""Values of the standard library: times, numbers, identifiers, paths, ranges, and the containers of `collections`.

A pickle makes these containers empty and then fills them. Lists, tuples, dictionaries and sets have opcodes of their
own. Time zones of pytz are among the times: pandas had them before version 3.

Sources: `__reduce__` of each in Python 3.8 to 3.13, and in pytz 2026.
"""

from __future__ import annotations

import collections
import datetime
import decimal
import fractions
import pathlib
import re
import uuid
import zoneinfo
from functools import partial
from typing import Any

from ...base.optional import library
from ...errors import FormatError
from ...kernels.pickle.machine import Global, Pending
from .allowed import AllowedName, check, check_ints, check_state, wrong

FACTORIES = (
    bool, int, float, complex, str, bytes, bytearray, list, tuple, dict, set, frozenset,
    collections.OrderedDict, collections.Counter, collections.deque,
)  # fmt: skip
"""Factories that a defaultdict may have."""
MAPS = {collections.OrderedDict, collections.defaultdict, collections.Counter}


def empty_dataset() -> dict[str, Any]:
    """Replace a dataset of this package, which is a dictionary."""
    return {}


def ordered_dict() -> collections.OrderedDict[Any, Any]:
    """Replace `collections.OrderedDict`."""
    return collections.OrderedDict()


def default_dict(*factory: Any) -> collections.defaultdict[Any, Any]:
    """Replace `collections.defaultdict`."""
    if len(factory) > 1 or (factory and not any(factory[0] is allowed for allowed in (None, *FACTORIES))):
        raise wrong("defaultdict", factory, "a factory that is a plain type")
    return collections.defaultdict(*factory)


def counter(*counts: Any) -> collections.Counter[Any]:
    """Replace `collections.Counter`."""
    made: collections.Counter[Any] = collections.Counter()
    if len(counts) > 1:
        raise wrong("Counter", counts, "a dictionary")
    for plain in counts:
        dict.update(made, check("Counter", plain, dict))
    return made


def deque(items: Any = (), *length: Any) -> collections.deque[Any]:
    """Replace `collections.deque`."""
    if type(items) not in (tuple, list) or items or len(length) > 1:
        raise wrong("deque", items, "no items and a length")
    lengths = [n if n is None else check("deque: length", n, int) for n in length]
    return collections.deque(maxlen=lengths[0] if lengths else None)


def extend_deque(target: Any, items: list[Any]) -> bool:
    """Add items to a deque; return whether it is one."""
    if type(target) is not collections.deque:
        return False
    target.extend(items)
    return True


def update_map(target: Any, items: list[Any]) -> bool:
    """Put alternating keys and values into a dictionary of `collections`; return whether it is one."""
    if type(target) not in MAPS:
        return False
    for i in range(0, len(items), 2):
        target[items[i]] = items[i + 1]
    return True


CONTAINER_TABLE: dict[str, AllowedName] = {
    "collections:OrderedDict": AllowedName(ordered_dict, collections.OrderedDict),
    "collections:defaultdict": AllowedName(default_dict, collections.defaultdict),
    "collections:Counter": AllowedName(counter, collections.Counter),
    "collections:deque": AllowedName(deque, collections.deque),
    "ds_format.dataset:Dataset": AllowedName(empty_dataset),  # before 0.3
    "ds_format.datasets:Dataset": AllowedName(empty_dataset),
}
"""Names in pickles of these containers."""


FRACTION = re.compile(r"-?[0-9]+(/[0-9]+)?")
ZONE = re.compile(r"[A-Za-z0-9_+-]+(/[A-Za-z0-9_+-]+){0,4}")
"""A key of the time zone database: a relative path that leads nowhere else."""
FROM_KEY = Global("zoneinfo", "ZoneInfo._unpickle")


def _bytes(what: str, value: Any, size: int) -> bytes:
    if type(value) is not bytes or len(value) != size:
        raise wrong(what, value, f"{size} bytes")
    return value


def _zone(zone: tuple[Any, ...]) -> datetime.tzinfo | None:
    if not zone:
        return None
    if len(zone) > 1 or not isinstance(zone[0], datetime.tzinfo):
        raise wrong("time zone", zone, "a time zone")
    return zone[0]


def datetime_(packed: Any, *zone: Any) -> datetime.datetime:
    """Replace `datetime.datetime`; bit 7 of the month is the fold."""
    high, low, month, day, hour, minute, second, *micro = _bytes("datetime", packed, 10)
    return datetime.datetime(
        high << 8 | low, month & 0x7F, day, hour, minute, second, int.from_bytes(micro), _zone(zone), fold=month >> 7
    )


def date(packed: Any) -> datetime.date:
    """Replace `datetime.date`."""
    high, low, month, day = _bytes("date", packed, 4)
    return datetime.date(high << 8 | low, month, day)


def time(packed: Any, *zone: Any) -> datetime.time:
    """Replace `datetime.time`; bit 7 of the hour is the fold."""
    hour, minute, second, *micro = _bytes("time", packed, 6)
    return datetime.time(hour & 0x7F, minute, second, int.from_bytes(micro), _zone(zone), fold=hour >> 7)


def timedelta(*parts: Any) -> datetime.timedelta:
    """Replace `datetime.timedelta`."""
    return datetime.timedelta(*check_ints("timedelta", parts, 3))


def timezone(offset: Any, *name: Any) -> datetime.timezone:
    """Replace `datetime.timezone`."""
    return datetime.timezone(check("timezone", offset, datetime.timedelta), *[check("timezone", n, str) for n in name])


def getattr_(owner: Any, name: Any) -> Global:
    """Replace `getattr` as it is used in pickles of time zones, and refuse any other use."""
    if owner is not zoneinfo.ZoneInfo or name != "_unpickle":
        raise FormatError("builtins.getattr: found other arguments than ZoneInfo and its _unpickle")
    return FROM_KEY


def zone_of(key: Any, from_cache: Any) -> zoneinfo.ZoneInfo:
    """Replace `zoneinfo.ZoneInfo._unpickle`."""
    if not ZONE.fullmatch(check("ZoneInfo", key, str)):
        raise FormatError("ZoneInfo: found a key that is not in the time zone database")
    try:
        return zoneinfo.ZoneInfo(key) if from_cache else zoneinfo.ZoneInfo.no_cache(key)
    except zoneinfo.ZoneInfoNotFoundError:
        raise FormatError(f'ZoneInfo: this machine has no time zone "{key}"') from None


def _pytz() -> Any:
    return library("pytz", "pytz", "a time zone of pytz")


def pytz_utc() -> datetime.tzinfo:
    """Replace `pytz._UTC`."""
    utc: datetime.tzinfo = _pytz().utc
    return utc


def pytz_zone(key: Any, *period: Any) -> datetime.tzinfo:
    """Replace `pytz._p`: a zone, or one of its periods by seconds from UTC, seconds of summer time, and name.

    The original adds periods that it does not know to the zone, for the whole process. Here they are fixed offsets. The
    first period, local mean time, stands for the whole zone, and other versions of the database have another offset.
    """
    if not ZONE.fullmatch(check("pytz", key, str)):
        raise FormatError("pytz: found a key that is not in the time zone database")
    facts: tuple[datetime.timedelta, datetime.timedelta, str] | None = None
    if period:
        offset, summer = (datetime.timedelta(seconds=n) for n in check_ints("pytz: period", period[:-1], 2))
        facts = offset, summer, check("pytz: name of a period", period[-1], str)
        fixed = datetime.timezone(offset, facts[2])
    pytz = _pytz()
    try:
        zone: datetime.tzinfo = pytz.timezone(key)
    except pytz.UnknownTimeZoneError:
        raise FormatError(f'pytz: this machine has no time zone "{key}"') from None
    if facts is None:
        return zone
    known: dict[Any, datetime.tzinfo] = getattr(zone, "_tzinfos", {})
    return known.get(facts) or (zone if facts[2] == "LMT" else fixed)


def pytz_offset(minutes: Any) -> datetime.tzinfo:
    """Replace `pytz.FixedOffset`."""
    return datetime.timezone(datetime.timedelta(minutes=check_ints("pytz: minutes", (minutes,))[0]))


def decimal_(text: Any) -> decimal.Decimal:
    """Replace `decimal.Decimal`."""
    return decimal.Decimal(check("Decimal", text, str))


def fraction(*parts: Any) -> fractions.Fraction:
    """Replace `fractions.Fraction`, of a text until Python 3.11, of two numbers since."""
    if len(parts) == 2:
        return fractions.Fraction(*check_ints("Fraction", parts, 2))
    if len(parts) != 1 or not FRACTION.fullmatch(check("Fraction", parts[0], str)):
        raise wrong("Fraction", parts, "a fraction")
    return fractions.Fraction(parts[0])


def uuid_() -> Pending:
    """Replace `uuid.UUID`."""
    return Pending(_finish_uuid)


def _finish_uuid(state: Any) -> uuid.UUID:
    state = check_state("UUID", state, ("int", "is_safe"), ("int",))
    number = check("UUID", state["int"], int)
    safe = uuid.SafeUUID(None if "is_safe" not in state else check("UUID: is_safe", state["is_safe"], int))
    return uuid.UUID(int=number, is_safe=safe)


def _path(kind: type[pathlib.PurePath], *parts: Any) -> pathlib.PurePath:
    return kind(*[check("path", part, str) for part in parts])


def _local(kind: type[pathlib.PurePath], plain: type[pathlib.PurePath]) -> AllowedName:
    """Return a row for paths of one operating system, which become pure paths on another."""
    is_ours = isinstance(pathlib.Path(), kind)
    return AllowedName(partial(_path, kind if is_ours else plain), kind)


PATHS = {
    "PurePosixPath": AllowedName(partial(_path, pathlib.PurePosixPath), pathlib.PurePosixPath),
    "PureWindowsPath": AllowedName(partial(_path, pathlib.PureWindowsPath), pathlib.PureWindowsPath),
    "PosixPath": _local(pathlib.PosixPath, pathlib.PurePosixPath),
    "WindowsPath": _local(pathlib.WindowsPath, pathlib.PureWindowsPath),
}


def complex_(real: Any, imaginary: Any) -> complex:
    """Replace `complex`."""
    return complex(check("complex", real, float), check("complex", imaginary, float))


def range_(*parts: Any) -> range:
    """Replace `range`."""
    return range(*check_ints("range", parts, 3))


def slice_(start: Any, stop: Any, step: Any) -> slice:
    """Replace `slice`."""
    return slice(start, stop, step)


def list_() -> list[Any]:
    """Replace `list` without arguments; items follow. Picklers write lists like this if items come one by one."""
    return []


TABLE: dict[str, AllowedName] = {
    **CONTAINER_TABLE,
    "builtins:complex": AllowedName(complex_, complex),
    "builtins:list": AllowedName(list_, list),
    "builtins:range": AllowedName(range_, range),
    "builtins:slice": AllowedName(slice_, slice),
    "builtins:getattr": AllowedName(getattr_),
    "builtins:Ellipsis": AllowedName(value=Ellipsis),
    "builtins:NotImplemented": AllowedName(value=NotImplemented),
    **{f"builtins:{kind.__name__}": AllowedName(value=kind) for kind in (bool, int, float, str, bytes, bytearray)},
    **{f"builtins:{kind.__name__}": AllowedName(value=kind) for kind in (tuple, dict, set, frozenset, object)},
    "datetime:datetime": AllowedName(datetime_, datetime.datetime),
    "datetime:date": AllowedName(date, datetime.date),
    "datetime:time": AllowedName(time, datetime.time),
    "datetime:timedelta": AllowedName(timedelta, datetime.timedelta),
    "datetime:timezone": AllowedName(timezone, datetime.timezone),
    "zoneinfo:ZoneInfo": AllowedName(value=zoneinfo.ZoneInfo),
    "pytz:_UTC": AllowedName(pytz_utc),
    "pytz:_p": AllowedName(pytz_zone),
    "pytz:FixedOffset": AllowedName(pytz_offset),
    "decimal:Decimal": AllowedName(decimal_, decimal.Decimal),
    "fractions:Fraction": AllowedName(fraction, fractions.Fraction),
    "uuid:UUID": AllowedName(uuid_, uuid.UUID),
    **{f"{module}:{name}": known for module in ("pathlib", "pathlib._local") for name, known in PATHS.items()},
}
"""Names in pickles of these values."""
