"""Objects → the bytes of an HDF5 file, in one pass: headers, values, collections of strings and references."""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.mem cimport PyMem_RawFree
from libc.stdint cimport int64_t, uint8_t, uint64_t
from libc.string cimport memcpy, memset

from ..common.output cimport Output, put_bytes
from .chunk_trees cimport put_chunks, put_tree
from .composed cimport (
    File,
    align,
    close_collection,
    load,
    new_object,
    note,
    put,
    put_strings,
    put_text,
    put_values,
    put_zeros,
    store,
)
from .known cimport UNDEFINED
from .lookup3 cimport lookup3

cdef enum:
    MAX_MESSAGE = 65535  # bytes of a message, and of a name or an attribute in it
    HEADER_FLAGS = 0x0E  # 4 bytes of size, attributes tracked and indexed by creation
    ATTRIBUTES_BY_ORDER = 3  # creation order is tracked and indexed
    DATASPACE = 1
    LINK_INFO = 2
    LINK = 6
    LAYOUT = 8
    GROUP_INFO = 10
    ATTRIBUTE = 12
    TREE_SIZES = 0x13
    ATTRIBUTE_INFO = 0x15
    USUAL_TREE = 32  # half the chunks that a node lists (HDF5_BTREE_CHUNK_IK_DEF)
    SUPERBLOCK_SIZE = 48
    TEXT = 0x13  # class and version of text of fixed length

cdef bytes SCALAR = b"\2\0\0\0", NONE = b"\2\0\0\2"  # dataspaces of one value and of none
cdef bytes DIMENSION_LIST = bytes.fromhex("1900000010000000 1700000008000000")  # sequences of references to objects
cdef bytes REFERENCE_LIST = bytes.fromhex(  # compounds of 16 bytes: a reference, and the number of an axis
    "3602000010000000 6461746173657400 00 1700000008000000 64696d656e73696f6e00 08 100000000400000000002000")


cdef inline tuple _record(object value, Py_ssize_t n):
    """Return a named tuple of n items, which the type `tuple` of Cython does not cover."""
    if not isinstance(value, tuple) or len(<tuple> value) != n:
        raise TypeError(f"found {type(value).__name__}, expected a tuple of {n} items")
    return <tuple> value


# --- object headers ---


cdef int64_t _begin_header(File* file) except -1:
    """Begin the header of an object; return its position."""
    cdef int64_t start = file.out.size
    put_bytes(&file.out, b"OHDR\2", 5)
    put(&file.out, HEADER_FLAGS, 1)
    put_zeros(&file.out, 4)
    return start


cdef int _end_header(File* file, int64_t start) except -1:
    store(file.out.data + start + 6, file.out.size - start - 10, 4)
    note(&file.blocks, start)
    note(&file.blocks, file.out.size)
    return put_zeros(&file.out, 4)


cdef int64_t _begin_message(File* file, int number, int flags, int order) except -1:
    """Begin a message; return the position of its body."""
    put(&file.out, number, 1)
    put_zeros(&file.out, 2)
    put(&file.out, flags, 1)
    put(&file.out, order, 2)
    return file.out.size


cdef int _end_message(File* file, int64_t start) except -1:
    cdef int64_t size = file.out.size - start
    if size > MAX_MESSAGE:
        raise OverflowError(f"a message of {size} bytes")
    store(file.out.data + start - 5, size, 2)
    return 0


cdef int64_t _begin_attribute(File* file, int order, bytes name, bytes type_, bytes space) except -1:
    """Begin an attribute; return the position of its message. Its value follows."""
    cdef int64_t start = _begin_message(file, ATTRIBUTE, 0, order)
    cdef Output* out = &file.out
    cdef Py_ssize_t i
    cdef bint is_ascii = True
    for i in range(PyBytes_GET_SIZE(name)):
        is_ascii &= not <uint8_t> PyBytes_AS_STRING(name)[i] & 0x80
    put(out, 3, 2)
    put(out, PyBytes_GET_SIZE(name) + 1, 2)
    put(out, PyBytes_GET_SIZE(type_), 2)
    put(out, PyBytes_GET_SIZE(space), 2)
    put(out, not is_ascii, 1)
    put_bytes(out, PyBytes_AS_STRING(name), PyBytes_GET_SIZE(name) + 1)
    put_text(out, type_)
    put_text(out, space)
    return start


cdef bytes _space(uint64_t n):
    """Return the body of a dataspace message for one axis."""
    cdef uint8_t[12] body
    memcpy(body, b"\2\1\0\1", 4)
    store(body + 4, n, 8)
    return PyBytes_FromStringAndSize(<const char*> body, 12)


