"""The stack and the memo of a pickle, within a budget of memory."""

cimport cython
from cpython.buffer cimport PyBUF_SIMPLE, Py_buffer, PyBuffer_Release, PyObject_CheckBuffer, PyObject_GetBuffer
from libc.stdint cimport int64_t, uint64_t

from ...errors import FormatError

cdef enum:
    MAX_DEPTH = 64  # tuples inside of one another, in what is hashed
    PER_BYTE = 256  # how often each byte of a buffer may be copied, or looked at


@cython.final
cdef class Global:
    """The name of something that may be called, or be an argument of a call; never the thing itself."""

    def __init__(self, str module not None, str name not None):
        self.module, self.name = module, name

    def __repr__(self):
        return f"{self.module}.{self.name}"


@cython.final
cdef class Pending:
    """An object of which only BUILD will say what it is.

    Parameters
    ----------
    finish : callable
        Makes the object of its state.
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
    """Return how many bytes a call may have to copy, at most, for its arguments."""
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
    """Values, marks between them, the memo, and what is left of the budget.

    `n_open` counts what must not be left at the end: objects whose state is missing, and names that no call has used.
    """

    cdef int spend(self, int64_t size) except -1:
        self.left -= size
        if self.left < 0:
            raise FormatError("needs more memory than its bytes account for")
        return 0

    cdef int push_buffer(self, object value) except -1:
        """Push what was out of band; its size is known to be there, and adds to the budget."""
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
            raise FormatError("looks for a value on an empty stack")
        return self.values[len(self.values) - 1]

    cdef list pop_mark(self):
        """Return what lies above the last mark."""
        cdef list items
        cdef Py_ssize_t mark = self.fence
        if not self.marks:
            raise FormatError("looks for a mark, of which there is none")
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
        """Bound the work, and the depth on the C stack, of hashing: a tuple hashes its items each time."""
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
            raise FormatError("has a key that cannot be one")
        return 0

    cdef int add(self, list items) except -1:
        """Add items to the list, or what is like one, on the stack."""
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
        """Put keys and values, in turns, into the dictionary, or what is like one, on the stack."""
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
            raise FormatError(f"found place {slot} of the memo, expected at most {len(self.memo)}")
        if type(value) is Pending:
            (<Pending> value).slot = <Py_ssize_t> slot
        if slot == <uint64_t> len(self.memo):
            self.memo.append(value)
        else:
            self.memo[<Py_ssize_t> slot] = value
        return 0

    cdef object get(self, uint64_t slot):
        if slot >= <uint64_t> len(self.memo):
            raise FormatError(f"found place {slot} of the memo, which has {len(self.memo)}")
        return self.whole(self.memo[<Py_ssize_t> slot])

    cdef object whole(self, object value):
        if type(value) is Pending:
            raise FormatError("uses an object before its state is known")
        return value

    cdef int open(self, object value) except -1:
        """Push what a call has made."""
        self.n_open += type(value) is Pending
        self.values.append(value)
        return 0

    cdef int close(self, tuple items) except -1:
        """Count the names that a call uses, and what it costs."""
        self.n_open -= n_globals(items)
        self.spend(weight(items))
        return 0

    cdef int build(self) except -1:
        """Give the object on the stack the state above it.

        What was pending is replaced wherever it can be: on the stack, and in one place of the memo.
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
