"""Ways to damage a header line, or to make another one of it that is as good."""

from __future__ import annotations

import functools
import random
import re
from collections.abc import Callable
from typing import NamedTuple

from tests.codec.test_header_kernel import PIECES, PROPERTIES, TYPES

STRING = rb'"(?:[^"\\]|\\.)*"'
NUMBER = rb"-?[0-9][0-9.eE+-]*"
TOKEN = re.compile(STRING + b"|" + NUMBER + rb"|[a-zA-Z]+|[\[\]{},:]")
FLAT = STRING + b"|" + NUMBER + rb"|[a-zA-Z]+|\[[^\[\]{}]*\]"
MEMBER = re.compile(STRING + rb"\s*:\s*(?:" + FLAT + b")")
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


class Spots(NamedTuple):
    """Where the parts of a header are."""

    tokens: list[Span]
    strings: list[Span]
    numbers: list[Span]
    members: list[Span]


@functools.lru_cache(maxsize=1000)
def spots(data: bytes) -> Spots:
    """Return where something is that can be changed for another of its kind."""
    tokens = [match.span() for match in TOKEN.finditer(data, 7)] or [(0, len(data))]
    strings = [span for span in tokens if data[span[0]] in b'"'] or tokens
    numbers = [span for span in tokens if data[span[0]] in b"-0123456789"] or tokens
    members = [match.span() for match in MEMBER.finditer(data, 7)] or tokens
    return Spots(tokens, strings, numbers, members)


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
    at = dice.choice(spots(data).tokens)[dice.randrange(2)]
    return _put(data, at, at, dice.choice(SPACES))


def put_a_value(dice: random.Random, data: bytes) -> bytes:
    return _put(data, *dice.choice(spots(data).tokens), dice.choice(VALUES))


def put_a_word(dice: random.Random, data: bytes) -> bytes:
    return _put(data, *dice.choice(spots(data).strings), dice.choice(WORDS))


def exchange_tokens(dice: random.Random, data: bytes) -> bytes:
    tokens = spots(data).tokens
    return _exchange(data, dice.choice(tokens), dice.choice(tokens))


def copy_a_token(dice: random.Random, data: bytes) -> bytes:
    tokens = spots(data).tokens
    start, end = dice.choice(tokens)
    return _put(data, *dice.choice(tokens), data[start:end])


def exchange_members(dice: random.Random, data: bytes) -> bytes:
    members = spots(data).members
    return _exchange(data, dice.choice(members), dice.choice(members))


def copy_a_member(dice: random.Random, data: bytes) -> bytes:
    members = spots(data).members
    start, end = dice.choice(members)
    at = dice.choice((start, dice.choice(members)[0]))
    return _put(data, at, at, data[start:end] + dice.choice((b", ", b",")))


def leave_out_a_member(dice: random.Random, data: bytes) -> bytes:
    start, end = dice.choice(spots(data).members)
    return _put(data, start, end + 2 * (data[end : end + 2] == b", "), b"")


def write_a_letter(dice: random.Random, data: bytes) -> bytes:
    start, end = dice.choice(spots(data).strings)
    at = dice.randrange(start, end) + 1
    return _put(data, at, at + dice.randrange(2), dice.choice(dice.choice((BYTES, LETTERS, ESCAPES))))


def escape_a_letter(dice: random.Random, data: bytes) -> bytes:
    start, end = dice.choice(spots(data).strings)
    at = dice.randrange(start, end)
    return _put(data, at, at + 1, b"\\u%04x" % data[at])


def nest(dice: random.Random, data: bytes) -> bytes:
    start, end = dice.choice(spots(data).tokens)
    opening, closing = dice.choice(((b"[", b"]"), (b'{"a": ', b"}"), (b'[1, {"b": ', b"}]")))
    n = dice.choice((1, 2, 3, 49, 50, 51, 97, 98, 99, 100, 101, 102, 130))
    return _put(data, start, end, opening * n + data[start:end] + closing * n)


def change_a_number(dice: random.Random, data: bytes) -> bytes:
    start, end = dice.choice(spots(data).numbers)
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
    put_a_value,
    put_a_word,
    exchange_tokens,
    copy_a_token,
    exchange_members,
    copy_a_member,
    leave_out_a_member,
    write_a_letter,
    escape_a_letter,
    nest,
    change_a_number,
)


def mutated(dice: random.Random, data: bytes) -> bytes:
    """Return a header that is another one, by one change or a few."""
    for _ in range(dice.choice((1, 1, 1, 1, 2, 3))):
        data = dice.choice(MUTATIONS)(dice, data) or b"\n"
    return data
