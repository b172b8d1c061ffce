"""A stack machine for pickles that runs no code from the file.

From low to high::

    allowed     a row of the tables of allowed names; checks for handlers; placeholders of postponed arrays
    stdlib_, numpy_, pandas_    checked arguments → objects; a table in each
    loading     pickle and buffers → object: all tables, the registered handlers, and the questions of the kernel
    outline     a pickle without making its object: arrays that can be read later, and the tree of the object

The kernel `pickle.machine` reads the opcodes.
"""

from .loading import load, register
from .outline import Node, tree

__all__ = ["Node", "load", "register", "tree"]
