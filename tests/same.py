"""When two data are the same: the comparison of the contract of formats, and one of metadata."""

from __future__ import annotations

from typing import Any

from ds_format.testing import same_data, same_value

__all__ = ["same_data", "same_metadata", "same_value"]


def same_metadata(left: dict[str, Any], right: dict[str, Any]) -> bool:
    """Whether two metadata of a variable are the same but for `.size` and `.type`."""
    kept = {key: value for key, value in left.items() if key not in (".size", ".type")}
    return same_value(kept, {key: value for key, value in right.items() if key not in (".size", ".type")})
