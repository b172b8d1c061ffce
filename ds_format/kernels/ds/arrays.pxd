"""Numbers as arrays: what other kernels need of it."""

from ..header.header cimport Header


cpdef list put_numbers(Header header, list dtypes, data, Py_ssize_t body, bint share, out, keys)
