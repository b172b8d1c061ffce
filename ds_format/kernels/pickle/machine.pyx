"""The opcodes of a pickle → Python objects: a stack machine that imports nothing, and calls only functions of its host.

All input is checked: each length against the remaining bytes, each opcode against the values on the stack, and memory
against a budget. There is no recursion, even for deeply nested objects.
"""

cimport cython
from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_CheckBuffer, PyObject_GetBuffer, Py_buffer
from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.string cimport memcpy

from ..common.cursor cimport Cursor, number, take
from ..common.words cimport swap_word

from ...errors import DsError, FormatError, TruncatedError

cdef enum:
    MAX_DEPTH = 64  # nested tuples in a value that is hashed
    PER_BYTE = 256  # how often each byte of a buffer may be copied or read


@cython.final
cdef class Global:
    """The name of a function or class, which may be called, or be an argument of a call. It is never imported."""

    def __init__(self, str module not None, str name not None):
        self.module, self.name = module, name

    def __repr__(self):
        return f"{self.module}.{self.name}"


@cython.final
cdef class Pending:
    """A placeholder for an object that is created by BUILD.

    Parameters
    ----------
    finish : callable
        State → object.
    """

    def __init__(self, finish):
        self.finish = finish
        self.slot = -1


cdef Py_ssize_t n_globals(tuple items):
    cdef Py_ssize_t n = 0
    for item in items:
        n += type(item) is Global
    return n


cdef int64_t weight(object items) except -1:
    """Return the maximum number of bytes that a call may copy for its arguments."""
    cdef int64_t size = PER_OBJECT
    for item in items:
        if type(item) is bytes or type(item) is str or type(item) is bytearray:
            size += len(item)
        elif type(item) is list or type(item) is tuple or type(item) is dict:
            size += PER_OBJECT * <int64_t> len(item)
        elif PyObject_CheckBuffer(item) and type(item) is not memoryview:
            size += <int64_t> getattr(item, "nbytes", 0)
    return size