cdef int _put_scales(File* file, int order, tuple scales) except -1:
    """Append the attribute with the dimension scales of all axes."""
    cdef int64_t start = _begin_attribute(file, order, b"DIMENSION_LIST", DIMENSION_LIST, _space(len(scales)))
    cdef uint64_t number
    for number in scales:
        put(&file.out, 1, 4)
        store(new_object(file, 8, True), number, 8)
    return _end_message(file, start)


cdef int _put_users(File* file, int order, list users) except -1:
    """Append the attribute with the datasets and axes that a dimension scale belongs to."""
    cdef int64_t start = _begin_attribute(file, order, b"REFERENCE_LIST", REFERENCE_LIST, _space(len(users)))
    cdef uint64_t number
    cdef int axis
    for number, axis in users:
        note(&file.to_objects, file.out.size)
        put(&file.out, number, 8)
        put(&file.out, axis, 8)
    return _end_message(file, start)


cdef int _put_links(File* file, list objects, list children) except -1:
    """Append the messages of a group: information, and links in the order of creation."""
    cdef int64_t start = _begin_message(file, LINK_INFO, 0, 0)
    cdef Output* out = &file.out
    cdef bytes name
    cdef Py_ssize_t order
    cdef uint64_t number
    put(out, 0x0300, 2)
    put(out, len(children), 8)
    for _ in range(3):  # neither a heap nor trees
        put(out, UNDEFINED, 8)
    _end_message(file, start)
    start = _begin_message(file, GROUP_INFO, 1, 0)
    put(out, 0x0100, 2)
    put(out, MAX_MESSAGE, 2)  # no more links in messages
    put(out, MAX_MESSAGE, 2)
    _end_message(file, start)
    for order, number in enumerate(children):
        name = (<tuple> objects[number])[0]
        start = _begin_message(file, LINK, 0, 0)
        put_bytes(out, b"\1\x15", 2)  # the order of creation, a character set, 2 bytes of length
        put(out, order, 8)
        put(out, 1, 1)  # UTF-8
        put(out, PyBytes_GET_SIZE(name), 2)
        put_text(out, name)
        note(&file.to_objects, out.size)
        put(out, number, 8)
        _end_message(file, start)
    return 0


cdef int64_t _put_layout(File* file, tuple storage) except -1:
    """Append the layout message of a dataset; return where the address of its values belongs."""
    cdef int64_t start = _begin_message(file, LAYOUT, 0, 0), position
    cdef Output* out = &file.out
    cdef tuple chunk = storage[0]
    cdef uint64_t size = storage[1], n
    if chunk is None:
        put_bytes(out, b"\3\1", 2)
    else:
        put_bytes(out, b"\3\2", 2)
        put(out, len(chunk) + 1, 1)
    position = out.size
    put(out, UNDEFINED, 8)
    if chunk is None:
        put(out, size, 8)
    else:
        for n in chunk:
            put(out, n, 4)
        put(out, size, 4)
    _end_message(file, start)
    return position


cdef int _put_usual(File* file, int order, str name, object value, dict types) except -1:
    """Append an attribute: bytes as one text, a list of bytes as strings, or a scalar or an array of numbers."""
    cdef bytes type_, space
    cdef uint8_t[8] text
    cdef Py_ssize_t n
    cdef int64_t start
    if type(value) is bytes:
        n = PyBytes_GET_SIZE(<bytes> value)
        store(text, TEXT, 4)
        store(text + 4, max(n, 1), 4)
        type_, space = PyBytes_FromStringAndSize(<const char*> text, 8), SCALAR if n else NONE
    elif type(value) is list:
        type_, space = types[list], _space(len(<list> value))
    else:
        n = value.size
        type_, space = types[value.dtype], _space(n) if n else NONE
    start = _begin_attribute(file, order, name.encode(), type_, space)
    put_values(file, value)
    return _end_message(file, start)


