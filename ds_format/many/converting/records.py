"""What became of each file of a run, and the report of it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from ...body.target import resolve
from ...kernels.files import files
from ...views.subset import Path

CONVERTED, SKIPPED, FAILED, CANCELLED, PLANNED = "converted", "skipped", "failed", "cancelled", "planned"
STATUSES = (CONVERTED, SKIPPED, FAILED, CANCELLED, PLANNED)


class Conversion(NamedTuple):
    """What became of one file that was to be converted.

    Examples
    --------
    >>> import ds_format as ds
    >>> ds.write("here.ds", {"x": 1})
    >>> [one] = ds.convert_many(["here.ds"], "elsewhere", to="json")
    >>> one.output, one.status, one.cause
    ('elsewhere/here.json', 'converted', None)
    """

    input: str
    """The file, or a link or folder that cannot be read."""
    output: str | None
    """What it became or was to become; None if it cannot be read and its format is not known."""
    status: str
    """`converted`; `skipped`: it was done before; `failed`; `cancelled`: the run ended before it was done; `planned`:
    it would be converted."""
    cause: str | None = None
    """Why it failed."""
    seconds: float = 0.0
    """What converting took."""
    size: int = 0
    """Of the output, in bytes."""
    warnings: tuple[str, ...] = ()
    """What was said meanwhile."""

    def report(self) -> dict[str, Any]:
        """Return it as reports have it."""
        told: dict[str, Any] = {"input": self.input, "output": self.output, "status": self.status, "cause": self.cause}
        told |= {"seconds": round(self.seconds, 6), "bytes": self.size}
        return {**told, "warnings": list(self.warnings)} if self.warnings else told


def write_report(path: Path, records: Sequence[Conversion]) -> None:
    """Write a JSON file: an array with an object for each input.

    Raises
    ------
    OSError
        If that is not possible.
    """
    lines = ",\n".join(json.dumps(record.report()) for record in records)
    data = f"[\n{lines}\n]\n".encode()
    if not files.write_file(path, [data]):
        files.write_file(resolve(path)[0], [data])
