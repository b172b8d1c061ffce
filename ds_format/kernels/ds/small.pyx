"""Small files of plain numbers → datasets, in one call; whatever else there is, is left to others."""

from cpython.object cimport PyObject_SetItem

from ..header.header cimport DOUBTFUL, Header
from ..header.parser cimport Parser
from .arrays cimport put_numbers


cdef class Reader:
    """Reads small files.

    Parameters
    ----------
    parser : Parser
    typed : callable
        As of `Parser.parse`.
    dtypes : list of dtype or None
        By the number of their type; None: no numbers.
    read_file : callable
        Path and limit in bytes → the bytes of the file, a writable buffer; or None if there are more.
    limit : int
        Bytes of the largest file that is read.
    """

    cdef Parser parser
    cdef object typed
    cdef list dtypes
    cdef object read_file
    cdef object limit

    def __init__(self, Parser parser not None, typed, list dtypes not None, read_file, limit):
        self.parser = parser
        self.typed = typed
        self.dtypes = dtypes
        self.read_file = read_file
        self.limit = limit

    def read(self, path, out, keys, bint full):
        """Read a file into a dataset; parameters and result as of `fill`, but for (None, None, None): it is too large.

        Raises
        ------
        OSError
            As the system says.
        """
        data = self.read_file(path, self.limit)
        return (None, None, None) if data is None else self.fill(data, out, keys, full)

    cpdef tuple fill(self, bytearray data, out, keys, bint full):
        """Put the variables of a file into a dataset.

        Parameters
        ----------
        data : bytearray
            The whole file.
        out : dict
            Where to. Arrays are views of the bytes if all variables are wanted.
        keys : collection of str or None
            Which variables; None: all.
        full : bool
            Whether the metadata of the others are wanted, too.

        Returns
        -------
        None, or (buffer, (Header, dict) or None, list of str or None)
            None: all is done. Else the bytes; what `Parser.parse` said of them; and the variables that are still to be
            decoded, None: all. Metadata are put into the dataset by whoever does that.
        """
        cdef tuple found = self.parser.parse(data, None if full else keys, self.typed)
        cdef Header header
        cdef Py_ssize_t body
        if found is None:
            return data, None, None
        header = <Header> found[0]
        if header.flags & DOUBTFUL:
            return data, found, None
        body, block = header.body, data
        if keys is None and body > len(data) - body:
            body, block = 0, data[body:]  # arrays keep what they are views of: not more of the header than of values
        left = put_numbers(header, self.dtypes, block, body, keys is None, out, keys)
        if header.flags or left:
            return data, found, left
        PyObject_SetItem(out, ".", found[1])
        return None
