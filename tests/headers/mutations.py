"""Ways to damage a header line, or to make another one of it that is as good."""

from __future__ import annotations

import random
import re
from collections.abc import Callable

TYPES = ("float32", "float64", "int8", "int64", "bool", "str", "unicode", "float16", None, 1)
PROPERTIES = (
    ".netcdf",
    ".size",
    ".offset",
    ".len",
    ".type",
    ".missing",
    ".endian",
    ".dims",
    ".dsize",
    ".dtypes",
    ".writer",
    ".x",
)
PIECES = (
    *(
        b'"',
        b"\\",
        b"\\u0041",
        b"\\ud83d",
        b"\\ude00",
        b"\\ud83d\\ude00",
        b"\xc3\xa9",
        b"\xed\xa0\x80",
        b"\xff",
        b"\x00",
    ),
    *(b"{", b"}", b"[", b"]", b",", b":", b" ", b"\t", b"\r", b"\n", b"\x1f", b"null", b"NaN", b"-Infinity", b"1e400"),
    *(b"-0", b"01", b"1.", b"1.5e3", b"999999999999999999", b"9999999999999999999", b'"\\u002esize":1,', b"[[" * 60),
    *(f'"{name}":1,'.encode() for name in PROPERTIES),
)
STRING = rb'"(?:[^"\\]|\\.)*"'
NUMBER = re.compile(rb"-?[0-9][0-9.eE+-]*")
FLAT = STRING + rb"|[-0-9a-zA-Z.+]+|\[[^\[\]{}]*\]"
MEMBER = re.compile(b"(" + STRING + rb")\s*:\s*(" + FLAT + b")")
KEY, VALUE = 1, 2
WORDS = tuple(b'"%s"' % word.encode() for word in (*PROPERTIES, *filter(None, map(str, TYPES)), ".", "units", ""))
NUMBERS = b"0 -0 -1 01 1.0 1. .5 1e 1e5 1E+400 -1e-400 0x1 1.7976931348623157e308 2.5e-324 9223372036854775807"
VALUES = (
    *b"null true false NaN Infinity -Infinity nul True [] {} [2] [null] [[1],[2]] -9223372036854775808".split(),
    *(*NUMBERS.split(), b"9223372036854775808", b"18446744073709551616", b"1" * 30, b"4" * 5000),
    *(
        b'[""]',
        b'["t"]',
        b'{"": 0}',
        b'{".x": [1]}',
        b'{"a": 1, "a": 2}',
        b'{"packed": true}',
        b'{"\\u0070acked":true}',
    ),
)
BYTES = (b"\x00", b"\x1f", b"\x7f", b"\x80", b"\xc0\x80", b"\xc3", b"\xe2\x82", b"\xed\xa0\x80", b"\xf4\x90\x80\x80")
LETTERS = "é € \U0001f600 / ' \ufeff \x85 \u2028".encode().split(b" ")
ESCAPES = rb"\n \/ \u00e9 \u00E9 \u0000 \ud83d \ude00 \ud83d\ude00 \u \x".split()
DIGITS = b"- 0 9 . .5 e2 E + 00".split()
SPACES = (b" ", b"\t", b"\r", b"\n", b"\x0b", b"   ")
Span = tuple[int, int]


def _member(dice: random.Random, data: bytes) -> re.Match[bytes] | None:
    """Return one of the members that are no objects, where there is one."""
    at = dice.randrange(len(data))
    return MEMBER.match(data, max(data.rfind(b', "', 0, at) + 2, data.rfind(b'{"', 0, at) + 1))


def _span(dice: random.Random, data: bytes, part: int = 0) -> Span:
    """Return where a member is, or its key or value, or a byte."""
    found = _member(dice, data)
    if found is None:
        at = dice.randrange(len(data))
        return at, at + 1
    return found.span(part)


def _part(dice: random.Random, data: bytes) -> Span:
    return _span(dice, data, dice.choice((KEY, VALUE)))


def _put(data: bytes, start: int, end: int, piece: bytes) -> bytes:
    return data[:start] + piece + data[end:]


def _exchange(data: bytes, one: Span, other: Span) -> bytes:
    (a, b), (c, d) = sorted((one, other))
    return data if b > c else data[:a] + data[c:d] + data[b:c] + data[a:b] + data[d:]


def flip_a_bit(dice: random.Random, data: bytes) -> bytes:
    at = dice.randrange(len(data))
    return _put(data, at, at + 1, bytes([data[at] ^ 1 << dice.randrange(8)]))


def put_a_byte(dice: random.Random, data: bytes) -> bytes:
    at = dice.randrange(len(data))
    return _put(data, at, at + dice.randrange(2), bytes([dice.randrange(256)]))


