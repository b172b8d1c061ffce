"""What is measured, in the order of the report. Each group is a product of kinds of data and ways to handle them."""

from __future__ import annotations

from ..runner import Group
from . import (
    archive,
    claims,
    cold,
    conversion,
    dask_,
    documents,
    engine,
    fifty,
    file_kernels,
    kinds,
    large,
    many,
    memory_kernels,
    merging,
    netcdf,
    objects,
    open_many,
    program,
    samples,
    small,
    stations,
)

GROUPS: tuple[Group, ...] = (
    stations.GROUP,
    cold.GROUP,
    small.GROUP,
    many.GROUP,
    open_many.GROUP,
    claims.GROUP,
    large.GROUP,
    kinds.GROUP,
    fifty.GROUP,
    engine.GROUP,
    program.GROUP,
    conversion.GROUP,
    archive.GROUP,
    netcdf.GROUP,
    merging.GROUP,
    dask_.GROUP,
    samples.GROUP,
    documents.GROUP,
    objects.GROUP,
    memory_kernels.GROUP,
    file_kernels.GROUP,
)
