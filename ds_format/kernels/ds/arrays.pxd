"""Numbers as arrays: what other kernels need of it."""

from .header cimport Header


cpdef list put_numbers(Header header, list dtypes, data, bint share, out, keys)
