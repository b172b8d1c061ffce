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
    program,
    queries,
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
    claims,
    large,
    kinds,
    codec,
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
    objects,
    memory_kernels,
    file_kernels,
)
GROUPS: tuple[Group, ...] = tuple(module.GROUP for module in MODULES)
