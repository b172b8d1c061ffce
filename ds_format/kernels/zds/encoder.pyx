"""Documents → lines of JSON, one after another in a buffer."""

cimport cython
from cpython.buffer cimport PyBuffer_FillInfo
from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.dict cimport PyDict_GetItemWithError
from cpython.mem cimport PyMem_RawFree
from cpython.object cimport PyObject
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy

from .entries cimport Entry
from .id_rule cimport usual_id
from .ids cimport tag_of
from ..json.room cimport Room, make_room
from ..json.values cimport put_items
from .zdx cimport Table

cdef extern from "Python.h":
    bint PyUnicode_IS_COMPACT_ASCII(object text) noexcept
    void* PyUnicode_DATA(object text) noexcept
    Py_ssize_t PyUnicode_GET_LENGTH(object text) noexcept

cdef enum:
    START = 8  # bytes of `{"_id":"`

cdef str ID = "_id"


@cython.final
cdef class Encoder:
    """A buffer of lines, each a document as JSON: compact, `_id` first, then the items in their order.

    It can be written as it is, because it is a bytes-like object. As long as something holds its bytes, nothing can be
    added.

    Parameters
    ----------
    fallback : callable, optional
        Gets a value that is not str, int, float, bool, None, dict, list or tuple, and returns what is to be
        written in its place, or raises TypeError.

    Attributes
    ----------
    size : int
        Bytes in the buffer.
    """

    cdef Room room
    cdef object fallback
    cdef Py_ssize_t n_views
    cdef bint busy

    def __cinit__(self, object fallback=None):
        self.fallback = fallback
        self.room.fallback = <PyObject*> fallback

    def __dealloc__(self):
        PyMem_RawFree(self.room.data)

    def __getbuffer__(self, Py_buffer* view, int flags):
        if self.busy:
            raise BufferError("a document is being added")
        if self.room.data == NULL:
            make_room(&self.room, 1)
        PyBuffer_FillInfo(view, self, self.room.data, self.room.size, True, flags)
        self.n_views += 1

    def __releasebuffer__(self, Py_buffer* view):
        self.n_views -= 1

    def __buffer__(self, int flags):
        return memoryview(self)

    def __len__(self):
        return self.room.size

    @property
    def size(self):
        """Bytes in the buffer."""
        return self.room.size

    cdef int check(self) except -1:
        if self.n_views or self.busy:
            raise BufferError("the buffer is in use")
        return 0

    cdef Py_ssize_t put(self, object id, object document) except -1:
        """Append the line of a document, and return the size of its id; if that fails, all is as before."""
        cdef Py_ssize_t start = self.room.size, size
        cdef PyObject* own
        cdef dict items
        self.check()
        if type(document) is dict:
            items = <dict> document
        elif isinstance(document, dict):
            items = dict(document.items())
        else:
            raise TypeError(f"found a document of type {type(document).__name__}, expected dict")
        own = PyDict_GetItemWithError(items, ID)
        if id is None:
            if own == NULL:
                raise ValueError("found a document without _id")
            id = <object> own
        elif own != NULL and <object> own is not id and (type(<object> own) is not str or <object> own != id):
            raise ValueError(f"found the _id {<object> own!r} in the document with the id {id!r}")
        if not isinstance(id, str) or not PyUnicode_IS_COMPACT_ASCII(id) or not usual_id(
            <const uint8_t*> PyUnicode_DATA(id), PyUnicode_GET_LENGTH(id)
        ):
            raise ValueError(
                f"found the id {id!r}, expected 1 to 255 of A-Z a-z 0-9 _ - and ., no .. and no . at the start"
            )
        size = PyUnicode_GET_LENGTH(id)
        self.busy = True
        try:
            make_room(&self.room, START + size + 1)
            memcpy(self.room.data + start, b'{"_id":"', START)
            memcpy(self.room.data + start + START, PyUnicode_DATA(id), size)
            self.room.data[start + START + size] = c'"'
            self.room.size = start + START + size + 1
            put_items(&self.room, items, 1, True)
            make_room(&self.room, 1)
            self.room.data[self.room.size] = c"\n"
            self.room.size += 1
            if self.room.size - start > <uint32_t> -1:
                raise ValueError(f"found {self.room.size - start} bytes, expected at most {<uint32_t> -1} for a line")
        except BaseException:
            self.room.size = start
            raise
        finally:
            self.busy = False
        return size

    def add(self, str id, object document not None):
        """Append the line of a document.

        Parameters
        ----------
        id : str or None
            Its id; None: the document has one.
        document : dict
            Its items. If `_id` is one of them it must be the id.

        Returns
        -------
        tuple of int
            Where the line is in the buffer: start, and length with its line feed, in bytes.

        Raises
        ------
        ValueError
            If the id is not as ids are, is missing or not that of the document, or for a value that JSON
            has not: see `json.values.dumps`. The buffer is as before.
        TypeError
            For a key that is not str, or a value of another type.
        BufferError
            If something holds the bytes of the buffer.
        """
        cdef Py_ssize_t start = self.room.size
        self.put(id, document)
        return start, self.room.size - start

    def put_all(self, object documents not None, Table table not None, uint64_t base, Py_ssize_t limit):
        """Append the lines of documents, and add them to a table, until the buffer is full.

        Parameters
        ----------
        documents : iterator
            Of dicts with `_id`, or pairs of id and dict.
        table : Table
            Gets the id and the place of each line.
        base : int
            Where the buffer begins in the file, in bytes.
        limit : int
            Bytes of the buffer from which on no more documents are taken.

        Returns
        -------
        count : int
            How many documents were added.
        done : bool
            Whether there are no more.

        Raises
        ------
        ValueError, TypeError, BufferError
            As `add` does. The documents before the one that fails have been added.
        """
        cdef Py_ssize_t count = 0, start, size
        cdef object item
        cdef Entry entry
        if self.room.size >= limit:
            return 0, False
        for item in documents:
            start = self.room.size
            if type(item) is dict:
                size = self.put(None, item)
            elif isinstance(item, tuple) and len(<tuple> item) == 2:
                size = self.put(_given_id(item[0]), item[1])
            else:
                size = self.put(None, item)
            entry = Entry(self.room.data + start + START, size, base + start, <uint32_t> (self.room.size - start))
            try:
                table.add_entry(&entry, tag_of(entry.id, entry.size))
            except BaseException:
                self.room.size = start
                raise
            count += 1
            if self.room.size >= limit:
                return count, False
        return count, True

    def view(self, Py_ssize_t start, Py_ssize_t stop):
        """Return a copy of the bytes from `start` to `stop` - 1."""
        if not 0 <= start <= stop <= self.room.size:
            raise IndexError(f"no bytes {start} to {stop} among {self.room.size}")
        return PyBytes_FromStringAndSize(<const char*> self.room.data + start, stop - start)

    def clear(self):
        """Forget all lines; the memory is kept."""
        self.check()
        self.room.size = 0

    def take(self):
        """Return all lines, and forget them."""
        lines = self.view(0, self.room.size)
        self.clear()
        return lines


cdef object _given_id(object id):
    if id is None:
        raise ValueError("found the id None, expected str")
    return id
