"""The central directory of a ZIP archive, and the local headers of its members. Nothing in here reads a file.

Source: PKWARE's APPNOTE.TXT 6.3, sections 4.3 and 4.4.
"""

from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.stdint cimport int64_t, uint8_t, uint32_t
from libc.string cimport memcmp

from ..common.words cimport LITTLE_HOST, load_u64

cdef enum:
    ENTRY_SIZE = 46   # bytes of an entry without name, extra field and comment
    LOCAL_SIZE = 30   # bytes of a local header without name and extra field
    LARGE = 0xFFFFFFFF  # a number that is in the extra field of ZIP64
    ZIP64 = 1
    ENCRYPTED = 0x2041  # flags: encrypted, strongly encrypted, local header masked
    PATCHED = 0x20
    LATE = 8  # flag: checksum and sizes follow the data, and may be 0 in the local header
    UNIX_LINK = 0xA000

cdef enum:  # faults of a member
    NONE
    FOLDER
    NAME
    METHOD
    FLAGS
    SIZES
    KIND

cdef enum:  # differences of a local header from the directory
    SHORT = 1
    MAGIC
    HEADER
    OVERLAP


cdef inline uint32_t _u16(const uint8_t* p) noexcept nogil:
    return p[0] | <uint32_t> p[1] << 8


cdef inline uint32_t _u32(const uint8_t* p) noexcept nogil:
    return _u16(p) | _u16(p + 2) << 16


cdef bint _is_safe(const uint8_t* name, Py_ssize_t size) noexcept nogil:
    """Return whether a name stays inside of a folder: no empty parts, no `.` and `..`, no drive, no backslash."""
    cdef Py_ssize_t i, part = 0
    if size > 1 and name[1] == b":":
        return False
    for i in range(size + 1):
        if i == size or name[i] == b"/":
            if i == part and not (i == size and i > 0):
                return False
            if i > part and name[part] == b"." and (i - part == 1 or (i - part == 2 and name[part + 1] == b".")):
                return False
            part = i + 1
        elif name[i] == b"\\" or name[i] == 0:
            return False
    return True


cdef int64_t _large(const uint8_t* extra, Py_ssize_t size, Py_ssize_t skipped) noexcept nogil:
    """Return a number of 8 bytes in the extra field of ZIP64, after `skipped` bytes; -1 if there is none."""
    cdef Py_ssize_t n
    while size >= 4:
        n = _u16(extra + 2)
        if n > size - 4:
            return -1
        if _u16(extra) == ZIP64:
            return <int64_t> load_u64(extra + 4 + skipped, not LITTLE_HOST) if skipped + 8 <= n else -1
        extra += 4 + n
        size -= 4 + n
    return -1


cdef void _fill(const uint8_t* entry, int64_t* row) noexcept nogil:
    """Fill a row, except position and end, from an entry that is complete."""
    cdef Py_ssize_t name = _u16(entry + 28), extra = _u16(entry + 30), skipped = 0
    cdef const uint8_t* fields = entry + ENTRY_SIZE + name
    cdef int64_t size = _u32(entry + 24), stored = _u32(entry + 20), offset = _u32(entry + 42)
    if size == LARGE:
        size = _large(fields, extra, skipped)
        skipped += 8
    if stored == LARGE:
        stored = _large(fields, extra, skipped)
        skipped += 8
    if offset == LARGE:
        offset = _large(fields, extra, skipped)
    row[OFFSET], row[SIZE], row[CRC] = offset, stored, _u32(entry + 16)
    if not _is_safe(entry + ENTRY_SIZE, name):
        row[FAULT] = NAME
    elif _u16(entry + 8) & (ENCRYPTED | PATCHED):
        row[FAULT] = FLAGS
    elif _u16(entry + 10) != 0:
        row[FAULT] = METHOD
    elif size != stored or size < 0 or _u16(entry + 34) != 0:
        row[FAULT] = SIZES
    elif entry[ENTRY_SIZE + name - 1] == b"/":
        row[FAULT] = FOLDER if size == 0 else SIZES
    elif entry[5] == 3 and (_u32(entry + 38) >> 16 & 0xF000) == UNIX_LINK:
        row[FAULT] = KIND
    else:
        row[FAULT] = NONE


cdef Py_ssize_t _parse(const uint8_t* data, Py_ssize_t size, int64_t* rows, Py_ssize_t n) noexcept nogil:
    """Fill a row for each entry. Return the number of bytes of all entries, or -1 if one is not complete."""
    cdef Py_ssize_t at = 0, end
    for _ in range(n):
        if size - at < ENTRY_SIZE or memcmp(data + at, b"PK\x01\x02", 4) != 0:
            return -1
        end = at + ENTRY_SIZE + _u16(data + at + 28) + _u16(data + at + 30) + _u16(data + at + 32)
        if end > size:
            return -1
        rows[ENTRY] = at
        _fill(data + at, rows)
        rows += N_COLUMNS
        at = end
    return at


