"""What is remembered of headers: what other kernels need of it."""

from libc.stdint cimport uint8_t, uint64_t

from ..json.decode cimport Text
from .header cimport Header, Known, Variable

cdef enum:
    MOST_ENTRIES = 64  # of a header, from the first on, that are remembered
    MOST_MEMBERS = 48  # of an entry that is remembered
    MOST_DIMS = 8      # of the variable


cdef struct Member:
    int which         # of the properties that say how a variable is stored; 0: another
    Py_ssize_t start  # of its name, in the text of the entry
    Py_ssize_t stop   # behind its value
    uint64_t other    # a hash of what stood in its place at last


cdef class Original:
    cdef dict meta
    cdef list lists  # names and values of the lists that have nothing in them that could be changed
    cdef list deep   # of the other values that could be changed in place
    cpdef dict copy(self)


cdef class Template:
    cdef readonly str key
    cdef uint8_t* text    # from the name of the entry to behind its last brace
    cdef Py_ssize_t size
    cdef Member[MOST_MEMBERS] members
    cdef int n
    cdef list names       # of members; None: one that says how the variable is stored
    cdef Original meta
    cdef Original typed   # the same with types of NumPy, once somebody wanted them
    cdef Variable var
    cdef Py_ssize_t[MOST_DIMS] sizes
    cdef bint is_stale    # some member was another one, twice the same
    cdef int add(self, int which, str name, Py_ssize_t start, Py_ssize_t stop) except -1
    cdef bint fill(
        self, const uint8_t* text, Py_ssize_t size, str key, dict meta, Header header, Variable* var
    ) except -1
    cdef dict copy(self, object typed)
    cdef int put(self, Header header, Variable* var) except -1
    cdef bint is_next(self, Text* t) noexcept
    cdef dict follow(self, Text* t, Known known, Header header, Variable* var, bint is_wanted)


cdef class Memory:
    cdef Known known
    cdef list templates
    cdef bint[MOST_ENTRIES] refused  # whether the last entry was quite another one
    cdef str take_entry(
        self, Text* t, Py_ssize_t place, Header header, Variable* var, object wanted, object typed, dict out
    )
    cdef str _read(self, Text* t, Header header, Variable* var, Template template, dict meta)
