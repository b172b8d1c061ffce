r"""The notation of arguments and output: PST (plain structured text) and JSON; printing to stdout.

PST::

    text     quotes and backslashes resolved                 a"b c"\t      →  "ab c<tab>"
    number   a word without either that Python reads         5  1.5  1e5  nan
    literal  likewise                                        true  false  none
    array    { a b { c } }
    object   key: value pairs and flags beside each other    a: 1 -xy      →  {"a": 1, "x": True, "y": True}
             or in explicit brackets                         {{ a: 1 }}

Reading has two steps, because what a bare word means depends on its place: as an index `2020` is a number, as a file it
is a name. `parse` keeps such words as `Bare`; `value` turns them into what they mean as values; `decode` does both.
`write` prints data as PST or JSON, and `put` text.
"""

import contextlib
import json
import math
import re
import struct
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from ..base.text import visible

_BLANKS = " \t\n\r\f\v"
_CONTROLS = {"a": "\a", "b": "\b", "e": "\x1b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_OCTAL = "01234567"
_LITERALS = {"true": True, "false": False, "none": None}
_RESERVED = ("", "{", "}", "{{", "}}", *_LITERALS)


class Bare(str):
    """A word without quotes and backslashes, as typed. `value` converts it to a value."""

    __slots__ = ()


class _Word(NamedTuple):
    """One word, and the meaning of its unquoted characters."""

    text: str
    bare: bool
    """Nothing in it was quoted or escaped."""
    key: bool
    """It ends in an unquoted colon."""
    dashes: int
    """Number of unquoted minus signs at its start: 0, 1, or 2 for two and more."""

    def is_bracket(self, *brackets: str) -> bool:
        return self.bare and self.text in brackets

    def is_pair(self) -> bool:
        """Whether it is a key, or one or several flags. A negative number is neither."""
        return self.key or (self.dashes > 0 and not (self.bare and isinstance(_literal(self.text), (int, float))))


def decode(words: Sequence[str]) -> Any:
    """Return the value of separate words, as the arguments of a program.

    Parameters
    ----------
    words : sequence of str
        White space inside of a word belongs to it. Bytes that are not UTF-8 travel as surrogate escapes.

    Returns
    -------
    None, bool, int, float, str, list or dict
        None if there is no value; the value if there is one; otherwise the list of the values.
    """
    items = value(parse(words))
    return items if len(items) > 1 else items[0] if items else None


def decode_text(text: str) -> Any:
    """Return the value of a text, whose words are separated by blanks outside of quotes. See `decode`."""
    return decode(list(_split(text)))


def parse(words: Sequence[str]) -> list[Any]:
    """Return the items of `words`: `Bare`, str, list or dict.

    A flag gives the value True. No other word does, since the bare word `true` stays `Bare`.
    """
    return _items([_scan(word) for word in reversed(words)], nested=False)


def value(item: Any) -> Any:
    """Return an item of `parse` with its bare words converted to numbers, literals or text."""
    if isinstance(item, Bare):
        return _literal(item)
    if isinstance(item, list):
        return [value(part) for part in item]
    if isinstance(item, dict):
        return {key: value(part) for key, part in item.items()}
    return item


def _literal(text: str) -> Any:
    if text in _LITERALS:
        return _LITERALS[text]
    if text.isascii():
        for read in (int, float):
            try:
                return read(text)
            except ValueError:
                pass
    return str(text)


def _split(text: str) -> Iterator[str]:
    """Split a text into words. Quotes and backslashes are kept."""
    start, quoted, escaped = -1, False, False
    for i, char in enumerate(text):
        if char in _BLANKS and not quoted and not escaped:
            if start >= 0:
                yield text[start:i]
            start = -1
            continue
        start = i if start < 0 else start
        quoted ^= char == '"' and not escaped
        escaped = char == "\\" and not escaped
    if start >= 0:
        yield text[start:]


def _scan(word: str) -> _Word:
    if '"' not in word and "\\" not in word:
        return _Word(word, True, word.endswith(":"), word.startswith("-") + word.startswith("--"))
    text: list[str] = []
    bare, key, quoted = True, False, False
    dashes = i = 0
    while i < len(word):
        char = word[i]
        i += 1
        if char == '"':
            quoted = not quoted
            continue
        if char == "\\" and i == len(word):
            break
        plain = not quoted and char != "\\"
        if char == "\\":
            char, i = _escape(word, i)
        bare = bare and plain
        if char:
            dashes += plain and char == "-" and len(text) == dashes < 2
            key = plain and char == ":"
            text.append(char)
    return _Word(_utf8("".join(text)), bare, key, dashes)


def _escape(word: str, i: int) -> tuple[str, int]:
    """Return the character of the escape sequence after a backslash, and the end of the sequence."""
    end = i
    while end < min(i + 3, len(word)) and word[end] in _OCTAL:
        end += 1
    if end > i:
        code = int(word[i:end], 8)
        return "" if code > 255 else chr(code) if code < 128 else chr(0xDC00 + code), end
    return _CONTROLS.get(word[i], word[i]), i + 1


def _utf8(text: str) -> str:
    """Decode surrogate escapes that form UTF-8 sequences."""
    try:
        return text.encode("utf-8", "surrogateescape").decode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text


def _items(todo: list[_Word], nested: bool) -> list[Any]:
    """Take words from the end of `todo`, if `nested` up to the bracket `}`. Adjacent pairs become one object."""
    items: list[Any] = []
    pairs: dict[str, Any] | None = None
    while todo:
        word = todo.pop()
        if word.is_pair():
            found = _pairs(word, todo)
            if found and pairs is None:
                pairs = {}
                items.append(pairs)
            if pairs is not None:
                pairs.update(found)
            continue
        if word.is_bracket("}}"):
            continue
        pairs = None
        if not word.is_bracket("}"):
            items.append(_value(word, todo))
        elif nested:
            break
    return items


def _object(todo: list[_Word]) -> dict[str, Any]:
    """Take words up to the bracket `}}`. Words that are not pairs are dropped."""
    pairs: dict[str, Any] = {}
    while todo:
        word = todo.pop()
        if word.is_pair():
            pairs.update(_pairs(word, todo))
        elif word.is_bracket("}}"):
            break
        elif not word.is_bracket("}"):
            _value(word, todo)
    return pairs


def _pairs(word: _Word, todo: list[_Word]) -> dict[str, Any]:
    """Return the flags of a word, or a key with the value that follows it."""
    if not word.key:
        return {word.text[2:]: True} if word.dashes == 2 else dict.fromkeys(word.text[1:], True)
    if not todo or todo[-1].is_pair() or todo[-1].is_bracket("}", "}}"):
        return {word.text[:-1]: Bare("none")}
    return {word.text[:-1]: _value(todo.pop(), todo)}


def _value(word: _Word, todo: list[_Word]) -> Any:
    if word.is_bracket("{"):
        return _items(todo, nested=True)
    if word.is_bracket("{{"):
        return _object(todo)
    return Bare(word.text) if word.bare else word.text


def fixed(number: float) -> str:
    """Return the text of a float with six decimals, as ds-format 5.0.2 prints all floats."""
    return f"{number:f}"


def encode(data: Any, indent: bool = True, number: Callable[[float], str] = fixed) -> str:
    """Return the text of a value.

    Parameters
    ----------
    data : None, bool, int, float, str, bytes, list, tuple or dict
        At the top a list has no brackets, and None is empty text.
    indent : bool
        Whether nested objects spread over lines. Otherwise everything is on one line.
    number : callable
        Returns the text of a float.
    """
    items = data if isinstance(data, (list, tuple)) and data else [data]
    if len(items) == 1 and items[0] is None:
        return ""
    return _join(_parts(items, 0, indent, number)).removesuffix("\n")


def _parts(items: Sequence[Any], level: int, indent: bool, number: Callable[[float], str]) -> Iterator[str]:
    """Yield the texts of an array. An object that is not next to another one needs no brackets.

    Its pairs then follow the tabs that they would have on separate lines, as in ds-format 5.0.2.
    """
    objects = [False, *(isinstance(item, dict) for item in items), False]
    tabs = "\t" * level if indent else ""
    for i, item in enumerate(items):
        if isinstance(item, dict) and item and not objects[i] and not objects[i + 2]:
            yield from (f"{tabs}{_text(str(key))}: {_part(part, level, indent, number)}" for key, part in item.items())
        else:
            yield _part(item, level, indent, number)


def _part(item: Any, level: int, indent: bool, number: Callable[[float], str]) -> str:
    if item is None or isinstance(item, bool):
        return "none" if item is None else str(item).lower()
    if isinstance(item, float):
        return number(item)
    if isinstance(item, bytes):
        return _text(item.decode("utf-8", "surrogateescape"))
    if isinstance(item, (list, tuple)):
        return _join(("{", *_parts(item, level, indent, number), "}"))
    if isinstance(item, dict):
        return _braces(item, level, indent, number)
    return _text(item) if isinstance(item, str) else str(item)


def _braces(item: dict[str, Any], level: int, indent: bool, number: Callable[[float], str]) -> str:
    end = "\n" if indent else ""
    pairs = [f"{_text(str(key))}: {_part(part, level + 1, indent, number)}{end}" for key, part in item.items()]
    if not pairs or not indent:
        return _join(("{{", *pairs, "}}" + end))
    tabs = "\t" * level
    return "".join(("{{\n", *(f"{tabs}\t{pair}" for pair in pairs), f"{tabs}}}}}\n"))


def _join(parts: Iterable[str]) -> str:
    """Join texts with a blank, except at line ends and tabs."""
    text = ""
    for part in parts:
        text += part if not text or text.endswith("\n") or part.startswith("\t") else " " + part
    return text


def _text(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    quoted = (
        text in _RESERVED
        or text.endswith(":")
        or text.startswith("-")
        or any(char in text for char in _BLANKS + '"')
        or (text.isascii() and text[0] != "." and text.replace(".", "", 1).isdigit())
    )
    return f'"{escaped}"' if quoted else escaped


class Float32(float):
    """A number of float32 as a float. Its text has the fewest digits that identify it in its own precision.

    Examples
    --------
    >>> print(Float32(0.10000000149011612))
    0.1
    """

    __slots__ = ()
    code = "f"
    """Code of the type in the module `struct`."""

    def __str__(self) -> str:
        packed = self._packed(self)
        shorter = (float(f"{self:.{n}g}") for n in range(1, 10))
        return repr(next((number for number in shorter if self._packed(number) == packed), float(self)))

    def _packed(self, number: float) -> bytes:
        try:
            return struct.pack(self.code, number)
        except OverflowError:
            return b""


class Float16(Float32):
    """A number of float16 as a float; see `Float32`."""

    __slots__ = ()
    code = "e"


_NARROW = {"float16": Float16, "float32": Float32}


def in_type(value: Any, name: object) -> Any:
    """Return a float, or the floats in a list, as numbers of a type that print with the digits of that type.

    Parameters
    ----------
    value : object
    name : object
        Name of the type in the ds format. Anything but float16 and float32 changes nothing.
    """
    narrow = _NARROW.get(name) if isinstance(name, str) else None
    if narrow is None:
        return value
    if isinstance(value, list):
        return [in_type(part, name) for part in value]
    return narrow(value) if isinstance(value, float) else value


def as_lists(data: Any) -> Any:
    """Return an array as lists and a NumPy scalar as a number. Floats print with the digits of their type."""
    return in_type(data.tolist(), data.dtype.name) if hasattr(data, "tolist") else data


def number(value: float) -> str:
    """Return a readable text of a float: six decimals, or its shortest form if six decimals hide its value.

    Examples
    --------
    >>> number(1.5), number(0.0), number(3.4e-7), number(9.96921e36)
    ('1.500000', '0.000000', '3.4e-07', '9.96921e+36')
    """
    text = fixed(value)
    hidden = not text.strip("-0.") or len(text.lstrip("-")) > _MOST_DIGITS + 1
    return str(value) if hidden and value and math.isfinite(value) else text


_MOST_DIGITS = 17
"""Digits that identify any float64."""


class Text(str):
    """Text to print unchanged on a separate line. With `-j` it is JSON, which is printed in ASCII on a terminal."""

    __slots__ = ()


def write(items: Iterable[Any], *, as_json: bool = False, indent: bool = True) -> None:
    """Print the items that a command returns.

    Parameters
    ----------
    items : iterable
        None, bool, int, float, str, bytes, list, tuple, dict, NumPy scalars and arrays; `Text`.
    as_json : bool
        Whether to print JSON instead of PST.
    indent : bool
        Whether an item may spread over lines.

    Raises
    ------
    OSError
        If stdout takes no more.
    """
    spaces = 4 if indent else None
    is_seen = sys.stdout.isatty()

    def line(item: Any) -> str:
        if isinstance(item, Text):
            return _ascii(item) if as_json and is_seen else item
        return json.dumps(plain(item), indent=spaces) if as_json else encode(plain(item), indent, number)

    put((line(item) + "\n" for item in items), as_is=as_json)


def put(texts: Iterable[str], *, as_is: bool = False) -> None:
    """Print texts as UTF-8 in every locale. Surrogate escapes become their bytes.

    Control characters are escaped on a terminal, see `visible`, unless `as_is`.

    Raises
    ------
    OSError
        If stdout takes no more.
    """
    stream = sys.stdout
    raw = getattr(stream, "buffer", None)
    is_seen = not as_is and stream.isatty()
    with _closed_if_full():
        stream.flush()
    for text in texts:
        text = visible(text) if is_seen else text
        with _closed_if_full():
            if raw is None:
                stream.write(text)
            else:
                raw.write(_as_bytes(text))
    with _closed_if_full():
        stream.flush()


def plain(data: Any) -> Any:
    """Return data as types that JSON supports: arrays as lists, bytes as text."""
    data = as_lists(data)
    if isinstance(data, bytes):
        return data.decode("utf-8", "surrogateescape")
    if isinstance(data, (list, tuple)):
        return [plain(part) for part in data]
    if isinstance(data, dict):
        return {str(key): plain(part) for key, part in data.items()}
    return data


def _ascii(text: str) -> str:
    r"""Return JSON text with `\u` escapes for non-ASCII characters, some of which control a terminal."""
    return re.sub("[^\\x00-\\x7e]", lambda match: json.dumps(match[0])[1:-1], text)


def _as_bytes(text: str) -> bytes:
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")


@contextlib.contextmanager
def _closed_if_full() -> Iterator[None]:
    """Close stdout when it fails. Otherwise the interpreter would fail again when it flushes stdout at exit."""
    try:
        yield
    except OSError:
        with contextlib.suppress(OSError):
            sys.stdout.close()
        raise
