"""Writing one variable whose values come block by block."""

from __future__ import annotations

import tempfile
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from ...body import Opened
from ...codec.encode import Encoded, encode
from ...codec.header import ALIGNMENT, VarHeader
from ...dtypes import Type
from ...errors import DsError
from ...kernels.files import ranges


class BitStream(Opened):
    """Bits that arrive in any number and go to a file in whole bytes.

    Attributes
    ----------
    bit : int
        Of its byte, 0 to 7, at which the next bits begin.
    """

    def __init__(self, fd: int, offset: int):
        self.fd = fd
        self.offset = offset
        self.bit = 0
        self._rest = 0

    def add(self, packed: NDArray[np.uint8], n: int) -> None:
        """Append n bits, which begin at `bit` of the first byte, behind 0s."""
        end = self.bit + n
        packed[:1] |= self._rest
        self.offset += ranges.write_at(self.fd, self.offset, packed[: end // 8])
        self.bit = end % 8
        self._rest = int(packed[-1]) if self.bit else 0

    def skip(self, n: int) -> None:
        """Append n times 0: what nobody writes in a new file is 0, and takes no space."""
        end = self.bit + n
        if end >= 8 and self._rest:
            ranges.write_at(self.fd, self.offset, bytes([self._rest]))
            self._rest = 0
        self.offset += end // 8
        self.bit = end % 8

    def finish(self) -> int:
        """Write the last byte, padded with 0, and return where the bits end, in bytes from the start of the file."""
        if self.bit:
            self.offset += ranges.write_at(self.fd, self.offset, bytes([self._rest]))
        return self.offset


class VariableStream(Opened):
    """A variable being written at the end of a file.

    Room for a mask is left in front of the values. If no value turns out to be missing it stays an unused gap, which in
    most file systems takes no space.

    Parameters
    ----------
    fd : int
        File descriptor.
    end : int
        Of what is written already, in bytes from the start of the file.
    body : int
        Start of the body, in bytes from the start of the file.
    size : tuple of int
        Shape of the variable.
    ds_type : Type
    may_miss : bool
        Whether values may be missing.
    folder : str
        Where a temporary file may be made.
    """

    def __init__(self, fd: int, end: int, body: int, size: tuple[int, ...], ds_type: Type, may_miss: bool, folder: str):
        self.fd = fd
        self.body = body
        self.size = size
        self.type = ds_type
        self.n = int(np.prod(size, dtype=object))
        mask_size = (self.n + 7) // 8 if may_miss else 0
        self.may_miss = may_miss
        self.start = end + -(end + mask_size) % ALIGNMENT
        self.values = self.start + mask_size
        self.offset = self.values
        self.done = 0
        self.any_missing = False
        self._mask = BitStream(fd, self.start)
        self._bits = BitStream(fd, self.values)
        self._spool: IO[bytes] | None = None
        if ds_type.is_string:
            self._spool = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115 - `close` closes it
        self._spooled = 0

    def add(self, block: NDArray[Any]) -> None:
        """Append a block, whose values follow the last ones in C order."""
        encoded = encode(block, self.type.name, self._mask.bit, self._bits.bit)
        if encoded.type is not self.type:
            raise DsError(f"found values of type {encoded.type.name}, expected {self.type.name}")
        if encoded.missing and not self.may_miss:
            raise DsError("a value is missing, although the metadata say that none can be")
        self.done += encoded.n
        if encoded.missing:
            self._mask.add(encoded.buffers[0], encoded.n)
            self.any_missing = True
        else:
            self._mask.skip(encoded.n)
        if self.type.is_string:
            self._add_strings(encoded)
        elif self.type.code == "?":
            self._bits.add(encoded.buffers[-1], encoded.n - encoded.missing)
        else:
            self.offset += ranges.write_at(self.fd, self.offset, encoded.buffers[-1])

    def _add_strings(self, encoded: Encoded) -> None:
        lengths, data = encoded.buffers[-2:]
        self.offset += ranges.write_at(self.fd, self.offset, lengths)
        if self._spool is not None:
            self._spooled += ranges.write_at(self._spool.fileno(), self._spooled, data)

    def finish(self) -> tuple[VarHeader, int]:
        """Write what is left, and return the header of the variable and where the file ends now.

        Raises
        ------
        DsError
            If more or fewer values came than the variable has.
        """
        if self.done != self.n:
            raise DsError(f"found {self.done} values, expected {self.n} as .size {list(self.size)} says")
        if self.any_missing:
            self._mask.finish()
        if self.type.code == "?":
            self.offset = self._bits.finish()
        if self._spool is not None:
            self.offset += ranges.copy_range(self._spool.fileno(), 0, self.fd, self.offset, self._spooled)
        start = self.start if self.any_missing else self.values
        header = VarHeader(
            self.type, self.size, start - self.body, self.offset - start, not self.type.ordered, self.any_missing
        )
        return header, self.offset

    def close(self) -> None:
        """Release the temporary file."""
        if self._spool is not None:
            self._spool.close()
