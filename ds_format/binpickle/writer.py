"""Writing a file: buffers in the order of the pickler, then the pickle, index and trailer."""

from __future__ import annotations

import pickle
from typing import Any, Self

import numpy as np

from ..body import Closing, path_text
from ..body.body import OutputBody
from ..body.target import Target, naming
from ..errors import DsError, UnsupportedError, VersionError
from .buffers import BufferWriter
from .codecs import GZ, described, make_codec
from .format import VERSIONS, IndexEntry

PROTOCOL = 5
"""Protocol of the pickle: so far the only one with out-of-band buffers."""


def dump(
    obj: Any, file: Any, *, mappable: bool = False, codec: Any = None, version: int = 1, durable: bool = False
) -> None:
    """Save an object.

    Parameters
    ----------
    obj : object
        Anything that can be pickled. Arrays, and objects made of arrays, are stored as they are in memory.
    file : str, bytes or PathLike
        It is written atomically: an existing file stays until the new one is complete, also if this fails.
    mappable : bool
        Align all buffers to pages, so that the file can be mapped into memory, and ignore `codec`.
    codec : None, str, tuple, list, dict, codec or callable
        Encoding of the buffers; see `codecs.make_codec`. None, the default, encodes nothing: it is the fastest, and
        the file can be mapped. The default of BinPickle is `codecs.GZ()`.
    version : int
        Version of the file format, 1 or 2. BinPickle 0.1 to 0.3 read the first, 0.4 the second.
    durable : bool
        Flush file and folder to the disk.

    Raises
    ------
    UnsupportedError
        If `codec` is not a codec, its library is not installed, or its output could not be read back.
    VersionError
        If there is no such version.
    OSError
        If the file cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from ds_format import binpickle
    >>> path = tempfile.mkdtemp() + "/x.bpk"
    >>> binpickle.dump({"x": np.arange(3), "name": "three"}, path)
    >>> binpickle.load(path)
    {'x': array([0, 1, 2]), 'name': 'three'}
    """
    with BinPickler(
        file, align=mappable, codec=None if mappable else codec, version=version, durable=durable
    ) as writer:
        writer.dump(obj)


class BinPickler(Closing):
    """Saves one object. The file appears when `dump` has written all of it.

    Parameters
    ----------
    filename : str, bytes or PathLike
    align : bool
        Align all buffers to pages.
    codec : None, str, tuple, list, dict, codec or callable
    version : int
    durable : bool
        As for `dump`.

    Raises
    ------
    VersionError
        If there is no such version.

    Examples
    --------
    >>> import tempfile
    >>> from ds_format import binpickle
    >>> path = tempfile.mkdtemp() + "/x.bpk"
    >>> with binpickle.BinPickler.compressed(path) as writer:
    ...     writer.dump([1, 2, 3])
    >>> binpickle.load(path)
    [1, 2, 3]
    """

    def __init__(
        self, filename: Any, *, align: bool = False, codec: Any = None, version: int = 1, durable: bool = False
    ):
        self.filename = path_text(filename)
        if version not in VERSIONS:
            raise VersionError(f"version: found {version!r}, expected 1 or 2", path=self.filename)
        self.align, self.codec, self.version, self.durable = align, codec, version, durable
        self._is_closed = False

    @classmethod
    def mappable(cls, filename: Any, *, version: int = 1, durable: bool = False) -> Self:
        """Return a writer of a file to be mapped into memory."""
        return cls(filename, align=True, version=version, durable=durable)

    @classmethod
    def compressed(cls, filename: Any, codec: Any = GZ(), *, version: int = 1, durable: bool = False) -> Self:  # noqa: B008 - it is frozen
        """Return a writer of a compressed file; the default is zlib at its highest level, as in BinPickle."""
        return cls(filename, codec=codec, version=version, durable=durable)

    def dump(self, obj: Any) -> None:
        """Save an object.

        Raises
        ------
        ValueError
            If this writer has saved an object already, or is closed.
        UnsupportedError
            If the codec is not one, its library is not installed, or its output could not be read back.
        OSError
            If the file cannot be written. After any error an existing file is left untouched.
        """
        if self._is_closed:
            raise ValueError(f"{self.filename}: the writer is closed, or has saved its one object")
        target = Target(self.filename, durable=self.durable)
        try:
            with naming(self.filename):
                file = target.open()
            try:
                self._write(file, obj)
            finally:
                with naming(self.filename):
                    file.close()
            with naming(self.filename):
                target.commit()
        except BaseException as error:
            target.abort()
            if isinstance(error, DsError):
                error.at(path=self.filename)
            raise
        self._is_closed = True

    def _write(self, file: OutputBody, obj: Any) -> None:
        body = BufferWriter(self.filename, file, align=self.align, version=self.version)
        add = _Buffers(body, self.codec).add
        add(pickle.dumps(obj, PROTOCOL, buffer_callback=add))
        body.finish(is_mappable=self.align and (self.codec is None or self.codec == []))

    def close(self) -> None:
        """Close the writer. If nothing was saved, no file is made."""
        self._is_closed = True


class _Buffers:
    """Writes the buffers of a pickler into a file.

    Parameters
    ----------
    body : Body
    codec : None, str, tuple, list, dict, codec or callable
    """

    def __init__(self, body: BufferWriter, codec: Any):
        self._body, self._codec = body, codec

    def add(self, buffer: Any) -> None:
        """Write a PickleBuffer, or the pickle. The pickler treats it as out of band because this returns None."""
        raw = buffer.raw() if isinstance(buffer, pickle.PickleBuffer) else memoryview(buffer)
        encoded, codec = (raw, None) if self._codec is None else self._encode(buffer, raw)
        offset, checksum = self._body.put(encoded)
        info = _info(buffer) if self._body.version == 2 else None
        self._body.entries.append(IndexEntry(offset, encoded.nbytes, raw.nbytes, checksum, codec, info))

    def _encode(self, buffer: Any, raw: memoryview) -> tuple[memoryview, Any]:
        """Return the bytes to be written, and the description of their codec for the index.

        Empty buffers have no codec in version 2. In version 1 they have none whose output could not be read.
        """
        codec, version = make_codec(self._codec, buffer), self._body.version
        index, steps = described(codec, version)
        if not raw.nbytes and version == 2:
            return raw, None if steps else index
        try:
            return pickle.PickleBuffer(codec.encode(_typed(buffer, raw), version)).raw(), index
        except UnsupportedError:
            if raw.nbytes:
                raise
            return raw, None


def _exporter(buffer: Any) -> Any:
    """Return the array from which a PickleBuffer was made, else None."""
    obj: Any = memoryview(buffer).obj if isinstance(buffer, pickle.PickleBuffer) else None
    return obj if isinstance(obj, np.ndarray) else None


def _info(buffer: Any) -> list[Any] | None:
    """Return the description of an array in version 2."""
    array = _exporter(buffer)
    return None if array is None else ["ndarray", str(array.dtype), array.shape]


def _typed(buffer: Any, raw: memoryview) -> Any:
    """Return the bytes as the array they are from, because codecs shuffle its numbers and take differences."""
    array = _exporter(buffer)
    if array is None or not array.dtype.itemsize:
        return np.frombuffer(raw, np.uint8)
    return np.frombuffer(raw, array.dtype).reshape(array.shape)
