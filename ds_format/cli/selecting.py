"""Which part of a file a command line means: patterns of names, and positions along dimensions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

from .. import drivers
from ..api.conversion import write_subset
from ..base.names import escape, unescape
from ..base.progress import Progress
from ..many.converting.wanted import verifying
from ..model.conventions import with_coordinates
from ..model.selection import Selection
from ..views.subset import Subset, open_subset
from . import metadata, options
from .arguments import Request, read_format
from .patterns import Changer


class Matching(NamedTuple):
    """What is wanted of any file. It can be sent to another process."""

    wanted: tuple[str, ...]
    """Names of variables, or patterns; all without any."""
    indexes: Mapping[str, options.Index]
    """Positions along dimensions, whose names may be patterns, too."""
    selection: Selection
    """`range_`, `at`, `between`, and whether times become Julian dates, to be written in other units."""
    skip_unsupported: bool
    fixed: bool
    """Whether names are no patterns."""
    options: Mapping[str, Any]
    """Of creating a file."""
    coords: bool = False
    """Whether variables bring their coordinates, and the bounds of these."""
    format: str | None = None
    """Of the input, whatever its suffix and content."""

    @property
    def jd(self) -> bool:
        """Whether times become Julian dates."""
        return self.selection.jd

    @contextmanager
    def opened(self, source: str, *, verify: bool = False) -> Iterator[Subset]:
        """Open the part of a file; see `Wanted`.

        Raises
        ------
        MissingError
            If none of the variables, or one of the dimensions, does not exist; for any variable in strict mode.
        """
        compared = verifying(source) if verify else {}
        format = None if self.format is None else drivers.of_format(self.format)
        with open_subset(source, skip_unsupported=self.skip_unsupported, format=format, **compared) as whole:
            entries = metadata.contents(whole.meta).variables
            finder = Changer(source, Request("", [], {"F": self.fixed}))
            variables = None
            if self.wanted:
                variables = list(dict.fromkeys(finder.find(self.wanted, list(entries), "variable")))
                finder.settle(changes=bool(variables))
                if self.coords:
                    meta = {escape(name): entry for name, entry in entries.items()}
                    dims_of = {key: entry[".dims"] for key, entry in meta.items()}
                    variables = [*map(unescape, with_coordinates(map(escape, variables), meta, dims_of))]
            dims = list(metadata.sizes(entries.values()))
            sel = {dim: i for name, i in self.indexes.items() for dim in finder.require(name, dims, "dimension")}
            yield whole.part(self.selection._replace(variables=variables, sel=sel))

    def convert(self, source: str, target: str, progress: Progress | None, **more: Any) -> None:
        """Write the part of a file to another one."""
        with self.opened(source) as part:
            write_subset(part, target, progress, **self.options, **more)

    def told(self) -> Mapping[str, Any]:
        """Return all that decides what is written, but for the suffix of the target."""
        fields = self._asdict() | {"selectors": self.selection.selectors(), "jd": self.jd}
        del fields["selection"]
        return {name: value for name, value in fields.items() if name not in ("coords", "format") or value}


def matching(request: Request, wanted: list[str], pairs: list[dict[str, Any]], creation: Mapping[str, Any]) -> Matching:
    """Return what a request wants of files.

    Parameters
    ----------
    request : Request
    wanted : list of str
        Names of variables.
    pairs : list of dict
        `DIM: INDEX` pairs beside those of the option `sel`.
    creation : dict
        Options of creating files.

    Raises
    ------
    ArgumentError
        If an option is not of the form that its help shows.
    """
    indexes = options.positions([*pairs, *options.objects(request, "sel")])
    selection = options.reading(request)._replace(sel=None, jd=options.are_times_converted(request))
    return Matching(
        tuple(wanted),
        indexes,
        selection,
        bool(request.options.get("skip-unsupported")),
        bool(request.options.get("F")),
        creation,
        bool(request.options.get("coords")),
        read_format(request),
    )