cdef int64_t _put_object(File* file, list objects, tuple each, list children, list users, dict types) except -1:
    """Append the header of an object; return where the address of its values belongs, 0 for none."""
    cdef int64_t start = _begin_header(file), message, address = 0
    cdef Output* out = &file.out
    cdef tuple attribute, scales = each[4]
    cdef object item, name
    cdef list attributes = each[3]
    cdef dict usual = each[6] if type(each[6]) is dict else dict(each[6])
    cdef int number, flags, order = 0
    cdef bytes body
    for number, flags, body in <list> each[2]:
        message = _begin_message(file, number, flags, 0)
        put_text(out, body)
        _end_message(file, message)
    if children is not None:
        _put_links(file, objects, children)
    elif each[5] is not None:
        address = _put_layout(file, _record(each[5], 3))
    message = _begin_message(file, ATTRIBUTE_INFO, 4, 0)
    put(out, ATTRIBUTES_BY_ORDER << 8, 2)
    put(out, len(attributes) + len(usual) + (len(scales) > 0) + (len(users) > 0), 2)
    for _ in range(3):
        put(out, UNDEFINED, 8)
    _end_message(file, message)
    for item in attributes:
        attribute = _record(item, 4)
        message = _begin_attribute(file, order, attribute[0], attribute[1], attribute[2])
        put_values(file, attribute[3])
        _end_message(file, message)
        order += 1
    for name, item in usual.items():
        _put_usual(file, order, name, (<tuple> item)[1], types)
        order += 1
    if scales:
        _put_scales(file, order, scales)
        order += 1
    if users:
        _put_users(file, order, users)
        order += 1
    if order >= MAX_MESSAGE:
        raise OverflowError(f"{order} attributes")
    _end_header(file, start)
    return address


# --- values ---


cdef int _put_storage(File* file, int64_t address, tuple storage, int half) except -1:
    cdef uint64_t found
    values = storage[2]
    if values is None or (storage[0] is not None and type(values) is list and not values):
        return 0
    if type(values) is int:
        found = values
    elif storage[0] is not None:
        found = put_chunks(file, storage[0], storage[1], values, half)
    else:
        align(file)
        found = file.out.size + file.shift
        put_values(file, values)
    store(file.out.data + address, found, 8)
    return 0


# --- the file ---


