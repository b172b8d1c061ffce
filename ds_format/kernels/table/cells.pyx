"""Lines of a table of text → the types of its columns, and their values.

Cells are quoted as in RFC 4180. Lines end with CR LF, LF or CR. Numbers are those of Python's `int` and `float`,
without underscores. A fault has a position, and the caller words it.
"""

cimport numpy as cnp
from cpython.bytearray cimport PyByteArray_AS_STRING, PyByteArray_Resize
from cpython.buffer cimport PyBUF_SIMPLE, Py_buffer, PyBuffer_Release, PyObject_GetBuffer
from cpython.mem cimport PyMem_Free, PyMem_Malloc
from cpython.object cimport PyObject
from libc.math cimport isinf
from libc.stdint cimport int64_t, uint8_t, uint64_t
from libc.string cimport memcpy, memset

from ..common.utf8 cimport utf8_size
from .numbers cimport EMPTY, HUGE, INEXACT, INTEGER, LARGE, NEGATIVE, REAL, TEXT, Number, parse, parse_by_python
from .rows cimport (
    CELL, COUNT, ENCODING, OPEN, RANGE, ROW, TYPE, WRONG, Splitter, begin_splitting, fail, next_cell, skip_line
)
from .texts cimport Cell, put_texts

cnp.import_array()

FAULTS = ("count", "quote", "quoted", "zero", "size", "encoding", "range", "type")
"""The names of `Fault`."""


class Wrong(Exception):
    """The first row that is not read is damaged.

    Parameters
    ----------
    fault : str
        One of `FAULTS`.
    column : int
        The number of the column, from 1; 0 for a comment.
    at : int
        Where the fault is in the bytes; for `count` the start of the row.
    """


cdef struct Column:
    int kind
    int flags
    bint is_held
    uint64_t* values
    uint8_t* mask  # NULL: no cell is empty
    Cell* cells  # of text


