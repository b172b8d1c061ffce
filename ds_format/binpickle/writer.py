"""Writing a file: buffers in the order of the pickler, then the pickle, index and trailer."""

from __future__ import annotations

import contextlib
import pickle
from typing import Any, Self

import numpy as np

from ..body import Closing, path_text
from ..body.target import Target, naming, resolve
from ..errors import DsError, UnsupportedError, VersionError
from ..kernels.files import files
from .buffers import BufferWriter
from .codecs import GZ, described, make_codec
from .format import VERSIONS, IndexEntry, entries_of, new_joiner, small_content

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
        stream = _Stream(self)
        try:
            joiner = stream.joiner
            joiner.add(pickle.dumps(obj, PROTOCOL, buffer_callback=joiner.add))
            if stream.is_open:
                stream.finish()
            else:
                self._write_small(small_content(joiner))
        except BaseException as error:
            stream.abort()
            if isinstance(error, DsError):
                error.at(path=self.filename)
            raise
        finally:
            del stream.joiner  # which refers to the stream
        self._is_closed = True

    def _write_small(self, content: list[bytes]) -> None:
        with naming(self.filename):
            if not files.write_file(self.filename, content, True, self.durable):
                files.write_file(resolve(self.filename)[0], content, True, self.durable)

    def close(self) -> None:
        """Close the writer. If nothing was saved, no file is made."""
        self._is_closed = True


class _Stream:
    """Writes the buffers of a pickler that the joiner of small files does not take, one after another, into a file.

    Parameters
    ----------
    writer : BinPickler
    """

    def __init__(self, writer: BinPickler):
        self._writer, self._codec = writer, writer.codec
        is_plain = writer.version == 1 and writer.codec is None and not writer.align
        self.joiner = new_joiner(self.add, is_plain=is_plain)
        self._target: Target | None = None

    @property
    def is_open(self) -> bool:
        """Whether there is a file."""
        return self._target is not None

    def _open(self) -> None:
        """Create the file, and write what was joined."""
        writer = self._writer
        self._target = Target(writer.filename, durable=writer.durable)
        with naming(writer.filename):
            self._file = self._target.open()
        self._body = BufferWriter(writer.filename, self._file, align=writer.align, version=writer.version)
        joined, index = self.joiner.content()
        self._body.put_joined(joined, entries_of(index))

    def finish(self) -> None:
        """Write what is around the buffers, and give the file its name."""
        self._body.finish(is_mappable=self._writer.align and (self._codec is None or self._codec == []))
        with naming(self._writer.filename):
            self._file.close()
            if self._target is not None:
                self._target.commit()

    def abort(self) -> None:
        """Remove the file."""
        if self._target is not None:
            with contextlib.suppress(AttributeError, OSError):
                self._file.close()
            self._target.abort()

    def add(self, buffer: Any) -> None:
        """Write a PickleBuffer, or the pickle."""
        if self._target is None:
            self._open()
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
