"""Classic files, byte by byte, as they may be and as they may not."""

import math
import struct
from collections.abc import Sequence
from random import Random
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

CODES = {1: "i1", 2: "S1", 3: "i2", 4: "i4", 5: "f4", 6: "f8", 7: "u1", 8: "u2", 9: "u4", 10: "i8", 11: "u8"}
NUMBERS = {code: number for number, code in CODES.items()}


class Attribute(NamedTuple):
    """Name, type number and values as they are in a file, without padding; `n` if it shall count others."""

    name: bytes
    type: int
    raw: bytes
    n: int | None = None


class Variable(NamedTuple):
    """A variable, and its data: of a record variable one item per record, of another one item."""

    name: bytes
    dims: Sequence[int]
    type: int
    data: Sequence[bytes] = ()
    attributes: Sequence[Attribute] = ()
    vsize: int | None = None
    begin: int | None = None
    rank: int | None = None


class File(NamedTuple):
    """All of a file. `dimensions` are pairs of name and size."""

    version: int = 1
    dimensions: Sequence[tuple[bytes, int]] = ()
    attributes: Sequence[Attribute] = ()
    variables: Sequence[Variable] = ()
    n_records: int | None = None
    tags: tuple[int, int, int] = (10, 12, 11)


def padded(raw: bytes) -> bytes:
    return raw + b"\0" * (-len(raw) % 4)


def encode(file: File) -> bytes:
    """Return a file. Offsets follow one another, those of records last."""
    header = _header(file, [0] * len(file.variables))
    records = [v for v in file.variables if _is_record(file, v)]
    end, begins, body = len(header), {}, b""
    for i, variable in enumerate(file.variables):
        if not _is_record(file, variable):
            begins[i] = end + len(body)
            body += b"".join(map(padded, variable.data))
    place = end + len(body)
    for i, variable in enumerate(file.variables):
        if _is_record(file, variable):
            begins[i] = place
            size = math.prod(file.dimensions[d][1] for d in variable.dims[1:]) * _size(variable.type)
            place += size if len(records) == 1 else size + -size % 4
    for record in range(max((len(v.data) for v in records), default=0)):
        body += b"".join(_slab(v, record, len(records)) for v in records)
    told = [v.begin if v.begin is not None else begins[i] for i, v in enumerate(file.variables)]
    return _header(file, told) + body


def _slab(variable: Variable, record: int, n: int) -> bytes:
    raw = variable.data[record] if record < len(variable.data) else b""
    return raw if n == 1 else padded(raw)


def _is_record(file: File, variable: Variable) -> bool:
    dims = [d for d in variable.dims if d < len(file.dimensions)]
    return bool(dims) and file.dimensions[dims[0]][1] == 0


def _header(file: File, begins: Sequence[int]) -> bytes:
    count = ">Q" if file.version == 5 else ">I"
    offset = ">I" if file.version == 1 else ">Q"

    def n(value: int) -> bytes:
        return struct.pack(count, value % (1 << (64 if file.version == 5 else 32)))

    def name(raw: bytes) -> bytes:
        return n(len(raw)) + padded(raw)

    def listed(tag: int, items: list[bytes]) -> bytes:
        return (struct.pack(">I", tag) + n(len(items)) + b"".join(items)) if items else struct.pack(">I", 0) + n(0)

    def attributes(found: Sequence[Attribute]) -> bytes:
        return listed(file.tags[1], [attribute(a) for a in found])

    def attribute(a: Attribute) -> bytes:
        size = _size(a.type)
        told = len(a.raw) // size if a.n is None else a.n
        return name(a.name) + struct.pack(">I", a.type) + n(told) + padded(a.raw)

    def variable(v: Variable, begin: int) -> bytes:
        vsize = v.vsize
        if vsize is None:
            shape = [file.dimensions[d][1] for d in v.dims if d < len(file.dimensions)]
            size = math.prod(m for m in shape if m) * _size(v.type)
            vsize = min(size + -size % 4, (1 << (64 if file.version == 5 else 32)) - 1)
        rank = len(v.dims) if v.rank is None else v.rank
        head = name(v.name) + n(rank) + b"".join(map(n, v.dims)) + attributes(v.attributes)
        return head + struct.pack(">I", v.type) + n(vsize) + struct.pack(offset, begin)

    records = [v for v in file.variables if _is_record(file, v)]
    n_records = file.n_records
    if n_records is None:
        n_records = max((len(v.data) for v in records), default=0)
    return (
        b"CDF" + bytes([file.version]) + n(n_records)
        + listed(file.tags[0], [name(d) + n(size) for d, size in file.dimensions])
        + attributes(file.attributes)
        + listed(file.tags[2], [variable(v, b) for v, b in zip(file.variables, begins, strict=True)])
    )  # fmt: skip


def _size(type_: int) -> int:
    code = CODES.get(type_)
    return int(code[1:]) if code else 1


def drawn(random: Random) -> File:
    """Return a file of any kind that is possible."""
    version = random.choice([1, 2, 5])
    n_types = 11 if version == 5 else 6
    sizes = [random.randint(1, 5) for _ in range(random.randint(0, 4))]
    has_records = random.random() < 0.7
    if has_records:
        sizes.insert(random.randint(0, len(sizes)), 0)
    dimensions = [(f"d{i}".encode(), size) for i, size in enumerate(sizes)]
    n_records = random.choice([0, 1, 2, 7])

    def raw(type_: int, n: int) -> bytes:
        return random.randbytes(n * _size(type_))

    def attributes(most: int) -> list[Attribute]:
        types = [random.randint(1, n_types) for _ in range(random.randint(0, most))]
        return [
            Attribute(f"name{i}"[: 2 + i].encode(), t, raw(t, random.choice([0, 1, 3]))) for i, t in enumerate(types)
        ]

    variables = []
    for i in range(random.randint(0, 5)):
        type_ = random.randint(1, n_types)
        fixed = [k for k, size in enumerate(sizes) if size]
        dims = random.choices(fixed, k=random.randint(0, 3)) if fixed else []
        n = math.prod(sizes[k] for k in dims)
        is_record = has_records and random.random() < 0.6
        data = [raw(type_, n) for _ in range(n_records if is_record else 1)]
        dims = [sizes.index(0), *dims] if is_record else dims
        variables.append(Variable(f"v{i}".encode(), dims, type_, data, attributes(3)))
    if not any(_is_record(File(1, dimensions), v) for v in variables):
        n_records = 0
    return File(version, dimensions, attributes(4), variables, n_records)


def values(file: File, variable: Variable) -> NDArray[Any]:
    """Return what a variable of a file is made of."""
    dtype = np.dtype(CODES[variable.type])
    n = len(variable.data) if _is_record(file, variable) else None
    shape = [file.dimensions[d][1] or n for d in variable.dims]
    raw = np.frombuffer(b"".join(variable.data), dtype.newbyteorder(">"))
    return raw.reshape(shape).astype(dtype)  # type: ignore[arg-type]
