"""Kernels touch no byte beside their buffers: these lie between pages without access."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import itertools
import mmap
import os
import sys
import traceback
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from ds_format.hdf5.records import (
    HDF5Attribute,
    HDF5Dataset,
    HDF5File,
    HDF5Filter,
    HDF5Group,
    HDF5Layout,
    HDF5Type,
)
from ds_format.kernels.common.checksums import fletcher32
from ds_format.kernels.ds.values import count_bits, gather, pack_bits, scatter, unpack_bits
from ds_format.kernels.hdf5.chunks import put_chunks, unshuffle
from ds_format.kernels.hdf5.objects import Parser
from ds_format.kernels.hdf5.small import SmallArray
from ds_format.kernels.json.arrays import decode_variables
from ds_format.kernels.json.decode import Unusual

from .. import oracles
from ..hdf5.damage import Anatomy
from .chunks import LEAF, node, repeated, skewed

Place = Callable[[Any], NDArray[np.uint8]]
"""Puts an array between two such pages, and returns its bytes there."""
NO_ACCESS = 0
GOLDEN = Path(__file__).parents[1] / "golden"


def guarded(n: int) -> NDArray[np.uint8]:
    """Return the bytes of `n` pages, which lie between two without access."""
    page = mmap.PAGESIZE
    pages = np.frombuffer(mmap.mmap(-1, (n + 2) * page), np.uint8)
    for guard in (pages[:page], pages[-page:]):
        if ctypes.CDLL(None).mprotect(ctypes.c_void_p(guard.ctypes.data), ctypes.c_size_t(page), NO_ACCESS):
            raise OSError("mprotect failed")
    return pages[page:-page]


@functools.cache
def in_turn(n: int) -> Iterator[NDArray[np.uint8]]:
    """Return more guarded pages than one call of a kernel has buffers; later ones are those of earlier calls."""
    return itertools.cycle([guarded(n) for _ in range(16)])


def place(array: Any, *, at_end: bool) -> NDArray[np.uint8]:
    """Return the bytes of an array at the end, or at the beginning, of what may be read and written."""
    pages = next(in_turn(-(-max(array.nbytes, 1) // mmap.PAGESIZE)))
    first = pages.size - array.nbytes if at_end else 0
    found = pages[first : first + array.nbytes]
    found[:] = np.frombuffer(array.tobytes(), np.uint8)
    return found


def bits(put: Place) -> None:
    for n in range(140):
        flags = np.arange(n, dtype=np.uint8) % 3 == 1
        packed, out = put(np.packbits(flags)), put(np.empty(n, np.uint8))
        unpack_bits(packed, out)
        assert out.tolist() == flags.tolist()
        assert count_bits(packed, n) == flags.sum()
        for first in range(8):
            out = put(np.zeros((first + n + 7) // 8, np.uint8))
            assert pack_bits(put(flags), out, first) == flags.sum()
            assert out.tolist() == oracles.pack_bits(flags, np.zeros(first)).tolist()


def values(put: Place) -> None:
    """All masks of eight values, which are done at once, before and behind others."""
    for size in (1, 2, 4, 8):
        for byte in range(256):
            for before, after in ((0, 0), (8, 0), (0, 3)):
                eight = np.unpackbits(np.array([byte], np.uint8))
                flags = np.concatenate([np.zeros(before, np.uint8), eight, np.ones(after, np.uint8)])
                both_ways(put, flags, np.arange(1, flags.size + 1, dtype=f"u{size}"))


def both_ways(put: Place, flags: NDArray[np.uint8], array: NDArray[Any]) -> None:
    mask, present = np.packbits(flags != 0), oracles.gather(flags, array)
    out_present = put(np.empty_like(present))
    gather(put(flags), put(array), out_present, array.itemsize, False)
    assert out_present.tobytes() == present.tobytes()
    out_flags, out = put(np.empty_like(flags)), put(np.empty_like(array))
    scatter(put(mask), put(present), out_flags, out, array.itemsize, False)
    assert out_flags.tobytes() + out.tobytes() == flags.tobytes() + oracles.scatter(flags, array).tobytes()


def chunks(put: Place) -> None:
    for size in (1, 2, 4, 8):
        for n in (*range(1, 40), 64, 67):
            array = np.arange(n).astype(f"u{size}")
            for first in {0, n // 2, n - 1}:
                part, shape, rest = np.array([[first, n - first, 0]]), np.array([n]), np.array([n - first])
                whole, mask = np.array([n * size]), np.zeros(1, np.uint32)
                for shuffled in (False, True):
                    for swapped in (False, True):
                        stored = oracles.swap(array) if swapped else array
                        chunk = put(oracles.shuffle(stored) if shuffled else stored)
                        target = put(np.zeros(n - first, array.dtype))
                        put_chunks(chunk, whole, mask, part, shape, target, rest, size, swapped, shuffled, None, None)
                        assert target.tobytes() == array[first:].tobytes()
            source, target = put(oracles.shuffle(array)), put(np.zeros_like(array))
            unshuffle(source, target, size)
            assert target.tobytes() == array.tobytes()
            assert fletcher32(put(array)) == oracles.fletcher32(array.tobytes())


def streams(put: Place) -> None:
    """Short zlib streams, whole and cut everywhere, in a small file and among the chunks of a large variable."""
    rng = np.random.default_rng(0)
    for n in (1, 5, 40, 300):
        for level in (0, 1, 9):
            data = rng.integers(0, 3, n).astype("u1")
            stream = zlib.compress(data.tobytes(), level)
            for size in range(len(stream) + 1):
                file = node(0, [(0, size, LEAF)]) + stream[:size]
                content, dtype = put(np.frombuffer(file, np.uint8)), data.dtype
                found = SmallArray((n,), (n,), dtype, False, False, True, None).read(content, 0, None)
                assert (found is not None) == (size == len(stream))
                sizes, masks, parts = np.array([size]), np.zeros(1, np.uint32), np.array([[0, n, 0]])
                target, shape = put(np.zeros(n, np.uint8)), np.array([n])
                content = put(np.frombuffer(stream[:size], np.uint8)) if size else np.zeros(0, np.uint8)
                inflated = put(np.zeros(n, np.uint8))
                put_chunks(content, sizes, masks, parts, shape, target, shape, 1, False, False, inflated, None)
                assert (target.tobytes() == data.tobytes()) == (size == len(stream)) or not data.any()
            for size in range(LEAF):
                content = put(np.frombuffer(node(0, [(0, 1, 0)])[:size], np.uint8)) if size else np.zeros(0, np.uint8)
                array = SmallArray((1,), (1,), data.dtype, False, False, False, None)
                assert array.read(content, 0, None) is None
                array = SmallArray((LEAF,), None, data.dtype, False, False, False, None)
                assert array.read(content, 0, None) is None


def long_streams(put: Place) -> None:
    """Longer ones, which are decoded in whole words where there is space: whole, cut, and into too little space."""
    for n in (900, 3000):
        for data in (skewed(n, n, 200), repeated(n, n)):
            stream = zlib.compress(data, 9)
            cuts = [*range(60), *range(60, len(stream) - 513, 97)]
            for size, room in [*[(len(stream) - cut, n) for cut in cuts], *[(len(stream), n - k) for k in range(300)]]:
                content, target, shape = put(np.frombuffer(stream[:size], np.uint8)), put(np.zeros(room, "u1")), [room]
                one, mask, part = np.array([size]), np.zeros(1, np.uint32), np.array([[0, room, 0]])
                inflated, lengths = put(np.zeros(room, np.uint8)), np.array(shape)
                how = (one, mask, part, lengths, target, lengths, 1, False, False, inflated, None)
                assert put_chunks(content, *how)[0] == (size == len(stream) and room == n)


def metadata(put: Place) -> None:
    """HDF5 files of which only the bytes before, or after, the ends of structures are known."""
    parser = Parser((HDF5Type, HDF5Attribute, HDF5Filter, HDF5Layout, HDF5Dataset, HDF5Group, HDF5File))
    for name in ("netcdf/groups.nc", "netcdf/attr_types.nc", "hdf5/attributes.h5", "hdf5/strings.h5"):
        data = (GOLDEN / name).read_bytes()
        assert isinstance(parser.parse([(0, put(np.frombuffer(data, np.uint8)))], len(data)), HDF5File)
        ends = {end for each in Anatomy(data).structures for end in (each.start, each.end, each.checksum + 4)}
        for end in sorted(ends - {0, len(data)}):
            known = put(np.frombuffer(data[:end], np.uint8))
            assert isinstance(parser.parse([(0, known)], len(data)), (list, HDF5File))
            known = put(np.frombuffer(data[end:], np.uint8))
            assert isinstance(parser.parse([(0, data[:96]), (end, known)][end < 96 :], len(data)), (list, HDF5File))


def json_text(put: Place) -> None:
    """Variables of a JSON text, which is cut at each byte."""
    text = (
        b' {"a": [[1, -20], [3.25e+1, null]], "b": [true, false], "c": ["\\u017e", "abcdefgh"], "d": [-Infinity, NaN]} '
    )
    for n in range(1, len(text)):
        with contextlib.suppress(Unusual):
            decode_variables(put(np.frombuffer(text[:n], np.uint8)))
    assert list(decode_variables(put(np.frombuffer(text, np.uint8)))) == ["a", "b", "c", "d"]


CASES = {case.__name__: case for case in (bits, values, chunks, streams, long_streams, metadata, json_text)}


@pytest.mark.skipif(os.name != "posix", reason="pages are protected by a call of POSIX")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.parametrize("side", ["begin", "end"])
@pytest.mark.parametrize("case", CASES)
def test_no_byte_beside_a_buffer_is_touched(case: str, side: str) -> None:
    child = os.fork()  # a byte that is touched ends it
    if not child:
        status = 1
        try:
            CASES[case](lambda array: place(array, at_end=side == "end"))
            status = 0
        except BaseException:  # noqa: BLE001 - whatever it is, this process must not go on with other tests
            traceback.print_exc()
        finally:
            sys.stderr.flush()
            os._exit(status)
    ended = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert ended == 0, f"ended by signal {-ended}" if ended < 0 else "see what the child printed"
