"""What is measured, in the order of the report.

It is not in `cases` itself: a module of cases can be imported with a version of the package that lacks what another
one needs.
"""

from __future__ import annotations

from types import ModuleType

from .cases import (
    appending,
    archive,
    claims,
    codec,
    cold,
    conversion,
    dask_,
    documents,
    engine,
    fifty,
    file_kernels,
    hashing,
    in_memory,
    kinds,
    large,
    many,
    memory_kernels,
    merging,
    netcdf,
    objects,
    one_more,
    open_many,
    packs,
    program,
    queries,
    references,
    remote,
    samples,
    small,
    stations,
    tables,
    why_not,
)
from .runner import Group

MODULES: tuple[ModuleType, ...] = (
    stations,
    one_more,
    in_memory,
    cold,
    small,
    many,
    open_many,
    packs,
    claims,
    large,
    kinds,
    codec,
    hashing,
    fifty,
    engine,
    remote,
    why_not,
    program,
    conversion,
    archive,
    netcdf,
    merging,
    appending,
    dask_,
    samples,
    documents,
    tables,
    queries,
    references,
    objects,
    memory_kernels,
    file_kernels,
)
GROUPS: tuple[Group, ...] = tuple(module.GROUP for module in MODULES)
