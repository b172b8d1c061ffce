"""A stack machine for pickles that runs no code from the file.

From low to high::

    known       a row of the table of what a pickle may name; checks for handlers
    opcodes     what is never executed, and why
    postponed   what stands for arrays that are read later
    dtypes      NumPy dtypes, rebuilt
    containers, stdlib_, numpy_, scipy_, pandas_arrays, pandas_    checked arguments → objects; a table of each
    registry    all tables, and what users have registered
    host        what the kernel asks of its surroundings while it makes objects
    loading     pickle and buffers → object
    outline     what the kernel asks while nothing is made
    postponing  which arrays can be read later
    nodes       the tree of an object, for people

The opcodes themselves are read by the kernel `pickle_machine`.
"""

from .loading import load
from .nodes import Node, tree
from .registry import register

__all__ = ["Node", "load", "register", "tree"]