def put_a_piece(dice: random.Random, data: bytes) -> bytes:
    at = dice.randrange(len(data))
    return _put(data, at, at + dice.choice((0, 0, 1, 6)), dice.choice(PIECES))


def leave_out(dice: random.Random, data: bytes) -> bytes:
    at = dice.randrange(len(data))
    return _put(data, at, at + 1 + dice.randrange(8), b"")


def repeat(dice: random.Random, data: bytes) -> bytes:
    at = dice.randrange(len(data))
    return _put(data, at, at, data[at : at + 1 + dice.randrange(40)])


def cut(dice: random.Random, data: bytes) -> bytes:
    return data[: dice.randrange(len(data))] + dice.choice((b"", b"\n", b"}\n", b"}}\n"))


def put_space(dice: random.Random, data: bytes) -> bytes:
    at = dice.choice(_part(dice, data))
    return _put(data, at, at, dice.choice(SPACES))


def put_a_value(dice: random.Random, data: bytes) -> bytes:
    return _put(data, *_span(dice, data, VALUE), dice.choice(VALUES))


def put_a_word(dice: random.Random, data: bytes) -> bytes:
    return _put(data, *_part(dice, data), dice.choice(WORDS))


def exchange_parts(dice: random.Random, data: bytes) -> bytes:
    return _exchange(data, _part(dice, data), _part(dice, data))


def copy_a_part(dice: random.Random, data: bytes) -> bytes:
    start, end = _part(dice, data)
    return _put(data, *_part(dice, data), data[start:end])


def exchange_members(dice: random.Random, data: bytes) -> bytes:
    return _exchange(data, _span(dice, data), _span(dice, data))


def copy_a_member(dice: random.Random, data: bytes) -> bytes:
    start, end = _span(dice, data)
    at = dice.choice((start, _span(dice, data)[0]))
    return _put(data, at, at, data[start:end] + dice.choice((b", ", b",")))


def leave_out_a_member(dice: random.Random, data: bytes) -> bytes:
    start, end = _span(dice, data)
    return _put(data, start, end + 2 * (data[end : end + 2] == b", "), b"")


def write_a_letter(dice: random.Random, data: bytes) -> bytes:
    start, end = _part(dice, data)
    at = dice.randrange(start, end) + 1
    return _put(data, at, at + dice.randrange(2), dice.choice(dice.choice((BYTES, LETTERS, LETTERS, ESCAPES, ESCAPES))))


def change_a_letter(dice: random.Random, data: bytes) -> bytes:
    start, end = _span(dice, data, VALUE)
    at = dice.randrange(start, end)
    return _put(data, at, at + 1, b"%c" % dice.choice(b"abcXYZ019 .-_"))


def exchange_values(dice: random.Random, data: bytes) -> bytes:
    return _exchange(data, _span(dice, data, VALUE), _span(dice, data, VALUE))


def escape_a_letter(dice: random.Random, data: bytes) -> bytes:
    start, end = _part(dice, data)
    at = dice.randrange(start, end)
    return _put(data, at, at + 1, b"\\u%04x" % data[at])


def nest(dice: random.Random, data: bytes) -> bytes:
    start, end = _part(dice, data)
    opening, closing = dice.choice(((b"[", b"]"), (b'{"a": ', b"}"), (b'[1, {"b": ', b"}]")))
    n = dice.choice((1, 2, 3, 49, 50, 51, 97, 98, 99, 100, 101, 102, 130))
    return _put(data, start, end, opening * n + data[start:end] + closing * n)


def change_a_number(dice: random.Random, data: bytes) -> bytes:
    found = NUMBER.search(data, dice.randrange(len(data)))
    start, end = found.span() if found else (0, len(data))
    at = dice.choice((start, end, dice.randrange(start, end)))
    return _put(data, at, at + dice.randrange(2), dice.choice(DIGITS))


MUTATIONS: tuple[Callable[[random.Random, bytes], bytes], ...] = (
    flip_a_bit,
    put_a_byte,
    put_a_piece,
    leave_out,
    repeat,
    cut,
    put_space,
    put_a_value,
    put_a_word,
    exchange_parts,
    copy_a_part,
    exchange_members,
    copy_a_member,
    leave_out_a_member,
    write_a_letter,
    escape_a_letter,
    nest,
    change_a_number,
    *(2 * (put_a_value, exchange_values, exchange_members, change_a_letter, write_a_letter, change_a_number)),
)


def mutated(dice: random.Random, data: bytes) -> bytes:
    """Return a header that is another one, by one change or a few."""
    for _ in range(dice.choice((1, 1, 1, 1, 2, 3))):
        data = dice.choice(MUTATIONS)(dice, data) or b"\n"
    return data
