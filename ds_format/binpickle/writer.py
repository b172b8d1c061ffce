"""Writing a file: buffers as the pickler gives them, the pickle, and what tells of both."""

from __future__ import annotations

import pickle
from types import TracebackType
from typing import Any, Self

import numpy as np

from ..body import path_text
from ..body.body import OutputBody
from ..body.target import Target, naming
from ..errors import DsError, UnsupportedError, VersionError
from .buffers import BufferWriter
from .codecs import GZ, described, make_codec
from .format import VERSIONS, IndexEntry

PROTOCOL = 5
"""Of the pickle: the first one, and as yet the last, that has buffers of their own."""


def dump(
    obj: Any, file: Any, *, mappable: bool = False, codec: Any = None, version: int = 1, durable: bool = False
) -> None:
    """Save an object.

    Parameters
    ----------
    obj : object
        Anything that can be pickled. Arrays, and what is made of arrays, are stored as they are in memory.
    file : str, bytes or PathLike
        It appears when it is whole; what stood under the name stays as it is until then, and if this fails.
    mappable : bool
        Align all buffers to pages, so that the file can be mapped into memory, and ignore `codec`.
    codec : None, str, tuple, list, dict, codec or callable
        How to encode the buffers, as `codecs.make_codec` takes it. Without one nothing is encoded: that is
        the fastest, and can be mapped. The codec of BinPickle itself, if none is given, is `codecs.GZ()`.
    version : int
        Of the file, 1 or 2. BinPickle 0.1 to 0.3 read the first, 0.4 the second.
    durable : bool
        Flush file and folder to the disk.

    Raises
    ------
    UnsupportedError
        If `codec` describes none, its library is not installed, or what it encodes could not be read back.
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


class BinPickler:
    """Saves one object.

    Nothing is opened, and nothing stands under the name, before `dump` has written all of it.

    Parameters
    ----------
    filename : str, bytes or PathLike
    align : bool
        Align all buffers to pages.
    codec : None, str, tuple, list, dict, codec or callable
    version : int
    durable : bool
        As `dump` takes them.

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
        """Return a writer of a compressed file, if nothing else is said by zlib at its highest level, as BinPickle."""
        return cls(filename, codec=codec, version=version, durable=durable)

    def dump(self, obj: Any) -> None:
        """Save an object.

        Raises
        ------
        ValueError
            If this writer has saved one already, or is closed.
        UnsupportedError
            If the codec describes none, its library is not installed, or what it encodes could not be read back.
        OSError
            If the file cannot be written. Whatever goes wrong, the file that stood under the name stays.
        """
        if self._is_closed:
            raise ValueError(f"{self.filename}: the writer is closed, or has saved an object: a file holds one")
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
        """End it. A writer that has saved nothing makes no file."""
        self._is_closed = True

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


class _Buffers:
    """What a pickler gives, on its way into a file.

    Parameters
    ----------
    body : Body
    codec : None, str, tuple, list, dict, codec or callable
    """

    def __init__(self, body: BufferWriter, codec: Any):
        self._body, self._codec = body, codec

    def add(self, buffer: Any) -> None:
        """Write a PickleBuffer, or the pickle; the pickler goes on if this returns nothing."""
        raw = buffer.raw() if isinstance(buffer, pickle.PickleBuffer) else memoryview(buffer)
        encoded, codec = (raw, None) if self._codec is None else self._encode(buffer, raw)
        offset, checksum = self._body.put(encoded)
        info = _info(buffer) if self._body.version == 2 else None
        self._body.entries.append(IndexEntry(offset, encoded.nbytes, raw.nbytes, checksum, codec, info))

    def _encode(self, buffer: Any, raw: memoryview) -> tuple[memoryview, Any]:
        """Return the bytes to be written, and what the index says of their codec.

        No bytes have none in version 2, and in version 1 none that makes nothing of them that can be read.
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
    """Return the array that a PickleBuffer was made of, else None."""
    obj: Any = memoryview(buffer).obj if isinstance(buffer, pickle.PickleBuffer) else None
    return obj if isinstance(obj, np.ndarray) else None


def _info(buffer: Any) -> list[Any] | None:
    """Return what version 2 tells of an array."""
    array = _exporter(buffer)
    return None if array is None else ["ndarray", str(array.dtype), array.shape]


def _typed(buffer: Any, raw: memoryview) -> Any:
    """Return the bytes as the array they are from: by its numbers codecs shuffle and take differences."""
    array = _exporter(buffer)
    if array is None or not array.dtype.itemsize:
        return np.frombuffer(raw, np.uint8)
    return np.frombuffer(raw, array.dtype).reshape(array.shape)
