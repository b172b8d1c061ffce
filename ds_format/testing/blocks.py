"""Data that flow in blocks of a few values, so that small examples have many."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from types import FunctionType, ModuleType
from typing import Any

from ..drivers import base

LENGTHS = {"BLOCK_SIZE": 16, "SMALL_SIZE": 16, "HELD_SIZE": 16, "BLOCK_LENGTH": 2}
"""Constant of a module → its small value. Sizes are in bytes, lengths are numbers of values."""


@contextlib.contextmanager
def small_blocks(package: str = "") -> Iterator[None]:
    """Let all data flow in small blocks, of this package and another one.

    Every module that is loaded, and has a constant in `LENGTHS`, gets a small one, as do functions whose `budget` is
    `drivers.base.BLOCK_SIZE` by default. A module that is loaded meanwhile keeps its own.

    Parameters
    ----------
    package : str
        Name of the other package.
    """
    own = __name__.partition(".")[0]
    modules = [
        module
        for name, module in [*sys.modules.items()]
        if name.partition(".")[0] in (own, package) and module is not base
    ]
    before: list[tuple[Any, str, Any]] = []
    try:
        for module in modules:
            for name in LENGTHS.keys() & vars(module).keys():
                before.append((module, name, getattr(module, name)))
                setattr(module, name, LENGTHS[name])
            for function in _functions(module):
                if base.BLOCK_SIZE in (function.__defaults__ or ()):
                    before.append((function, "__defaults__", function.__defaults__))
                    small = LENGTHS["BLOCK_SIZE"]
                    function.__defaults__ = tuple(
                        small if value == base.BLOCK_SIZE else value for value in function.__defaults__ or ()
                    )
        yield
    finally:
        for owner, name, value in before:
            setattr(owner, name, value)


def _functions(module: ModuleType) -> Iterator[FunctionType]:
    for value in vars(module).values():
        if isinstance(value, FunctionType):
            yield value
        elif isinstance(value, type) and value.__module__ == module.__name__:
            yield from (member for member in vars(value).values() if isinstance(member, FunctionType))
