"""The header of a classic file → its content, in one pass.

This does the same as `classic.format` and `classic.header` for usual headers. Wrong and unusual ones are left to these
modules: functions here raise EOFError, and `Parser.parse` returns None.

NumPy is imported for the first array or scalar that is made, so that a header can be listed without it.
"""

cimport cython
from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer, Py_buffer
from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.dict cimport PyDict_Copy, PyDict_SetItem, PyDict_Size
from cpython.ref cimport Py_INCREF
from cpython.tuple cimport PyTuple_New, PyTuple_SET_ITEM
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcmp

from ..common.numbers cimport dtype_of, is_numpy_array, made_numbers, numpy_numbers
from ..common.words cimport LITTLE_HOST, big_endian

cdef extern from *:
    """
    #define DS_MAX_SIZE ((uint64_t) 1 << 61)
    """
    const uint64_t MAX_SIZE "DS_MAX_SIZE"  # bytes; sums of such sizes do not overflow, and no file is as large

cdef enum:
    MAX_NAME = 255  # bytes
    MAX_RANK = 64  # dimensions of an array
    N_TYPES = 12
    NC_CHAR = 2
    NC_DIMENSION = 10
    NC_VARIABLE = 11
    NC_ATTRIBUTE = 12
    MAX_IDLE = 8  # lists of sections that are kept while no call uses them
    MAX_REMEMBERED = 256  # variables of a header that are remembered
    MAX_REMEMBERED_SIZE = 8192  # bytes of a variable that is remembered


cdef struct Items:
    const uint8_t* start  # of the file
    const uint8_t* p
    const uint8_t* end  # of the bytes in memory
    uint64_t file_size
    uint64_t needed  # bytes from the start that are necessary, if more than those in memory; else 0
    int width  # bytes of counts and sizes


cdef inline const uint8_t* take(Items* c, uint64_t size) except NULL:
    """Return a pointer to the next `size` bytes, and advance."""
    cdef const uint8_t* start = c.p
    cdef uint64_t end
    if size > <uint64_t> (c.end - c.p):
        end = <uint64_t> (c.p - c.start) + size
        if size <= end <= c.file_size:
            c.needed = end
        raise EOFError
    c.p += size
    return start


cdef inline uint64_t number(Items* c, int width) except? 0xFFFFFFFFFFFFFFFF:
    """Read a number."""
    return big_endian(take(c, width), width)


cdef inline uint64_t count(Items* c, uint64_t item_size) except? 0xFFFFFFFFFFFFFFFF:
    """Read a count of items of at least `item_size` bytes each."""
    cdef uint64_t n = number(c, c.width)
    if n > (c.file_size - <uint64_t> (c.p - c.start)) // item_size:
        raise EOFError
    return n