cdef int64_t data_start(
    const uint8_t* directory, Py_ssize_t directory_size, const int64_t* row, const uint8_t* data, Py_ssize_t size
) noexcept nogil:
    """Return the position of the data after a local header, or the negative of a difference from the directory."""
    cdef const uint8_t* entry = directory + row[ENTRY]
    cdef int64_t name, start
    cdef uint32_t flags, expected, i
    if row[ENTRY] < 0 or row[ENTRY] > directory_size - ENTRY_SIZE or size < LOCAL_SIZE:
        return -SHORT
    name = _u16(entry + 28)
    if name > directory_size - row[ENTRY] - ENTRY_SIZE or size < LOCAL_SIZE + name:
        return -SHORT
    if memcmp(data, b"PK\x03\x04", 4) != 0:
        return -MAGIC
    flags = _u16(data + 6)
    if _u16(data + 26) != name or memcmp(data + LOCAL_SIZE, entry + ENTRY_SIZE, name) != 0:
        return -HEADER
    if _u16(data + 8) != _u16(entry + 10) or (flags ^ _u16(entry + 8)) & (ENCRYPTED | PATCHED | LATE):
        return -HEADER
    if not flags & LATE:
        expected = <uint32_t> min(row[SIZE], <int64_t> LARGE)
        if _u32(data + 14) != row[CRC]:
            return -HEADER
        for i in range(18, 26, 4):
            if _u32(data + i) != expected and _u32(data + i) != LARGE:
                return -HEADER
    start = LOCAL_SIZE + name + _u16(data + 28)
    return start if row[SIZE] <= row[END] - row[OFFSET] - start else -OVERLAP


def read_directory(const uint8_t[::1] data not None, int64_t[:, ::1] rows not None, dict names not None):
    """Read the entries of a directory.

    Parameters
    ----------
    data : (N,) buffer of bytes
        The directory.
    rows : (n, 6) int64
        Output for n entries: position of the entry in the directory, offset of the local header in the file, size in
        bytes, CRC-32, a column that is not changed, and a fault. 0: none; 1: it is a folder; 2: unsafe name; 3: method
        of compression; 4: encrypted or patched; 5: sizes, or the number of the disk; 6: a link.
    names : dict
        Output: name → number of the entry, without folders and unsafe names.

    Returns
    -------
    int
        Bytes of these entries, or -1 if one is damaged.

    Raises
    ------
    ValueError
        If `rows` does not have six columns.
    """
    cdef Py_ssize_t i, n = rows.shape[0], used
    cdef const uint8_t* first = &data[0] if data.shape[0] else NULL
    cdef const char* name
    cdef Py_ssize_t size
    if rows.shape[1] != N_COLUMNS:
        raise ValueError(f"{rows.shape[1]} columns, expected {<int> N_COLUMNS}")
    if n == 0:
        return 0
    with nogil:
        used = _parse(first, data.shape[0], &rows[0, 0], n)
    for i in range(n if used >= 0 else 0):
        if rows[i, FAULT] == FOLDER or rows[i, FAULT] == NAME:
            continue
        name = <const char*> first + rows[i, ENTRY] + ENTRY_SIZE
        size = _u16(first + rows[i, ENTRY] + 28)
        try:
            text = PyUnicode_DecodeUTF8(name, size, NULL)
        except UnicodeDecodeError:
            text = name[:size].decode("cp437")
        names[text] = i
    return used


def find_data(
    const uint8_t[::1] directory not None, const int64_t[:, ::1] rows not None, Py_ssize_t i, data not None
):
    """Return the position of the data of a member in a buffer that begins with its local header.

    Parameters
    ----------
    directory : (N,) buffer of bytes
    rows : (n, 6) int64
        As `read_directory` fills it; the fifth column has the end of the bytes that the member may have.
    i : int
        Number of the member.
    data : buffer of bytes

    Returns
    -------
    int
        Negative: the buffer is shorter than the header (-1), has none (-2), it contradicts the directory (-3), or the
        data do not end before the next member (-4).

    Raises
    ------
    IndexError
        If there is no such member.
    """
    cdef const uint8_t[::1] bytes_ = data
    if rows.shape[1] != N_COLUMNS or not 0 <= i < rows.shape[0]:
        raise IndexError(i)
    if bytes_.shape[0] == 0 or directory.shape[0] == 0:
        return -SHORT
    return data_start(&directory[0], directory.shape[0], &rows[i, 0], &bytes_[0], bytes_.shape[0])
