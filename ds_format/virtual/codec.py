"""Masks, bits and text of ds files → the bytes that Zarr expects of such arrays.

The configuration of the codec describes the variable. It may come from another program, so everything is checked.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ..base.dtypes import TYPES
from ..body.body import MemoryBody
from ..codec.decode import decode
from ..codec.header import VarHeader, variable
from ..datasets import as_array
from ..errors import DsError, FormatError, UnsupportedError
from ..model.missing import default_fill, is_value

CODEC_ID = "ds_format"
"""Id of the codec in Zarr 2 and 3."""
SPECIAL = {"NaN": np.nan, "Infinity": np.inf, "-Infinity": -np.inf}
"""Numbers that JSON does not have, by the names of Zarr."""


def json_number(value: Any) -> Any:
    """Return a number as Zarr has it in JSON: as text if it is not finite."""
    plain = value.item() if isinstance(value, np.generic) else value
    if not isinstance(plain, float) or np.isfinite(plain):
        return plain
    return "NaN" if plain != plain else "Infinity" if plain > 0 else "-Infinity"


def array_dtype(type_name: str, *, is_masked: bool) -> np.dtype[Any]:
    """Return the dtype of decoded values: little-endian; int8 for booleans of which some may be missing."""
    if type_name == "bool":
        return np.dtype("i1" if is_masked else "?")
    return np.dtype(TYPES[type_name].code).newbyteorder("<")


def filled(values: Any, dtype: np.dtype[Any], fill: Any) -> NDArray[Any]:
    """Return numbers or booleans as an array without a mask.

    Parameters
    ----------
    values : ndarray, MaskedArray or scalar
    dtype : dtype
        As of `array_dtype`.
    fill : object
        The number for missing values; None: none may be missing.

    Raises
    ------
    UnsupportedError
        If a present value equals the number.
    """
    array = as_array(values)
    data, mask = np.ma.getdata(array).astype(dtype, copy=False), np.ma.getmaskarray(array)
    if fill is None or not mask.any():
        return data
    number = dtype.type(fill)
    if number == number and np.any(is_value(data, number) & ~mask):
        raise UnsupportedError(f"a present value equals {json_number(number)}, which marks missing values in Zarr")
    return np.where(mask, number, data)


def encode_text(strings: Iterable[str | bytes]) -> bytes:
    """Return strings as the codecs vlen-utf8 and vlen-bytes of Zarr have them; a missing one is empty."""
    parts = [one.encode("utf-8", "surrogatepass") if isinstance(one, str) else one for one in strings]
    sized = (piece for one in parts for piece in (struct.pack("<I", len(one)), one))
    return b"".join([struct.pack("<I", len(parts)), *sized])


@dataclass(frozen=True)
class ChunkCodec:
    """The configuration of the codec.

    Attributes
    ----------
    type : str
        Name of the ds type.
    shape : tuple of int
        Shape of the variable, which is one chunk.
    big : bool
        Whether values, or the lengths of strings, are big-endian.
    missing : bool
        Whether there is a mask.
    fill : object
        The number for missing values; None for text, or without a mask.
    """

    type: str
    shape: tuple[int, ...]
    big: bool
    missing: bool
    fill: Any = None

    @classmethod
    def of(cls, config: Mapping[str, Any]) -> Self:
        """Return the codec of a configuration in JSON.

        Raises
        ------
        FormatError
            If it is invalid.
        """
        names = {".type": "type", ".size": "shape", ".missing": "missing"}
        entry = {key: config.get(name) for key, name in names.items()}
        entry[".endian"] = "b" if config.get("big") is True else "l"
        if isinstance(entry[".size"], tuple):
            entry[".size"] = [*entry[".size"]]
        var = variable(entry)
        if var.type is None or var.size is None:
            raise FormatError(f"codec {CODEC_ID}: found no type or no shape: {dict(config)!r:.200}")
        fill = config.get("fill")
        fill = SPECIAL.get(fill) if isinstance(fill, str) else fill
        if not (fill is None or isinstance(fill, (int, float))):
            raise FormatError(f"codec {CODEC_ID}: fill: found {fill!r:.60}, expected a number")
        return cls(var.type.name, var.size, var.big, var.missing, fill)

    def config(self) -> dict[str, Any]:
        """Return the configuration in JSON."""
        return {**asdict(self), "shape": [*self.shape], "fill": json_number(self.fill)}

    @property
    def dtype(self) -> np.dtype[Any]:
        """Dtype of the decoded values; object for text."""
        return array_dtype(self.type, is_masked=self.missing)

    def decode(self, data: Any) -> NDArray[np.uint8]:
        """Decode a chunk.

        Parameters
        ----------
        data : buffer
            The bytes of the variable in the file.

        Returns
        -------
        (N,) uint8 array
            Values of `dtype` in C order, or text as the codec vlen-utf8 or vlen-bytes has it.

        Raises
        ------
        FormatError
            If the bytes do not match. Memory is only allocated for values that they have.
        UnsupportedError
            If a present value equals the number for missing ones.
        """
        raw = memoryview(data).cast("B")
        var = VarHeader(TYPES[self.type], self.shape, 0, raw.nbytes, self.big, self.missing)
        try:
            values = decode(var, MemoryBody("chunk", raw))
            if TYPES[self.type].is_string:
                plain = as_array(values)
                plain = plain.filled("" if self.type == "unicode" else b"") if np.ma.isMaskedArray(plain) else plain
                return np.frombuffer(encode_text(plain.reshape(-1).tolist()), np.uint8)
            return np.ascontiguousarray(filled(values, self.dtype, self.fill)).reshape(-1).view(np.uint8)
        except DsError as error:
            raise type(error)(f"codec {CODEC_ID}: {error.message}") from None


def fill_of_type(type_name: str) -> np.generic:
    """Return the number for missing values of a type, if no attribute names one."""
    dtype = array_dtype(type_name, is_masked=True)
    return dtype.type(np.nan) if dtype.kind == "f" else default_fill(dtype.newbyteorder("="))