cdef inline size_t capacity(const Items* c, uint64_t n, uint64_t item_size) noexcept:
    """Return how many of `n` items can be in the bytes in memory, plus one, so that it is never 0.

    Memory is allocated for this number of items. Reading stops at the end of the bytes, before another item.
    """
    return <size_t> min(n, <uint64_t> (c.end - c.p) // item_size) + 1


cdef inline uint64_t listed(Items* c, uint32_t tag, uint64_t item_size) except? 0xFFFFFFFFFFFFFFFF:
    """Read tag and count of a list."""
    cdef uint64_t actual = number(c, 4), n = count(c, item_size)
    if actual != tag and (actual or n):
        raise EOFError
    return n


cdef inline const uint8_t* padded(Items* c, uint64_t size) except NULL:
    """Return a pointer to the next `size` bytes, and advance to the next multiple of 4."""
    return take(c, (size + 3) & ~<uint64_t> 3)


cdef inline str name(Items* c):
    """Read a name, which must be ASCII."""
    cdef uint64_t n = count(c, 1), i
    cdef const uint8_t* text
    cdef uint8_t seen = 0
    cdef bint is_wrong = n == 0 or n > MAX_NAME
    if is_wrong:
        raise EOFError
    text = padded(c, n)
    for i in range(n):
        seen |= text[i]
        is_wrong |= text[i] == 0 or text[i] == c"/"
    if is_wrong or seen & 0x80:
        raise EOFError
    return PyUnicode_DecodeUTF8(<const char*> text, <Py_ssize_t> n, NULL)


cdef inline uint32_t type_number(Items* c) except 0:
    """Read the number of a type."""
    cdef uint64_t type_ = number(c, 4)
    if not 0 < type_ < N_TYPES:
        raise EOFError
    return <uint32_t> type_


cdef struct Extent:
    uint64_t begin
    uint64_t size  # bytes of a variable, or of one record of a record variable
    bint is_record


cdef inline uint64_t check_extents(
    const Extent* extents, uint64_t n, uint64_t n_records, uint64_t header_end
) except? 0:
    """Return the bytes of a record, after a check that variables are in file order and do not overlap."""
    cdef uint64_t i, step = 0, n_variables = 0, end = header_end, first = 0, last = 0
    cdef const Extent* extent
    for i in range(n):
        extent = &extents[i]
        if extent.is_record:
            n_variables += 1
            step += (extent.size + 3) & ~<uint64_t> 3
            last = extent.size
        else:
            if extent.begin < end:
                raise EOFError
            end = extent.begin + extent.size
        if step > MAX_SIZE or end > MAX_SIZE:
            raise EOFError
    if n_variables == 1:
        step = last
    if n_records == 0:
        return step
    for i in range(n):
        extent = &extents[i]
        if extent.is_record:
            if extent.begin < end:
                raise EOFError
            if first == 0:
                first = extent.begin
            end = extent.begin + extent.size
            if end > first + step:
                raise EOFError
    return step


@cython.final
cdef class Section:
    """The bytes of a variable in a header, from its name to its type, which the next file often repeats."""

    cdef bytes raw
    cdef str title
    cdef tuple dims
    cdef dict attributes
    cdef uint32_t type

    cdef bint follows(self, Items* c) noexcept:
        """Return whether the next bytes of the header equal these, and step over them if so."""
        cdef Py_ssize_t size = len(self.raw)
        if size > c.end - c.p or memcmp(c.p, <const char*> self.raw, size):
            return False
        c.p += size
        return True


cdef dict copied(dict attributes):
    """Return a copy of attributes, arrays included."""
    cdef dict found = PyDict_Copy(attributes)
    for title, value in attributes.items():
        if is_numpy_array(value):
            found[title] = value.copy()
    return found


@cython.final
cdef class Parser:
    """Reads headers, and remembers variables of earlier headers.

    A call takes a list of remembered sections from those that no other call uses, so that it is thread-safe.

    Parameters
    ----------
    dimension, variable, header : type
        Types of the named tuples in the result; see `classic.header`.
    formats : dict
        Version → name of the format.
    codes : tuple of str
        NumPy kind and bytes of a value, by the number of the type.
    numbers : callable, optional
        Makes the numbers of an attribute from a number of Python or a list of them, and the code of one. By default,
        they are a scalar or an array of NumPy.
    """

    cdef type dimension, variable, header
    cdef list narrow, wide
    cdef dict formats
    cdef tuple codes
    cdef list dtypes  # None: was not needed yet
    cdef int sizes[16]
    cdef object numbers

    def __init__(
        self, type dimension not None, type variable not None, type header not None, dict formats not None,
        tuple codes not None, numbers=None
    ):
        self.dimension, self.variable, self.header = dimension, variable, header
        self.formats, self.codes, self.numbers = formats, codes, numbers
        self.narrow, self.wide = [], []
        self.dtypes = [None] * len(codes)
        for i, code in enumerate(codes):
            self.sizes[i] = int(code[1:] or 1)

    def parse(self, data, uint64_t file_size, bint share=False):
        """Read a header.

        Parameters
        ----------
        data : C-contiguous buffer
            The first bytes of the file.
        file_size : int
            Bytes of the whole file.
        share : bool
            Whether attributes may be the same objects as those of an equal variable in an earlier header. Then you
            must not change them.

        Returns
        -------
        Header, int or None
            An int: the minimum number of bytes, from the start of the file, that is necessary. None: the header is
            wrong or unusual.
        """
        cdef Items c
        cdef Py_buffer view
        cdef uint64_t* lengths = NULL
        cdef Extent* extents = NULL
        cdef list idle, memory
        PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
        # the same bytes mean something else with another width of numbers
        idle = self.wide if view.len > 3 and (<const uint8_t*> view.buf)[3] == 5 else self.narrow
        try:
            memory = <list> idle.pop()
        except IndexError:
            memory = []
        try:
            c.start = c.p = <const uint8_t*> view.buf
            c.end = c.p + min(<uint64_t> view.len, file_size)
            c.file_size, c.needed = file_size, 0
            return self._header(&c, &lengths, &extents, memory, share)
        except EOFError:
            return c.needed or None
        finally:
            if len(idle) < MAX_IDLE:
                idle.append(memory)
            free(lengths)
            free(extents)
            PyBuffer_Release(&view)

    cdef object _header(self, Items* c, uint64_t** lengths, Extent** extents, list memory, bint share):
        cdef const uint8_t* magic = take(c, 4)
        cdef uint64_t n_records, n_dimensions, n, i, step
        cdef list dimensions, sections = [], variables = []
        # one dict for each header: callers take variables with the same object of attributes for equal ones
        cdef dict nothing = {}
        cdef Section section
        if magic[0] != c"C" or magic[1] != c"D" or magic[2] != c"F" or magic[3] not in (1, 2, 5):
            raise EOFError
        c.width = 8 if magic[3] == 5 else 4
        n_records = number(c, c.width)
        if n_records > MAX_SIZE or (c.width == 4 and n_records == 0xFFFFFFFF):
            raise EOFError
        n_dimensions = listed(c, NC_DIMENSION, 2 * c.width)
        lengths[0] = <uint64_t*> malloc(capacity(c, n_dimensions, 2 * c.width) * sizeof(uint64_t))
        if lengths[0] == NULL:
            raise MemoryError
        dimensions = self._dimensions(c, n_dimensions, lengths[0], n_records)
        attributes = self._attributes(c)
        n = listed(c, NC_VARIABLE, 4 * c.width + 8)
        extents[0] = <Extent*> malloc(capacity(c, n, 4 * c.width + 8) * sizeof(Extent))
        if extents[0] == NULL:
            raise MemoryError
        for i in range(n):
            section = self._section(c, <Section> memory[i] if i < <uint64_t> len(memory) else None, c.width)
            self._extent(c, section, n_dimensions, lengths[0], &extents[0][i], 4 if magic[3] == 1 else 8)
            sections.append(section)
            if i == <uint64_t> len(memory) and i < MAX_REMEMBERED:
                memory.append(None)
            if i < MAX_REMEMBERED and len(section.raw) <= MAX_REMEMBERED_SIZE:
                memory[i] = section
            elif i >= MAX_REMEMBERED:
                section.raw = None
                if share and not section.attributes:
                    section.attributes = nothing
        step = check_extents(extents[0], n, n_records, <uint64_t> (c.p - c.start))
        names = set()
        for i in range(n):
            section = <Section> sections[i]
            names.add(section.title)
            variables.append(self._variable(section, dimensions, &extents[0][i], step, share))
            sections[i] = None  # sections of a large header take as much memory as its variables
        if <uint64_t> len(names) != n:
            raise EOFError
        fields = self.formats[magic[3]], tuple(dimensions), attributes, tuple(variables), c.p - c.start
        return tuple.__new__(self.header, fields)

    cdef dict _attributes(self, Items* c):
        cdef uint64_t n = listed(c, NC_ATTRIBUTE, 2 * c.width + 4), _
        cdef dict found = {}
        cdef str title
        for _ in range(n):
            title = name(c)
            PyDict_SetItem(found, title, self._value(c))
        if <uint64_t> PyDict_Size(found) != n:
            raise EOFError
        return found

    cdef object _value(self, Items* c):
        """Read type, count and values of an attribute."""
        cdef uint32_t type_ = type_number(c)
        cdef int size = self.sizes[type_]
        cdef uint64_t n = count(c, size)
        cdef const uint8_t* raw = padded(c, n * size)
        if type_ == NC_CHAR:
            while n and raw[n - 1] == 0:
                n -= 1
            return PyUnicode_DecodeUTF8(<const char*> raw, <Py_ssize_t> n, b"surrogateescape")
        if self.numbers is not None:
            return made_numbers(raw, <Py_ssize_t> n, n == 1, self.codes[type_], LITTLE_HOST, self.numbers)
        dtype = self.dtypes[type_]
        if dtype is None:
            dtype = self.dtypes[type_] = dtype_of(self.codes[type_])
        return numpy_numbers(raw, <Py_ssize_t> n, n == 1, dtype, size, LITTLE_HOST)

    cdef Section _section(self, Items* c, Section remembered, int width):
        """Read a variable up to its type. Return the remembered section, which may be None, if its bytes are equal."""
        cdef const uint8_t* start = c.p
        cdef Section section
        cdef uint64_t rank, i
        cdef object one
        if remembered is not None and remembered.follows(c):
            return remembered
        section = Section.__new__(Section)
        section.title = name(c)
        rank = count(c, width)
        if rank > MAX_RANK:
            raise EOFError
        section.dims = PyTuple_New(<Py_ssize_t> rank)
        for i in range(rank):
            one = number(c, width)
            Py_INCREF(one)
            PyTuple_SET_ITEM(section.dims, i, one)
        section.attributes = self._attributes(c)
        section.type = type_number(c)
        section.raw = PyBytes_FromStringAndSize(<const char*> start, c.p - start)
        return section

    cdef list _dimensions(self, Items* c, uint64_t n, uint64_t* lengths, uint64_t n_records):
        cdef list dimensions = []
        cdef set names = set()
        cdef uint64_t i
        cdef bint has_record = False
        for i in range(n):
            title = name(c)
            names.add(title)
            lengths[i] = number(c, c.width)
            if lengths[i] > MAX_SIZE or (has_record and lengths[i] == 0):
                raise EOFError
            has_record |= lengths[i] == 0
            dimensions.append(tuple.__new__(self.dimension, (title, lengths[i] or n_records, lengths[i] == 0)))
        if <uint64_t> len(names) != n:
            raise EOFError
        return dimensions

    cdef int _extent(self, Items* c, Section section, uint64_t n_dimensions, const uint64_t* lengths, Extent* extent,
                     int begin_width) except -1:
        """Compute the size of a variable, and read its `begin`."""
        cdef uint64_t dim, i = 0
        extent.size = self.sizes[section.type]
        extent.is_record = False
        for one in section.dims:
            dim = one
            if dim >= n_dimensions or (i and lengths[dim] == 0):
                raise EOFError
            if lengths[dim] == 0:
                extent.is_record = True
            elif extent.size > MAX_SIZE // lengths[dim]:
                raise EOFError
            else:
                extent.size *= lengths[dim]
            i += 1
        take(c, c.width)  # vsize
        extent.begin = number(c, begin_width)
        if extent.begin > MAX_SIZE:
            raise EOFError
        return 0

    cdef object _variable(self, Section section, list dimensions, const Extent* extent, uint64_t step, bint share):
        cdef tuple dims = section.dims
        cdef Py_ssize_t rank = len(dims), i
        cdef tuple shape = PyTuple_New(rank)
        cdef object length
        for i in range(rank):
            length = (<tuple> dimensions[dims[i]])[1]
            Py_INCREF(length)
            PyTuple_SET_ITEM(shape, i, length)
        attributes = section.attributes if share else copied(section.attributes)
        code = self.codes[section.type]
        step = step if extent.is_record else 0
        return tuple.__new__(self.variable, (section.title, dims, attributes, code, shape, extent.begin, step))
