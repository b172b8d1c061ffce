"""The documents of the ZDS benchmarks: those of the reference's own comparison, with `_id` first."""

from __future__ import annotations

import functools
import hashlib
import importlib
import random
from typing import Any

SHA256 = {
    10_000: "0bc046a79e99baff7f2a8a06956fd2f1c96cd09e0bee67530094f96582f6d249",
    100_000: "c015bae320ff5aa57614060eaf8f00512fc2727fd41039d8e318fdf1048e69cb",
}
"""Number of documents → SHA-256 of all lines."""


class UnexpectedError(Exception):
    """The documents are not those of the published benchmark."""


def orjson() -> Any:
    """Return the JSON library that all ways share, or None if it is not installed."""
    try:
        return importlib.import_module("orjson")
    except ImportError:
        return None


def documents(n: int) -> list[dict[str, Any]]:
    """Return n documents of about 200 bytes, which are always the same."""
    dice = random.Random(42)
    made = []
    for i in range(n):
        age, score, active = dice.randint(18, 80), round(dice.uniform(0, 100), 2), dice.choice([True, False])
        count = dice.randint(1, 3)
        tags = dice.sample(["a", "b", "c", "d", "e"], count)
        created = {"created": f"2025-01-{i % 28 + 1:02d}", "source": dice.choice(["web", "mobile", "api"])}
        made.append({
            "_id": f"record_{i:08d}",
            "id": f"record_{i:08d}",
            "name": f"User {i}",
            "email": f"user{i}@example.com",
            "age": age,
            "score": score,
            "active": active,
            "tags": tags,
            "metadata": created,
        })  # fmt: skip
    return made


@functools.lru_cache(maxsize=2)
def lines(n: int) -> bytes:
    """Return the documents as JSON lines.

    Raises
    ------
    UnexpectedError
        If they do not have the published check values.
    """
    made = b"".join(orjson().dumps(document) + b"\n" for document in documents(n))
    found = hashlib.sha256(made).hexdigest()
    if SHA256.get(n, found) != found:
        raise UnexpectedError(f"{n} documents: found SHA-256 {found}, expected {SHA256[n]}")
    return made


def wanted(n: int) -> list[str]:
    """Return the ids to look up, 1000 of them, in random order."""
    return [f"record_{i:08d}" for i in random.Random(123).sample(range(n), min(1000, n))]