cdef int _resolve(File* file, const int64_t* addresses) except -1:
    """Replace numbers of objects and positions in the heap by addresses; append the heap, and make checksums."""
    cdef uint8_t* data
    cdef const int64_t* positions
    cdef Py_ssize_t i
    cdef int64_t start
    close_collection(file)
    positions = <const int64_t*> file.heap_to_objects.data
    for i in range(file.heap_to_objects.size // 8):
        data = file.heap.data + positions[i]
        store(data, addresses[load(data)], 8)
    if file.heap.size:
        align(file)
    start = file.out.size + file.shift
    put_bytes(&file.out, file.heap.data, file.heap.size)
    positions = <const int64_t*> file.to_heap.data
    for i in range(file.to_heap.size // 8):
        data = file.out.data + positions[i]
        store(data, start + load(data), 8)
    positions = <const int64_t*> file.to_objects.data
    for i in range(file.to_objects.size // 8):
        data = file.out.data + positions[i]
        store(data, addresses[load(data)], 8)
    return 0


cdef int _put_superblock(File* file, int64_t extension, int64_t root) except -1:
    cdef uint8_t* data = file.out.data
    memcpy(data, b"\x89HDF\r\n\x1a\n\2\x08\x08\0", 12)
    store(data + 12, 0, 8)
    store(data + 20, extension if extension else UNDEFINED, 8)
    store(data + 28, file.out.size + file.shift, 8)
    store(data + 36, root, 8)
    note(&file.blocks, 0)
    return note(&file.blocks, SUPERBLOCK_SIZE - 4)


cdef int64_t _put_extension(File* file, int half) except -1:
    """Append what says how many chunks a node of a B-tree lists; return its address."""
    cdef int64_t start = _begin_header(file)
    cdef int64_t message = _begin_message(file, TREE_SIZES, 0, 0)
    put(&file.out, 0, 1)
    put(&file.out, half, 2)
    put_bytes(&file.out, b"\x10\0\4\0", 4)  # of groups: as usual
    _end_message(file, message)
    _end_header(file, start)
    return start + file.shift


def compose(list objects not None, int half, dict types not None, int64_t shift=0):
    """Compose a file.

    Parameters
    ----------
    objects : list of tuple
        As `hdf5.composing.NewObject`. The first one is the root.
    half : int
        Half the number of chunks that a node of a B-tree has place for.
    types : dict
        Dtype of numbers → body of their datatype message; `list` → that of strings of variable length.
    shift : int
        Bytes that are in the file already, between the superblock and everything else.

    Returns
    -------
    bytes
        Without those.

    Raises
    ------
    OverflowError
        If something is larger than a message.
    """
    cdef File file
    cdef Output addresses
    cdef list records = [_record(item, 7) for item in objects], places = []
    cdef list children = [None] * len(objects), users = [[] for _ in objects]
    cdef int64_t extension = 0, position
    cdef tuple each
    cdef Py_ssize_t number, axis, i
    cdef const int64_t* blocks
    cdef uint64_t checksum
    if not 0 < half <= MAX_MESSAGE // 2:
        raise ValueError(f"half: found {half}, expected 1 to {MAX_MESSAGE // 2}")
    for number, item in enumerate(records):
        each = <tuple> item
        if each[5] is None and not each[2]:
            children[number] = []
        if number:
            if not 0 <= each[1] < number or children[each[1]] is None:
                raise ValueError(f"parent: found {each[1]}, expected the number of a group before {number}")
            (<list> children[each[1]]).append(number)
        for axis, i in enumerate(<tuple> each[4]):
            if not 0 <= i < len(objects):
                raise ValueError(f"scales: found {i}, expected a number below {len(objects)}")
            (<list> users[i]).append((number, axis))
    if not children or children[0] is None:
        raise ValueError("found no root, expected a group")
    memset(&file, 0, sizeof(file))
    memset(&addresses, 0, sizeof(addresses))
    file.collection, file.shift = -1, shift
    try:
        put_zeros(&file.out, SUPERBLOCK_SIZE)
        if half != USUAL_TREE:
            extension = _put_extension(&file, half)
        for number, item in enumerate(records):
            each = <tuple> item
            note(&addresses, file.out.size + shift)
            position = _put_object(&file, records, each, children[number], users[number], types)
            if position:
                places.append((position, <tuple> each[5]))
        for position, storage in places:
            _put_storage(&file, position, <tuple> storage, half)
        _resolve(&file, <const int64_t*> addresses.data)
        _put_superblock(&file, extension, (<const int64_t*> addresses.data)[0])
        blocks = <const int64_t*> file.blocks.data
        for i in range(file.blocks.size // 16):
            position = blocks[2 * i + 1]
            checksum = lookup3(file.out.data + blocks[2 * i], position - blocks[2 * i], -1)
            store(file.out.data + position, checksum, 4)
        return PyBytes_FromStringAndSize(<const char*> file.out.data, file.out.size)
    finally:
        _free(&file)
        PyMem_RawFree(addresses.data)


cdef void _free(File* file) noexcept:
    PyMem_RawFree(file.out.data)
    PyMem_RawFree(file.heap.data)
    PyMem_RawFree(file.to_objects.data)
    PyMem_RawFree(file.heap_to_objects.data)
    PyMem_RawFree(file.to_heap.data)
    PyMem_RawFree(file.blocks.data)


def compose_tree(tuple chunk not None, uint64_t item_size, list chunks not None, int64_t address):
    """Compose the B-tree of the chunks of a dataset apart from the rest of a file.

    Parameters
    ----------
    chunk : tuple of int
        Shape of a chunk.
    item_size : int
        Bytes of a value.
    chunks : list of (tuple, int, int)
        First indices, stored bytes and address of each chunk, in C order; not empty.
    address : int
        Where the tree will be, a multiple of 8.

    Returns
    -------
    tree : bytes
    root : int
        Address of its root.

    Raises
    ------
    ValueError
        If there are no chunks, or one has another number of indices.
    """
    cdef File file
    if not chunks:
        raise ValueError("chunks: found none, expected at least one")
    memset(&file, 0, sizeof(file))
    file.shift = address
    try:
        root = put_tree(&file, chunk, item_size, chunks, USUAL_TREE)
        return PyBytes_FromStringAndSize(<const char*> file.out.data, file.out.size), root
    finally:
        _free(&file)


def compose_strings(list strings not None, int64_t address):
    """Compose strings of variable length apart from the rest of a file.

    Parameters
    ----------
    strings : list of bytes
    address : int
        Where their collections will be.

    Returns
    -------
    collections, references : bytes
        A reference has 16 bytes.
    """
    cdef File file
    memset(&file, 0, sizeof(file))
    file.collection = -1
    cdef const int64_t* positions
    cdef uint8_t* data
    cdef Py_ssize_t i
    try:
        put_strings(&file, strings)
        close_collection(&file)
        positions = <const int64_t*> file.to_heap.data
        for i in range(file.to_heap.size // 8):
            data = file.out.data + positions[i]
            store(data, address + load(data), 8)
        return (
            PyBytes_FromStringAndSize(<const char*> file.heap.data, file.heap.size),
            PyBytes_FromStringAndSize(<const char*> file.out.data, file.out.size),
        )
    finally:
        _free(&file)