@cython.final
cdef class Stack:
    """Values, marks between them, the memo, and the remaining budget.

    `n_open` counts values that must not remain at the end: objects without their state, and names that no call used.
    """

    cdef int spend(self, int64_t size) except -1:
        self.left -= size
        if self.left < 0:
            raise FormatError("needs more memory than its bytes account for")
        return 0

    cdef int push_buffer(self, object value) except -1:
        """Push an out-of-band buffer. Its bytes exist already, so they add to the budget."""
        cdef Py_buffer view
        if PyObject_CheckBuffer(value):
            PyObject_GetBuffer(value, &view, PyBUF_SIMPLE)
            self.left += PER_BYTE * <int64_t> view.len
            PyBuffer_Release(&view)
        self.values.append(value)
        return 0

    cdef object pop(self):
        if len(self.values) <= self.fence:
            raise FormatError("takes a value from an empty stack")
        return self.values.pop()

    cdef object top(self):
        if len(self.values) <= self.fence:
            raise FormatError("reads a value of an empty stack")
        return self.values[len(self.values) - 1]

    cdef list pop_mark(self):
        """Return the values above the last mark."""
        cdef list items
        cdef Py_ssize_t mark = self.fence
        if not self.marks:
            raise FormatError("needs a mark, but there is none")
        self.marks.pop()
        self.fence = self.marks[len(self.marks) - 1] if self.marks else 0
        items = self.values[mark:]
        del self.values[mark:]
        return items

    cdef tuple kept(self, tuple items):
        self.spend(PER_OBJECT + 8 * len(items))
        self.n_open += n_globals(items)
        return items

    cdef int check_value(self, object value) except -1:
        if type(value) is Global:
            raise self.host.refused(value)
        return 0

    cdef int check_key(self, object key) except -1:
        """Limit the work of hashing, and its depth on the C stack. A tuple hashes its items each time."""
        cdef list todo
        cdef tuple item
        cdef Py_ssize_t depth
        self.check_value(key)
        if type(key) is tuple:
            todo = [(key, 0)]
            while todo:
                item, depth = todo.pop()
                self.spend(PER_OPCODE * (1 + <int64_t> len(item)))
                if depth == MAX_DEPTH:
                    raise FormatError("has a key of tuples that are nested too deeply")
                todo += [(part, depth + 1) for part in item if type(part) is tuple]
        elif type(key) is slice or type(key) is Pending:
            raise FormatError("has a key of a type that cannot be a key")
        return 0

    cdef int add(self, list items) except -1:
        """Add items to the list, or the similar object, on the stack."""
        cdef object target = self.top(), item
        self.spend(16 * len(items))
        for item in items:
            self.check_value(item)
        if type(target) is list:
            (<list> target).extend(items)
        else:
            self.host.extend(target, items)
        return 0

    cdef int set_items(self, list items) except -1:
        """Put alternating keys and values into the dictionary, or the similar object, on the stack."""
        cdef object target = self.top()
        cdef Py_ssize_t i, n = len(items)
        cdef bint is_plain = type(target) is dict
        if n % 2:
            raise FormatError(f"found {n} keys and values, expected pairs")
        self.spend(PER_ENTRY * (n // 2))
        for i in range(0, n, 2):
            self.check_key(items[i])
            self.check_value(items[i + 1])
            if is_plain:
                (<dict> target)[items[i]] = items[i + 1]
        if not is_plain:
            self.host.update(target, items)
        return 0

    cdef int put(self, uint64_t slot) except -1:
        cdef object value = self.top()
        if slot > <uint64_t> len(self.memo):
            raise FormatError(f"found slot {slot} of the memo, expected at most {len(self.memo)}")
        if type(value) is Pending:
            (<Pending> value).slot = <Py_ssize_t> slot
        if slot == <uint64_t> len(self.memo):
            self.memo.append(value)
        else:
            self.memo[<Py_ssize_t> slot] = value
        return 0

    cdef object get(self, uint64_t slot):
        if slot >= <uint64_t> len(self.memo):
            raise FormatError(f"found slot {slot} of the memo, which has {len(self.memo)}")
        return self.whole(self.memo[<Py_ssize_t> slot])

    cdef object whole(self, object value):
        if type(value) is Pending:
            raise FormatError("uses an object before its state is known")
        return value

    cdef int open(self, object value) except -1:
        """Push the result of a call."""
        self.n_open += type(value) is Pending
        self.values.append(value)
        return 0

    cdef int close(self, tuple items) except -1:
        """Count the names that a call uses, and spend its cost."""
        self.n_open -= n_globals(items)
        self.spend(weight(items))
        return 0

    cdef int build(self) except -1:
        """Apply a state to the object below it on the stack.

        A pending object is replaced at all positions that can refer to it: on the stack, and in one slot of the memo.
        """
        cdef object state = self.pop(), target = self.top(), value
        self.check_value(state)
        self.close(<tuple> state if type(state) is tuple else (state,))
        if type(target) is Pending:
            if type(state) is dict:
                self.spend(weight((<dict> state).values()))
            value = (<Pending> target).finish(state)
            self.n_open -= 1
            if (<Pending> target).slot >= 0:
                self.memo[(<Pending> target).slot] = value
        else:
            value = self.host.build(target, state)
        self.values[len(self.values) - 1] = value
        return 0


cdef extern from "Python.h":
    object PyBytes_FromStringAndSize(const char* data, Py_ssize_t size)
    object PyByteArray_FromStringAndSize(const char* data, Py_ssize_t size)
    object PyUnicode_DecodeUTF8(const char* data, Py_ssize_t size, const char* errors)

cdef enum:
    MARK = 0x28, EMPTY_TUPLE = 0x29, STOP = 0x2E, POP = 0x30, POP_MARK = 0x31, DUP = 0x32, BINBYTES = 0x42
    SHORT_BINBYTES = 0x43, BINFLOAT = 0x47, BININT = 0x4A, BININT1 = 0x4B, BININT2 = 0x4D, NONE = 0x4E, REDUCE = 0x52
    BINUNICODE = 0x58, EMPTY_LIST = 0x5D, APPEND = 0x61, BUILD = 0x62, APPENDS = 0x65, BINGET = 0x68
    LONG_BINGET = 0x6A, BINPUT = 0x71, LONG_BINPUT = 0x72, SETITEM = 0x73, TUPLE = 0x74, SETITEMS = 0x75
    EMPTY_DICT = 0x7D, PROTO = 0x80, NEWOBJ = 0x81, TUPLE1 = 0x85, TUPLE2 = 0x86, TUPLE3 = 0x87, NEWTRUE = 0x88
    NEWFALSE = 0x89, LONG1 = 0x8A, LONG4 = 0x8B, SHORT_BINUNICODE = 0x8C, BINUNICODE8 = 0x8D, BINBYTES8 = 0x8E
    EMPTY_SET = 0x8F, ADDITEMS = 0x90, FROZENSET = 0x91, STACK_GLOBAL = 0x93, MEMOIZE = 0x94, FRAME = 0x95
    BYTEARRAY8 = 0x96, NEXT_BUFFER = 0x97, READONLY_BUFFER = 0x98


cdef uint64_t little(Cursor* c, int width) except? 0xFFFFFFFFFFFFFFFF:
    """Read a little-endian unsigned number of 1, 2, 4 or 8 bytes. Errors are those of `take`."""
    return swap_word(number(c, width)) >> (64 - 8 * width)


cdef object whole_number(Cursor* c, uint64_t size):
    cdef const uint8_t* start = take(c, size)
    return int.from_bytes(PyBytes_FromStringAndSize(<const char*> start, <Py_ssize_t> size), "little", signed=True)


cdef object real_number(Cursor* c):
    cdef uint64_t bits = number(c, 8)
    cdef double value
    memcpy(&value, &bits, 8)
    return value


cdef object text(Stack s, Cursor* c, uint64_t size):
    cdef const uint8_t* start = take(c, size)
    s.spend(4 * <int64_t> size)
    return PyUnicode_DecodeUTF8(<const char*> start, <Py_ssize_t> size, "surrogatepass")


cdef object raw(Stack s, Cursor* c, uint64_t size, bint writable):
    cdef const uint8_t* start = take(c, size)
    s.spend(PER_OBJECT + <int64_t> size)
    if writable:
        return PyByteArray_FromStringAndSize(<const char*> start, <Py_ssize_t> size)
    return PyBytes_FromStringAndSize(<const char*> start, <Py_ssize_t> size)


cdef int call(Stack s, dict calls) except -1:
    """Call the function on the stack with the arguments above it."""
    cdef object args = s.pop(), function = s.pop(), handler = None
    if type(args) is not tuple:
        raise FormatError(f"found {type(args).__name__}, expected a tuple of arguments")
    s.close(<tuple> args)
    if type(function) is Global or isinstance(function, type):
        handler = calls.get(function)
    s.open(s.host.call(function, args) if handler is None else handler(*<tuple> args))
    return 0


cdef int container(Stack s, uint8_t op) except -1:
    """Execute an opcode that creates or fills a container."""
    cdef object first, second, third
    cdef list items
    if op == EMPTY_LIST:
        s.values.append([])
    elif op == EMPTY_DICT:
        s.values.append({})
    elif op == EMPTY_SET:
        s.spend(PER_ENTRY)
        s.values.append(set())
    elif op == EMPTY_TUPLE:
        s.values.append(())
    elif op == TUPLE1:
        s.values.append(s.kept((s.pop(),)))
    elif op == TUPLE2:
        second, first = s.pop(), s.pop()
        s.values.append(s.kept((first, second)))
    elif op == TUPLE3:
        third, second, first = s.pop(), s.pop(), s.pop()
        s.values.append(s.kept((first, second, third)))
    elif op == TUPLE:
        s.values.append(s.kept(tuple(s.pop_mark())))
    elif op == APPEND:
        s.add([s.pop()])
    elif op == APPENDS:
        s.add(s.pop_mark())
    elif op == SETITEM:
        second, first = s.pop(), s.pop()
        s.set_items([first, second])
    elif op == SETITEMS:
        s.set_items(s.pop_mark())
    elif op == ADDITEMS or op == FROZENSET:
        items = s.pop_mark()
        s.spend(PER_ENTRY * (1 + <int64_t> len(items)))
        for first in items:
            s.check_key(first)
        if op == FROZENSET:
            s.values.append(frozenset(items))
        elif type(s.top()) is set:
            (<set> s.top()).update(items)
        else:
            raise FormatError(f"adds to {type(s.top()).__name__}, expected a set")
    else:
        raise s.host.unknown(op)
    return 0


cdef int step(Stack s, Cursor* c, uint8_t op, dict calls, object buffers) except -1:
    """Execute an opcode."""
    cdef object value
    if op == MEMOIZE:
        s.put(len(s.memo))
    elif op == SHORT_BINUNICODE or op == BINUNICODE or op == BINUNICODE8:
        s.values.append(text(s, c, little(c, 1 if op == SHORT_BINUNICODE else 4 if op == BINUNICODE else 8)))
    elif op == BINGET or op == LONG_BINGET:
        s.values.append(s.get(little(c, 1 if op == BINGET else 4)))
    elif op == BININT1 or op == BININT2:
        s.values.append(little(c, 1 if op == BININT1 else 2))
    elif op == BININT:
        s.values.append(<int32_t> little(c, 4))
    elif op == MARK:
        s.fence = len(s.values)
        s.marks.append(s.fence)
    elif op == NEXT_BUFFER:
        value = next(buffers, buffers)
        if value is buffers:
            raise FormatError("asks for more buffers than there are")
        s.push_buffer(value)
    elif op == REDUCE or op == NEWOBJ:
        call(s, calls)
    elif op == BUILD:
        s.build()
    elif op == NONE:
        s.values.append(None)
    elif op == NEWTRUE or op == NEWFALSE:
        s.values.append(op == NEWTRUE)
    elif op == BINFLOAT:
        s.values.append(real_number(c))
    elif op == LONG1:
        s.values.append(whole_number(c, little(c, 1)))
    elif op == LONG4:
        s.values.append(whole_number(c, little(c, 4)))
    elif op == SHORT_BINBYTES or op == BINBYTES or op == BINBYTES8:
        s.values.append(raw(s, c, little(c, 1 if op == SHORT_BINBYTES else 4 if op == BINBYTES else 8), False))
    elif op == BYTEARRAY8:
        s.values.append(raw(s, c, little(c, 8), True))
    elif op == READONLY_BUFFER:
        s.values.append(s.host.read_only(s.pop()))
    elif op == STACK_GLOBAL:
        value = s.pop()
        s.values.append(s.host.find(s.pop(), value))
    elif op == BINPUT or op == LONG_BINPUT:
        s.put(little(c, 1 if op == BINPUT else 4))
    elif op == POP:
        s.pop()
    elif op == POP_MARK:
        s.pop_mark()
    elif op == DUP:
        s.values.append(s.whole(s.top()))
    elif op == FRAME:
        if little(c, 8) > <uint64_t> (c.end - c.p):
            raise TruncatedError("found a frame that is longer than the remaining bytes")
    elif op == PROTO:
        if not 2 <= take(c, 1)[0] <= 5:
            raise FormatError("found another protocol, expected 2 to 5")
    else:
        container(s, op)
    return 0


cdef object result(Stack s, Cursor* c, object buffers):
    """Return the value on the stack at STOP, after a check that nothing else remains."""
    if c.p != c.end:
        raise FormatError(f"found {c.end - c.p} bytes after the end of the pickle")
    if s.marks or len(s.values) != 1:
        raise FormatError(f"found {len(s.values)} values and {len(s.marks)} marks at the end, expected one value")
    s.check_value(s.values[0])
    if s.n_open:
        raise FormatError("has an object without its state, or a name of a function in place of a value")
    if next(buffers, buffers) is not buffers:
        raise FormatError("does not use all buffers")
    return s.values[0]


def run(const uint8_t[::1] pickle not None, buffers not None, dict calls not None, host not None, int64_t budget):
    """Execute a pickle.

    Parameters
    ----------
    pickle : (N,) uint8
        The whole pickle. Its last byte is STOP.
    buffers : iterator
        Buffers for NEXT_BUFFER. All of them must be used.
    calls : dict
        Names and classes → functions that are called in their place, with the arguments of REDUCE or NEWOBJ.
    host : ds_format.binpickle.machine.loading.Host
        Performs all other operations: `find`, `call`, `build`, `extend`, `update`, `read_only`. It also makes errors.
    budget : int
        Maximum bytes that objects take, and that calls copy.

    Raises
    ------
    FormatError
        If the pickle is invalid. The message has the position. TruncatedError if the pickle ends too early.
    UnsafeError
        From `host`.
    """
    cdef Stack s = Stack.__new__(Stack)
    cdef Cursor c
    cdef Py_ssize_t at = 0, size = pickle.shape[0]
    cdef uint8_t op = STOP
    s.values, s.marks, s.memo, s.host, s.left = [], [], [], host, budget
    c.p = &pickle[0] if size else NULL
    c.end = c.p + size
    try:
        while True:
            at = size - (c.end - c.p)
            op = take(&c, 1)[0]
            if op == STOP:
                return result(s, &c, buffers)
            s.spend(PER_OPCODE)
            step(s, &c, op, calls, buffers)
    except DsError as error:
        raise type(error)(f"pickle, byte {at}: {error.message}") from error.__cause__
    except EOFError:
        raise TruncatedError(f"pickle, byte {at}: ends at byte {size}, before it is complete") from None
    except UnicodeDecodeError:
        raise FormatError(f"pickle, byte {at}: found text that is not UTF-8") from None
    except MemoryError:
        raise
    except Exception as error:
        reason = error.args[0] if error.args and type(error.args[0]) is str else ""
        raise FormatError(f"pickle, byte {at}: {type(error).__name__}: {reason:.200}") from error
