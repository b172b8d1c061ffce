"""How the index describes codecs, in both versions, made into one list of steps.

Version 1 has a tree: `[name, config]`, where the name `chain` holds others, and `numcodec` one of the library
numcodecs. Version 2 has a list of configurations of numcodecs. Here each becomes the ids of numcodecs and their
configurations, in the order of encoding. Nothing is looked up: which ids can be decoded, `decoders` says.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from ...errors import FormatError

FRAMES = "blosc frames"
"""The id of what version 1 calls blosc: frames of the codec blosc, in an array of msgpack."""
NAMES = {"gz": "zlib", "blosc": FRAMES}
"""Names of version 1 → ids."""
MAX_STEPS = 16
MAX_DEPTH = 8


class Step(NamedTuple):
    """One codec."""

    id: str
    """Of numcodecs, or `FRAMES`."""
    config: Mapping[str, Any]
    """All that the index says about it."""


def parse(codecs: Any, version: int) -> tuple[Step, ...]:
    """Return the steps of an entry.

    Parameters
    ----------
    codecs : list
        Version 1: the descriptions of a chain; version 2: configurations.
    version : int

    Raises
    ------
    FormatError
        If it is no description of codecs, or one of too many.

    Examples
    --------
    >>> from ds_format.binpickle.codecs.steps import parse
    >>> parse([["chain", {"codecs": [["null", {}], ["gz", {"level": 9}]]}]], 1)
    (Step(id='zlib', config={'level': 9}),)
    >>> parse([{"id": "zstd", "level": 3}], 2)
    (Step(id='zstd', config={'id': 'zstd', 'level': 3}),)
    """
    if type(codecs) is not list:
        raise FormatError(f"found {shown(codecs)}, expected an array")
    steps = []
    for step in _chain(codecs, 0) if version == 1 else map(_configured, codecs):
        steps.append(step)
        if len(steps) > MAX_STEPS:
            raise FormatError(f"found more than {MAX_STEPS} codecs, one after another")
    return tuple(steps)


def _chain(codecs: Any, depth: int) -> Iterator[Step]:
    if depth > MAX_DEPTH:
        raise FormatError(f"found more than {MAX_DEPTH} chains inside of one another")
    if type(codecs) is not list:
        raise FormatError(f"found {shown(codecs)}, expected an array of codecs")
    for codec in codecs:
        name, config = (codec, {}) if type(codec) is str and depth else _pair(codec)
        if name == "chain":
            yield from _chain(config.get("codecs", []), depth + 1)
        elif name == "numcodec":
            yield _configured(config)
        elif name is not None and name != "null":
            yield Step(NAMES.get(name, name), config)


def _pair(codec: Any) -> tuple[str | None, Mapping[str, Any]]:
    if type(codec) is not list or len(codec) != 2:
        raise FormatError(f"found {shown(codec)}, expected an array of name and configuration")
    name, config = codec
    if name is not None and type(name) is not str:
        raise FormatError(f"found {shown(name)}, expected the name of a codec")
    if type(config) is not dict:
        raise FormatError(f"found {shown(config)}, expected a map, the configuration of {name}")
    return name, config


def _configured(config: Any) -> Step:
    if type(config) is not dict:
        raise FormatError(f"found {shown(config)}, expected a map, the configuration of a codec")
    id_ = config.get("id")
    if type(id_) is not str:
        raise FormatError(f"id: found {shown(id_)}, expected the name of a codec")
    return Step(id_, config)


def shown(value: Any) -> str:
    """Return a value of msgpack as messages show it: a short one itself, else what it is."""
    if isinstance(value, dict | list):
        return "a map" if isinstance(value, dict) else f"an array of {len(value)}"
    if isinstance(value, bytes):
        return f"{len(value)} bytes"
    return "nil" if value is None else f"{value!r:.60}"
