"""What the header of a ds file says of each variable, for those who decode it."""

from cpython.mem cimport PyMem_Free, PyMem_Realloc
from libc.stdint cimport int64_t
from libc.string cimport memcpy

from ..json.strings import Unusual

cdef enum:
    MOST_DIMS = 32


cdef class Header:
    """What a header says of each variable, and what of it who reads numbers has to look at; `is_plain`: nothing."""

    @property
    def is_plain(self):
        return self.flags == 0

    @property
    def is_doubtful(self):
        return self.flags & DOUBTFUL != 0

    @property
    def has_dtypes(self):
        return self.flags & DTYPES != 0

    @property
    def may_be_packed(self):
        return self.flags & PACKED != 0

    def __cinit__(self):
        self.variables, self.room_for_variables = self.few_variables, FEW
        self.sizes, self.room_for_sizes = self.few_sizes, FEW

    def __dealloc__(self):
        if self.variables != self.few_variables:
            PyMem_Free(self.variables)
        if self.sizes != self.few_sizes:
            PyMem_Free(self.sizes)

    def variable(self, Py_ssize_t i):
        """Return type (its number; -1: none), size, offset, length, whether big-endian, whether values are missing."""
        if not 0 <= i < len(self.keys):
            raise IndexError
        cdef Variable* var = &self.variables[i]
        size = None if var.ndim < 0 else tuple([self.sizes[var.first + k] for k in range(var.ndim)])
        return var.type, size, var.offset, var.length, var.big, var.missing

    def missing(self):
        """Return of each variable whether values may be missing."""
        return [self.variables[i].missing for i in range(len(self.keys))]

    cdef Variable* place_of(self, Py_ssize_t i) except NULL:
        """Return the place of the next variable."""
        if i == self.room_for_variables:
            self.variables = <Variable*> _grown(self.variables, self.few_variables, i * sizeof(Variable))
            self.room_for_variables *= 2
        return &self.variables[i]

    cdef int add_size(self, Variable* var, int64_t count) except -1:
        if var.ndim == MOST_DIMS:
            raise Unusual
        if self.n_sizes == self.room_for_sizes:
            self.sizes = <Py_ssize_t*> _grown(self.sizes, self.few_sizes, self.n_sizes * sizeof(Py_ssize_t))
            self.room_for_sizes *= 2
        self.sizes[self.n_sizes] = count
        self.n_sizes += 1
        var.ndim += 1
        return 0


cdef void* _grown(void* old, void* few, size_t size) except NULL:
    """Return twice the room of what is full, with what is in it; `few` was not allocated."""
    cdef void* room = PyMem_Realloc(NULL if old == few else old, 2 * size)
    if room == NULL:
        raise MemoryError
    if old == few:
        memcpy(room, few, size)
    return room
