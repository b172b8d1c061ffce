"""What is wanted of each file, in terms that can travel to another process."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple, Protocol

from ... import drivers
from ...api.conversion import convert_selection
from ...base.progress import Progress
from ...model.selection import Selection
from ...views.subset import Subset, open_subset


class Wanted(Protocol):
    """A part of any file. It can be pickled."""

    @property
    def options(self) -> Mapping[str, Any]:
        """Of the format of the target."""
        ...

    @property
    def jd(self) -> bool:
        """Whether times become Julian dates."""
        ...

    def convert(self, source: str, target: str, progress: Progress | None, **options: Any) -> None:
        """Write the part of one file to another; options and errors as `ds_format.convert`."""
        ...

    def opened(self, source: str, *, verify: bool = False) -> Any:
        """Return a context that has the part of a file open, as a `Subset`.

        With `verify` checksums are compared, if the format has them.
        """
        ...

    def told(self) -> Mapping[str, Any]:
        """Return all that decides what is written, but for the suffix of the target."""
        ...


class Selected(NamedTuple):
    """The same variables and positions of each file; see `ds_format.convert`."""

    selection: Selection
    skip_unsupported: bool
    options: Mapping[str, Any]
    """Of the format of the target."""

    @property
    def jd(self) -> bool:
        """See `Wanted`."""
        return self.selection.jd

    def convert(self, source: str, target: str, progress: Progress | None, **options: Any) -> None:
        """See `Wanted`."""
        how: dict[str, Any] = {"skip_unsupported": self.skip_unsupported, "progress": progress}
        convert_selection(source, target, self.selection, **how, **self.options, **options)

    @contextmanager
    def opened(self, source: str, *, verify: bool = False) -> Iterator[Subset]:
        """See `Wanted`."""
        how = verifying(source) if verify else {}
        with open_subset(source, self.selection, skip_unsupported=self.skip_unsupported, **how) as part:
            yield part

    def told(self) -> Mapping[str, Any]:
        """See `Wanted`."""
        return {
            "variables": self.selection.variables,
            "selectors": self.selection.selectors(),
            "jd": self.jd,
            "skip_unsupported": self.skip_unsupported,
            "options": self.options,
        }


def verifying(source: str) -> dict[str, Any]:
    """Return the option of opening a file that compares its checksums; nothing if its format has none."""
    return {"verify": True} if "verify" in drivers.find_existing(source).options else {}
