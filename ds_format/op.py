"""The functions on datasets, under the name that they have in ds-format 5.0.2; see `ds_format.ops`."""

from __future__ import annotations

from . import ops
from .base.dtypes import TYPES
from .ops import *  # noqa: F403 - all of them, and no others
from .timeaxis import time_dt

type_ = ops.type
vars_ = ops.vars

ALLOWED_TYPES = [*TYPES]
"""Names of all types of variables."""

__all__ = ops.__all__ + ["ALLOWED_TYPES", "time_dt", "type_", "vars_"]  # noqa: RUF005 - type checkers know this form
