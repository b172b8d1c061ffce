"""When two data are the same: the comparison of the contract of formats, and one of metadata."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ds_format.testing import same_data, same_value

__all__ = ["same_data", "same_dataset", "same_metadata", "same_object", "same_value"]


def same_dataset(left: Mapping[str, Any], right: Mapping[str, Any]) -> bool:
    """Whether all data and metadata of two datasets are the same, order aside."""
    return (
        left.keys() == right.keys()
        and same_value(dict(left["."]), dict(right["."]))
        and all(same_data(left[key], right[key]) for key in left if key != ".")
    )


def same_object(left: Any, right: Any) -> bool:
    """Whether two objects are of one type, and equal bit by bit."""
    if type(left) is not type(right):
        return False
    if isinstance(left, np.ma.MaskedArray):
        return same_object(left.filled(0), right.filled(0)) and np.array_equal(left.mask, right.mask)
    if isinstance(left, (np.ndarray, np.generic)):
        if left.dtype.hasobject:
            return left.shape == right.shape and same_object(left.tolist(), right.tolist())
        return left.dtype == right.dtype and left.shape == right.shape and left.tobytes() == right.tobytes()
    if isinstance(left, dict):
        return list(left) == list(right) and all(same_object(left[key], right[key]) for key in left)
    if isinstance(left, (list, tuple)):
        return len(left) == len(right) and all(map(same_object, left, right))
    if isinstance(left, (float, complex)):
        return np.array(left).tobytes() == np.array(right).tobytes()
    return bool(left == right)


def same_metadata(left: dict[str, Any], right: dict[str, Any]) -> bool:
    """Whether two metadata of a variable are the same but for `.size` and `.type`."""
    kept = {key: value for key, value in left.items() if key not in (".size", ".type")}
    return same_value(kept, {key: value for key, value in right.items() if key not in (".size", ".type")})
