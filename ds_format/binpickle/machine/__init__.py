"""A stack machine for pickles that runs no code from the file.

From low to high::

    known       a row of the table of what a pickle may name; checks for handlers; what stands for postponed arrays
    stdlib_, numpy_, pandas_    checked arguments → objects; a table of each
    loading     pickle and buffers → object: all tables, what users have registered, and what the kernel asks
    outline     a pickle while nothing is made: which arrays can be read later, and the tree of an object

The opcodes themselves are read by the kernel `pickle.machine`.
"""

from .loading import load, register
from .outline import Node, tree

__all__ = ["Node", "load", "register", "tree"]