cdef class Table:
    """The rows below the names of a table.

    Parameters
    ----------
    n : int
        Columns; at least 1.
    delimiter : int
        The byte between two cells.
    limit : int
        Characters of the longest cell.
    point : int
        The byte before decimals.
    comment : int
        The byte at the start of lines that are skipped. 0: no line is.

    Attributes
    ----------
    n_rows : int
    """

    cdef readonly Py_ssize_t n_rows
    cdef Py_ssize_t n, capacity, expected
    cdef uint8_t point, comment
    cdef bint is_filling
    cdef Splitter splitter
    cdef Column* columns
    cdef list values, masks, targets

    def __cinit__(
        self, Py_ssize_t n, uint8_t delimiter, Py_ssize_t limit, uint8_t point=c".", uint8_t comment=0
    ):
        cdef Py_ssize_t i
        if n < 1:
            raise ValueError(f"{n} columns")
        self.n, self.point, self.comment = n, point, comment
        begin_splitting(&self.splitter, delimiter, limit)
        self.columns = <Column*> PyMem_Malloc(n * sizeof(Column))
        if self.columns == NULL:
            raise MemoryError
        memset(self.columns, 0, n * sizeof(Column))
        self.values, self.masks = [bytearray() for _ in range(n)], [None] * n
        for i in range(n):
            self.columns[i].is_held = True

    def __dealloc__(self):
        PyMem_Free(self.columns)

    def column(self, Py_ssize_t i):
        """Return what is known of a column.

        Returns
        -------
        type : str
            The ds type of all cells so far.
        is_missing : bool
            Whether a cell is empty.
        values, mask : bytearray or None
            Its values, 8 bytes each, and 1 for each empty cell; None: they were not kept, or no cell is empty.
        """
        self._check(i)
        cdef Column* column = &self.columns[i]
        cdef str type = "unicode"
        cdef bint is_held = column.is_held
        if not self.n_rows or column.kind == REAL:
            type = "float64"
        elif column.kind == INTEGER and not column.flags & (LARGE | HUGE):
            type = "int64"
        elif column.kind == INTEGER and not column.flags & (NEGATIVE | HUGE):
            type = "uint64"
        else:
            is_held = False
        values, mask = self.values[i], self.masks[i]
        return type, bool(column.flags & EMPTY), values if is_held else None, mask if is_held else None

    def release(self):
        """Keep no values, which reading them again gives."""
        cdef Py_ssize_t i
        for i in range(self.n):
            self.columns[i].is_held = False
            self.values[i], self.masks[i] = bytearray(), None

    def infer(self, data, bint is_last):
        """Take the rows of the next bytes, and return how many bytes they have.

        Parameters
        ----------
        data : C-contiguous buffer
            The bytes behind those that were taken.
        is_last : bool
            Whether the file ends with them.

        Raises
        ------
        Wrong
            If a row is damaged, or a byte is not UTF-8.
        """
        cdef Py_buffer view
        cdef Py_ssize_t i, taken, valid, before = self.n_rows
        cdef const uint8_t* start
        if self.is_filling:
            raise ValueError("the columns have types")
        PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
        try:
            self._reserve(self.n_rows + view.len // self.n + 1)
            start = <const uint8_t*> view.buf
            with nogil:
                taken = self._rows(start, start + view.len, is_last)
                valid = taken if taken <= 0 else utf8_size(start, taken)
                if valid < taken:  # again, to find its column
                    self.splitter.invalid, self.n_rows = start + valid, before
                    taken = self._rows(start, start + view.len, is_last)
            if taken < 0:
                raise _wrong(&self.splitter, start)
        finally:
            PyBuffer_Release(&view)
        if is_last:
            for i in range(self.n):
                if self.columns[i].is_held:
                    PyByteArray_Resize(self.values[i], 8 * self.n_rows)
                    if self.masks[i] is not None:
                        PyByteArray_Resize(self.masks[i], self.n_rows)
        return taken

    def begin(self, list types not None):
        """Take values from the first row on.

        Parameters
        ----------
        types : list of (str or None)
            The ds type of each column, as of `column`; None: it is not wanted.
        """
        cdef Py_ssize_t i
        if len(types) != self.n:
            raise ValueError(f"{len(types)} types, {self.n} columns")
        self.release()
        for i in range(self.n):
            self.columns[i].kind = REAL if types[i] == "float64" else TEXT if types[i] == "unicode" else INTEGER
            self.columns[i].flags = LARGE if types[i] == "uint64" else NEGATIVE
        self.is_filling, self.n_rows = True, 0

    def fill(self, data, bint is_last, list values not None, list masks not None, Py_ssize_t rows):
        """Take the values of the next bytes, and return how many bytes and rows they have.

        Parameters
        ----------
        data, is_last
            As of `infer`.
        values : list of (ndarray or None)
            Where to put the values of each column from the first row of these bytes on: (rows,), of its type, `object`
            for text.
        masks : list of (ndarray or None)
            The same for empty cells: (rows,) bool, filled with False.
        rows : int
            The most rows to take.

        Raises
        ------
        Wrong
            If a row is damaged, or a value is not of its type, or an empty one has no mask.
        """
        cdef Py_buffer view
        cdef Py_ssize_t i, taken
        cdef Column* column
        cdef const uint8_t* start
        if not self.is_filling or len(values) != self.n or len(masks) != self.n:
            raise ValueError("the columns have no types, or there are more or fewer of them")
        for i in range(self.n):
            column = &self.columns[i]
            column.is_held, column.values, column.mask = values[i] is not None, NULL, NULL
            if masks[i] is not None:
                column.mask = <uint8_t*> cnp.PyArray_DATA(self._target(masks[i], rows, cnp.NPY_BOOL))
            if values[i] is None:
                continue
            array = self._target(values[i], rows, cnp.NPY_OBJECT if column.kind == TEXT else cnp.NPY_NOTYPE)
            if column.kind != TEXT:
                column.values = <uint64_t*> cnp.PyArray_DATA(array)
        self.n_rows, self.expected = 0, rows
        PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
        try:
            for i in range(self.n):
                column = &self.columns[i]
                if column.is_held and column.kind == TEXT:
                    column.cells = <Cell*> PyMem_Malloc(rows * sizeof(Cell))
                    if column.cells == NULL:
                        raise MemoryError
            start = <const uint8_t*> view.buf
            with nogil:
                taken = self._rows(start, start + view.len, is_last)
            if taken < 0:
                raise _wrong(&self.splitter, start)
            for i in range(self.n):
                if self.columns[i].cells != NULL:
                    put_texts(self.columns[i].cells, self.n_rows, <PyObject**> cnp.PyArray_DATA(values[i]))
        finally:
            PyBuffer_Release(&view)
            for i in range(self.n):
                PyMem_Free(self.columns[i].cells)
                self.columns[i].cells = NULL
        return taken, self.n_rows

    cdef cnp.ndarray _target(self, object value, Py_ssize_t rows, int type):
        cdef cnp.ndarray array = value
        cdef int found = cnp.PyArray_TYPE(array)
        if type == cnp.NPY_NOTYPE and found in (cnp.NPY_INT64, cnp.NPY_UINT64, cnp.NPY_DOUBLE):
            type = found
        if found != type or not cnp.PyArray_ISCARRAY(array) or cnp.PyArray_SIZE(array) < rows:
            raise ValueError(f"expected a C-contiguous array of {rows} values")
        return array

    cdef int _check(self, Py_ssize_t i) except -1:
        if not 0 <= i < self.n:
            raise IndexError(i)
        return 0

    cdef int _reserve(self, Py_ssize_t rows) except -1:
        """Allocate memory for values of these rows."""
        cdef Py_ssize_t i, before = self.capacity
        cdef Column* column
        if rows > before:
            self.capacity = max(rows, 2 * before)
        for i in range(self.n):
            column = &self.columns[i]
            if not column.is_held:
                continue
            if rows > before:
                PyByteArray_Resize(self.values[i], 8 * self.capacity)
                if self.masks[i] is not None:
                    PyByteArray_Resize(self.masks[i], self.capacity)
                    memset(PyByteArray_AS_STRING(self.masks[i]) + before, 0, self.capacity - before)
            column.values = <uint64_t*> PyByteArray_AS_STRING(self.values[i])
            column.mask = NULL if self.masks[i] is None else <uint8_t*> PyByteArray_AS_STRING(self.masks[i])
        return 0

    cdef Py_ssize_t _rows(self, const uint8_t* start, const uint8_t* end, bint is_last) except? -2 nogil:
        """Take complete rows, and return their bytes; -1 if one is damaged."""
        cdef const uint8_t* p = start
        cdef const uint8_t* row
        cdef Py_ssize_t i
        cdef int found
        cdef Cell cell
        while p < end:
            if self.is_filling and self.n_rows == self.expected:
                break
            row = p
            if (p[0] == 10 or p[0] == 13) and self.n > 1:
                if p[0] == 13 and p + 1 == end and not is_last:
                    break
                p += 2 if p[0] == 13 and p + 1 < end and p[1] == 10 else 1
                continue
            if self.comment and p[0] == self.comment:
                self.splitter.column = 0
                found = skip_line(&self.splitter, &p, end, is_last)
                if found == OPEN:
                    return row - start
                if found == WRONG:
                    return -1
                continue
            for i in range(self.n):
                self.splitter.column = i + 1
                found = next_cell(&self.splitter, &p, end, is_last, &cell)
                if found == OPEN:
                    return row - start
                if found == WRONG:
                    return -1
                if (found == CELL) is (i == self.n - 1):
                    self.splitter.column += found == CELL
                    fail(&self.splitter, COUNT, row)
                    return -1
                if self.is_filling:
                    if self.columns[i].is_held and not self._put(&self.columns[i], &cell):
                        return -1
                else:
                    self._take(i, &cell)
            self.n_rows += 1
        return p - start

    cdef int _take(self, Py_ssize_t i, Cell* cell) except -1 nogil:
        """Learn the type of a column, and keep the value."""
        cdef Column* column = &self.columns[i]
        cdef Number number
        if cell.start == cell.end:
            column.flags |= EMPTY
            if column.is_held:
                if column.mask == NULL:
                    with gil:
                        self.masks[i] = bytearray(self.capacity)
                        column.mask = <uint8_t*> PyByteArray_AS_STRING(self.masks[i])
                column.mask[self.n_rows] = 1
                column.values[self.n_rows] = 0
            return 0
        if column.kind == TEXT:
            return 0
        parse(cell.start, cell.end, self.point, &number)
        if number.kind == TEXT:
            column.kind, column.is_held = TEXT, False
        elif column.kind == INTEGER and number.kind == INTEGER:
            column.flags |= number.flags
            if column.is_held:
                column.values[self.n_rows] = -number.digits if number.flags & NEGATIVE else number.digits
        else:
            if column.kind == INTEGER:
                self._become_real(column)
            if column.is_held:
                if not number.is_sure:
                    with gil:
                        number.real = parse_by_python(cell.start, cell.end, self.point)
                    column.is_held = not isinf(number.real)  # a fault, unless text follows
                memcpy(&column.values[self.n_rows], &number.real, 8)
        return 0

    cdef void _become_real(self, Column* column) noexcept nogil:
        """Convert the integers of a column, or do not keep them if only their text tells which floats they are."""
        cdef Py_ssize_t i
        cdef double real
        column.kind = REAL
        if column.flags & (LARGE | HUGE | INEXACT):
            column.is_held = False
        if column.is_held:
            for i in range(self.n_rows):
                real = <double> <int64_t> column.values[i]
                memcpy(&column.values[i], &real, 8)

    cdef bint _put(self, Column* column, Cell* cell) except -1 nogil:
        """Put a value into its array. Return False for a fault."""
        cdef Number number
        if cell.start == cell.end:
            if column.mask == NULL:
                fail(&self.splitter, TYPE, cell.start)
                return False
            column.mask[self.n_rows] = 1
            if column.kind != TEXT:
                column.values[self.n_rows] = 0
                return True
        if column.kind == TEXT:
            column.cells[self.n_rows] = cell[0]
            return True
        parse(cell.start, cell.end, self.point, &number)
        if (
            number.kind == TEXT or (column.kind == INTEGER and number.kind == REAL)
            or (column.kind == INTEGER and number.flags & (HUGE | (NEGATIVE | LARGE) & ~column.flags))
        ):
            fail(&self.splitter, TYPE, cell.start)
            return False
        if column.kind == INTEGER:
            column.values[self.n_rows] = -number.digits if number.flags & NEGATIVE else number.digits
            return True
        if not number.is_sure:
            with gil:
                number.real = parse_by_python(cell.start, cell.end, self.point)
            if isinf(number.real):
                fail(&self.splitter, RANGE, cell.start)
                return False
        memcpy(&column.values[self.n_rows], &number.real, 8)
        return True


cdef object _wrong(const Splitter* splitter, const uint8_t* start):
    return Wrong(FAULTS[splitter.fault], splitter.column, splitter.at - start)


def first_row(data, uint8_t delimiter, Py_ssize_t limit, bint is_last):
    """Return the cells of the first row, and its bytes; None if the data end before it does.

    Parameters
    ----------
    data : C-contiguous buffer
    delimiter : int
        The byte between two cells.
    limit : int
        Characters of the longest cell.
    is_last : bool
        Whether the file ends with these bytes.

    Raises
    ------
    Wrong
        If it is damaged, or a byte is not UTF-8.
    """
    cdef Py_buffer view
    cdef Splitter splitter
    cdef const uint8_t* p
    cdef const uint8_t* end
    cdef Cell cell
    cdef Py_ssize_t valid
    cdef bytes text
    cdef list cells = []
    begin_splitting(&splitter, delimiter, limit)
    PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
    try:
        p = <const uint8_t*> view.buf
        end = p + view.len
        while True:
            splitter.column = len(cells) + 1
            found = next_cell(&splitter, &p, end, is_last, &cell)
            if found == OPEN:
                return None
            valid = utf8_size(cell.start, cell.end - cell.start) if found != WRONG else 0
            if found != WRONG and valid < cell.end - cell.start:
                found = fail(&splitter, ENCODING, cell.start + valid)
            if found == WRONG:
                raise _wrong(&splitter, <const uint8_t*> view.buf)
            text = (<const char*> cell.start)[:cell.end - cell.start]
            cells.append((text.replace(b'""', b'"') if cell.is_escaped else text).decode())
            if found == ROW:
                return cells, p - <const uint8_t*> view.buf
    finally:
        PyBuffer_Release(&view)
