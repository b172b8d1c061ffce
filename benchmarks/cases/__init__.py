"""What is measured, in the order of the report. Each group is a product of kinds of data and ways to handle them."""

from __future__ import annotations

from ..runner import Group
from . import (
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
)

GROUPS: tuple[Group, ...] = (
    small.GROUP,
    many.GROUP,
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
