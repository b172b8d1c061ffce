"""Masked values and booleans as bytes in memory, without a file: what the codec itself costs.

This is a module of its own because it imports modules inside the package, which an older version of it may not have.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ds_format.body.body import MemoryBody
from ds_format.codec.decode import decode
from ds_format.codec.encode import encode
from ds_format.codec.header import VarHeader

from ..data import flags, masked_floats
from ..machine import MOST_THREADS
from ..runner import Bench, Case, Group
from ..timing import Trial
from ..ways import COPY, NUMPY, OURS, calls


def codec(direction: str, kind: str, bench: Bench, folder: Path) -> Trial:
    """Bytes in memory ↔ array, without a file."""
    masked = kind == "masked"
    array: Any = masked_floats(bench.sizes.masked) if masked else flags(bench.sizes.booleans)
    encoded = encode(array)
    body = MemoryBody("", bytearray(b"".join(encoded.buffers)), lends=True)
    var = VarHeader(encoded.type, array.shape, 0, encoded.size, not encoded.type.ordered, masked)
    packed = np.frombuffer(body.memory, np.uint8)
    if direction == "decode":
        ours = calls(OURS, lambda: decode(var, body), array)
        numpy = calls(NUMPY, lambda: np.unpackbits(packed, count=array.size).view("?"), array, note="np.unpackbits")
    else:
        ours = calls(
            OURS, lambda: encode(array).buffers[-1], np.frombuffer(encoded.buffers[-1], array.dtype if masked else "u1")
        )
        numpy = calls(NUMPY, lambda: np.packbits(array), packed, note="np.packbits")
    copy = calls(COPY, array.copy, array, note="array.copy()")
    return Trial([ours, copy] if masked else [ours, numpy, copy], size=array.nbytes)


GROUP = Group(
    "Masked values and booleans in memory",
    "20 M float64 values, 30 % of them missing; 10 M booleans.",
    tuple(
        Case(f"{direction} {kind}", partial(codec, direction, kind))
        for kind in ("masked", "booleans")
        for direction in ("decode", "encode")
    ),
    threads=f"large arrays with missing values may take {MOST_THREADS} threads, everything else one",
)
