"""What is measured, in the order of the report. Each group is a product of kinds of data and ways to handle them."""

from __future__ import annotations

from ..runner import Group
from . import (
    claims,
    cold,
    conversion,
    documents,
    fifty,
    file_kernels,
    kinds,
    large,
    many,
    memory_kernels,
    merging,
    objects,
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
    claims.GROUP,
    large.GROUP,
    kinds.GROUP,
    fifty.GROUP,
    program.GROUP,
    conversion.GROUP,
    merging.GROUP,
    samples.GROUP,
    documents.GROUP,
    objects.GROUP,
    memory_kernels.GROUP,
    file_kernels.GROUP,
)
