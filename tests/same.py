"""When two data are the same: type, shape, mask, and every present value bit by bit."""

from __future__ import annotations

from typing import Any

import numpy as np

from ds_format.dataset import as_array


def same_data(left: Any, right: Any) -> bool:
    """Whether two data of a dataset are the same; byte order and memory layout do not count."""
    if left is None or right is None:
        return left is right
    left, right = as_array(left), as_array(right)
    if left.shape != right.shape or left.dtype.newbyteorder("=") != right.dtype.newbyteorder("="):
        return False
    flags = np.ma.getmaskarray(left)
    if not np.array_equal(flags, np.ma.getmaskarray(right)):
        return False
    ours, theirs = np.ma.getdata(left)[~flags], np.ma.getdata(right)[~flags]
    if left.dtype.kind == "O":
        return bool(ours.tolist() == theirs.tolist()) and [*map(type, ours)] == [*map(type, theirs)]
    return (
        ours.astype(ours.dtype.newbyteorder("<")).tobytes() == theirs.astype(theirs.dtype.newbyteorder("<")).tobytes()
    )


def same_value(left: Any, right: Any) -> bool:
    """Whether two attributes are the same: type, and value with NaN."""
    if type(left) is not type(right):
        return False
    if isinstance(left, np.ndarray):
        return left.dtype == right.dtype and left.shape == right.shape and repr(left.tolist()) == repr(right.tolist())
    if isinstance(left, list):
        return len(left) == len(right) and all(map(same_value, left, right))
    if isinstance(left, dict):
        return left.keys() == right.keys() and all(same_value(left[key], right[key]) for key in left)
    if isinstance(left, (float, np.floating)):
        return repr(left) == repr(right)
    return bool(left == right)


def same_metadata(left: dict[str, Any], right: dict[str, Any]) -> bool:
    """Whether two metadata of a variable are the same but for `.size` and `.type`."""
    kept = {key: value for key, value in left.items() if key not in (".size", ".type")}
    return same_value(kept, {key: value for key, value in right.items() if key not in (".size", ".type")})
