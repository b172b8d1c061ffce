"""`ds select`: convert a file or a part of it. Also options of reading and writing for all commands."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from types import MappingProxyType
from typing import Any, NamedTuple

from .. import drivers
from ..api.conversion import Output, convert_small, write_subset
from ..api.creation import check_times
from ..base.progress import Progress
from ..base.text import escape, hint, unescape
from ..body import Location, path_text
from ..body.body import Body
from ..errors import is_address
from ..many.converting.task import verifying
from ..model.conventions import with_coordinates
from ..model.selection import Selection
from ..views.subset import Subset, open_subset
from . import lookup, pst
from .arguments import (
    FORMAT,
    GENERAL,
    ArgumentError,
    Command,
    Index,
    Option,
    Request,
    UsageError,
    boolean,
    choice,
    index,
    integer,
    is_index,
    is_none,
    lacking,
    pairs,
    refused,
    shown,
    text,
    word,
)
from .lookup import Changer

TIMES = ("calendar", "time_units")
"""Options of writing times."""

LAYOUT = Option(
    "layout",
    "Layout of a ds file: 1.0 (the default), or 2.0.1 for older programs.",
    "1.0 | 2.0.1",
    choice("1.0", "2.0.1"),
)
CHECKSUM = Option("checksum", "Whether a ds file gets checksums, which `ds verify` compares.", "true | false", boolean)
WIDEN = Option("widen", "Write float16 as float32 in ds and NetCDF files. NetCDF lacks float16.")
WRITTEN = (LAYOUT, CHECKSUM, WIDEN)
"""Options of commands that write datasets."""


def _compression(name: str, value: Any) -> str:
    """Return the name of a compression; `none` is one, too."""
    if value is not None and not isinstance(value, str):
        raise refused(name, "invalid type: expected a name", value)
    return value or "none"


_CHUNKS, _ENCODING = "{ DIM: LENGTH... }", "{ VAR: { KEY: VALUE... }... }"
STORED = (
    Option("bits", "As digits, but round to so many bits of the significand.", "N", integer(1)),
    Option("chunks", "Lengths of chunks in a NetCDF file or a Zarr store.", _CHUNKS, pairs(_CHUNKS, integer(1))),
    Option(
        "compression",
        "Compress variables. NetCDF: zlib, zstd, bzip2, szip, blosc_lz4 and others, or none to decompress. HDF5: "
        "gzip or lzf. Zarr: zstd (the default), gzip, blosc_lz4 and others, or none. Parquet: zstd (the default), "
        "snappy, gzip, brotli, lz4 or none. Arrow: lz4 or zstd.",
        "NAME",
        _compression,
    ),
    Option(
        "decimal",
        "The character before decimals in a CSV file: a point (the default) or a comma.",
        ". | ,",
        choice(".", ","),
    ),
    Option("delimiter", "The character between the cells of a CSV file, such as ';'.", "TEXT", word(none=False)),
    Option(
        "digits",
        "Round floats of a NetCDF file to N significant digits, so that they compress better. Coordinates are not "
        "rounded.",
        "N",
        integer(1),
    ),
    Option(
        "encoding",
        "How variables of a NetCDF file are stored, with the keys of xarray (zlib, complevel, chunksizes) and digits "
        "and bits. It has priority over the options for all variables.",
        _ENCODING,
        pairs(_ENCODING, pairs("{ KEY: VALUE... }", lambda _, value: value)),
    ),
    Option(
        "excel",
        "Write a CSV file for Excel: with a byte order mark, and times as dates that it knows. Excel expects the "
        "decimal of its language.",
        "true | false",
        boolean,
    ),
    Option("level", "Level of compression, from fast to small: for zlib 1 to 9, by default 4.", "N", integer()),
    Option(
        "scalars",
        "Whether a CSV, Parquet or Arrow file repeats scalars in all rows; false by default: they are left out, with a "
        "warning.",
        "true | false",
        boolean,
    ),
    Option(
        "shards", "Lengths of shards, files with many chunks, in a Zarr store.", _CHUNKS, pairs(_CHUNKS, integer(1))
    ),
    Option("shuffle", "Whether bytes of values are shuffled before zlib; true by default.", "true | false", boolean),
    Option("units", "Whether the second line of a CSV file has units.", "true | false", boolean),
)
"""Options of commands that write datasets of other files, about how files of other formats store them."""

_READING = "{ KEY: VALUE... }"
READ = (
    Option(
        "comments",
        "The character at the start of lines of INPUT, a CSV file, that are skipped, such as '#'. By default none are.",
        "TEXT",
        word(none=False),
    ),
    Option(
        "reading",
        "How INPUT, a CSV file, is read: comments, decimal, delimiter, skip, units. Without it, decimal, delimiter and "
        "units are those of OUTPUT if this is a CSV file, otherwise of INPUT.",
        _READING,
        pairs(_READING, lambda _, value: value),
    ),
    Option("skip", "Lines of INPUT, a CSV file, that are skipped before the names.", "N", integer(0)),
)
"""Options of commands that convert, about how INPUT is read."""

SKIP_UNSUPPORTED = Option(
    "skip-unsupported", "Skip variables with unsupported types with a warning instead of failing."
)
DIM = Option(
    "dim",
    "For samples (.msgpack) and documents (.zds): create one for each position along this dimension. By default an "
    "unlimited dimension, or else the first dimension of most variables.",
    "DIM",
    word(none=False),
)
KEY = Option(
    "key",
    "For samples and documents: take keys from this variable. By default keys are numbers.",
    "VAR",
    word(none=False),
)
"""Options of commands that convert."""


def reading(request: Request, **fields: Any) -> Selection:
    """Return the selection of the options `sel`, `range`, `at` and `between`: positions in all variables.

    Parameters
    ----------
    request : Request
    **fields
        Other fields of the selection.

    Raises
    ------
    ArgumentError
        If the form of an option differs from the one that its help shows.
    """
    selectors = {"sel": "sel", "range_": "range", "between": "between", "at": "at"}
    found: dict[str, Any] = {field: request.get(name) or None for field, name in selectors.items()}
    return Selection(**{**found, **fields})


def of_input(request: Request, target: str) -> dict[str, Any]:
    """Return the options of tables that are for the input: those that the output does not have.

    Raises
    ------
    ArgumentError
        If an option has an invalid form.
    """
    found = {name: request.get(name) for name in sorted(drivers.TABLE) if name in request.options}
    creation = drivers.find(target).creation if found else ()
    return {name: value for name, value in found.items() if name not in creation}


def writing(request: Request, target: str, other: Collection[str] = ()) -> dict[str, Any]:
    """Return the options of creating a file: of times, records and storage, the layout of ds files, checksums.

    `other` has the names of options that are not for it.

    Raises
    ------
    ArgumentError
        If an option has an invalid form, or the format of the target has no layouts or checksums.
    DriverError
        If no format has the suffix of the target, or the format does not support an option.
    """
    every = (*TIMES, "times", "dim", "key", *(option.name for option in STORED))
    found: dict[str, Any] = {name: request.get(name) for name in every if name in request.options and name not in other}
    if found:
        drivers.check_creation(drivers.find(target), target, found, every)
    if request.flag("widen"):
        drivers.check_creation(drivers.find(target), target, ("widen",), every)
        found["widen"] = True
    if "times" in found:
        check_times(**{name: found[name] for name in (*TIMES, "times") if name in found})
    for name, argument in (("layout", "version"), ("checksum", "checksum")):
        value = request.get(name)
        if value and drivers.find(target).name != "ds":
            raise ArgumentError(f"{target}: {name} is not possible with this format")
        if value is not None:
            found[argument] = value
    return found


def check_files(words: Sequence[Any]) -> None:
    """Check the arguments of a command that writes one file to another: the last two are INPUT and OUTPUT.

    Raises
    ------
    UsageError
        If one of them is missing.
    ArgumentError
        If OUTPUT is a folder, and not a store of documents.
    """
    names = [*map(str, words)]
    found = [name for name in names[-1:] if os.path.isfile(name)]
    # A variable in place of INPUT, and INPUT in place of OUTPUT, which would be overwritten.
    is_shifted = len(words) > 1 and not (
        os.path.exists(names[-2]) or is_address(names[-2]) or drivers.is_known(names[-2]) or is_none(words[-2])
    )
    if found and (len(words) == 1 or is_shifted):
        raise UsageError(f"OUTPUT is missing: found only {found[0]}, expected INPUT OUTPUT")
    if len(words) < 2:
        raise lacking(["INPUT or OUTPUT"] if words else ["INPUT", "OUTPUT"], words)
    refuse_folder(names[-1], "new.ds" if is_none(words[-2]) else os.path.basename(shown(names[-2]).rstrip("/")))


def refuse_folder(output: str, example: str) -> None:
    """Raise `ArgumentError` if the name of an output is that of a folder, and of no store of documents.

    The message proposes the file `example` in this folder.
    """
    if os.path.isdir(output) and not drivers.is_known(output):
        raise ArgumentError(f"{output}: this is a folder: name a file in it, as {os.path.join(output, example)}")


def with_options(request: Request, words: Iterable[Any], is_argument: Callable[[str, Any], bool]) -> Request:
    """Return a request with options that are among its arguments, for commands that take `KEY: VALUE` arguments.

    Parameters
    ----------
    request : Request
    words : iterable
        Those of its arguments whose pairs can be options.
    is_argument : callable
        Takes the name of an option and its value; returns whether they are an argument nevertheless.

    Raises
    ------
    UsageError
        If a flag has a value, or an option none.
    """
    options = dict(request.options)
    kept: list[Any] = []
    among = {id(word) for word in words}
    for item in request.words:
        if not isinstance(item, dict) or id(item) not in among:
            kept.append(item)
            continue
        values = pst.value(item)
        found = {name for name in item if _is_option(request, name) and not is_argument(name, values[name])}
        options.update((name, values[name]) for name in found)
        pairs = {name: value for name, value in item.items() if name not in found}
        kept += [pairs] if pairs or not found else []
    request = request._replace(words=kept, options=options).check(request.known_options.values())
    request.check_flags()
    return request


def _is_option(request: Request, name: str) -> bool:
    return name in request.known_options and request.known_options[name] not in GENERAL


def are_times_converted(request: Request) -> bool:
    """Whether the request converts times to other units or to another calendar."""
    return any(name in request.options for name in TIMES)


class Matching(NamedTuple):
    """Selection and options of writing of a command line, for any file. Picklable."""

    wanted: tuple[str, ...]
    """Names of variables, or patterns; empty: all variables."""
    indexes: Mapping[str, Index]
    """Positions along dimensions, whose names may be patterns."""
    selection: Selection
    """`range_`, `at`, `between`, and whether times become Julian dates, because they will be written in other units."""
    skip_unsupported: bool
    fixed: bool
    """Whether names are literal, not patterns."""
    options: Mapping[str, Any]
    """Options of creating a file."""
    coords: bool = False
    """Whether to include coordinates of the variables, and bounds of coordinates."""
    format: str | None = None
    """Format of the input, whatever its suffix and content."""
    reading: Mapping[str, Any] = MappingProxyType({})
    """Options of the format of the input."""

    @property
    def jd(self) -> bool:
        """Whether times become Julian dates."""
        return self.selection.jd

    @property
    def is_everything(self) -> bool:
        """Whether it selects whole files, as they are."""
        return not (self.wanted or self.indexes) and self.selection.is_everything

    @contextmanager
    def opened(self, source: Location, *, verify: bool = False, body: Body | None = None) -> Iterator[Subset]:
        """Open the part of a file; see `FilePart`. `body` is the file, if it is open.

        Raises
        ------
        MissingError
            If no variable exists, or a dimension does not; for any missing variable in strict mode.
        """
        given: dict[str, Any] = verifying(source) if verify else {} if body is None else {"body": body}
        given |= {"skip_unsupported": self.skip_unsupported, "reading": self.reading}
        format = None if self.format is None else drivers.of_format(self.format)
        with open_subset(source, format=format, **given) as whole:
            entries = lookup.from_metadata(whole.meta).variables
            finder = Changer(path_text(source), Request("", [], {"F": self.fixed}))
            variables = None
            if self.wanted:
                variables = list(dict.fromkeys(finder.find(self.wanted, list(entries), "variable")))
                finder.settle(changes=bool(variables))
                if self.coords:
                    meta = {escape(name): entry for name, entry in entries.items()}
                    dims_of = {key: entry[".dims"] for key, entry in meta.items()}
                    variables = [*map(unescape, with_coordinates(map(escape, variables), meta, dims_of))]
            dims = list(lookup.sizes(entries.values()))
            sel = {dim: i for name, i in self.indexes.items() for dim in finder.require(name, dims, "dimension")}
            yield whole.part(self.selection._replace(variables=variables, sel=sel))

    def convert(self, source: Location, target: str, progress: Progress | None, **more: Any) -> None:
        """Write the part of a file to another one."""
        output, body = Output.of(target, {**self.options, **more}), None
        if self.is_everything and self.format is None and not self.reading:
            is_done, body = convert_small(source, output, progress)
            if is_done:
                return
        with self.opened(source, body=body) as part:
            write_subset(part, output, progress)

    def parameters(self) -> Mapping[str, Any]:
        """Return everything that determines the output, except the suffix of the target."""
        fields = self._asdict() | {"selectors": self.selection.selectors(), "jd": self.jd}
        del fields["selection"]
        return {name: value for name, value in fields.items() if name not in ("coords", "format", "reading") or value}


def matching(request: Request, variables: Iterable[str], pairs: Iterable[Mapping[str, Any]], target: str) -> Matching:
    """Return selection and options of writing of a request.

    Parameters
    ----------
    request : Request
    variables : iterable of str
        Names of variables, or patterns.
    pairs : iterable of dict
        `DIM: INDEX` pairs in addition to the option `sel`.
    target : str
        The output, or any name with the same suffix.

    Raises
    ------
    ArgumentError
        If the form of an option differs from the one that its help shows.
    """
    given = of_input(request, target)
    creation = writing(request, target, given)
    indexes = {dim: index(dim, value) for some in pairs for dim, value in some.items()}
    return Matching(
        tuple(variables),
        {**indexes, **request.get("sel", {})},
        reading(request, sel=None, jd=are_times_converted(request)),
        request.flag("skip-unsupported"),
        request.flag("F"),
        creation,
        request.flag("coords"),
        request.get("format"),
        {**given, **request.get("reading", {})},
    )


def _is_dimension(source: str, name: str, value: Any) -> bool:
    """Whether the name of an option is that of a dimension, because its value is an index, as in `level: 4`."""
    return is_index(value) and (not drivers.is_known(source) or name in lookup.sizes_in(source))


def run(request: Request) -> Iterable[Any]:
    """Write the file; there is nothing to print.

    Raises
    ------
    DsError, OSError
        If a file cannot be read or written.
    IndexError
        For an index beyond the size of its dimension.
    MissingError
        If no variable exists, or a dimension does not; for any missing variable in strict mode.
    """
    words = [text(word, "argument") for word in request.words if not isinstance(word, dict)]
    check_files(words)
    *variables, source, target = words
    request = with_options(request, request.words, partial(_is_dimension, source))
    pairs = [pst.value(word) for word in request.words if isinstance(word, dict)]
    for name in (name for some in pairs for name, value in some.items() if not is_index(value)):
        meant = hint(name, request.known_options)
        if meant and os.path.isfile(source) and name not in lookup.sizes_in(source):
            raise UsageError(f'unrecognized option "{name}"{meant}')
    matching(request, variables, pairs, target).convert(source, target, request.progress)
    return ()


COMMANDS = {
    "select": Command(
        usage=("ds select [OPTIONS] [VAR]... [DIM: INDEX]... [--] INPUT OUTPUT",),
        about="Writes all or some variables of a file, or parts of them, to another file. The suffixes determine the "
        "formats. If the suffix of INPUT is unknown, its content determines the format. OUTPUT may be INPUT, and is "
        "replaced atomically.",
        arguments=(
            ("VAR", "Name of a variable, or a pattern of names. All variables by default."),
            (
                "DIM: INDEX",
                (
                    "Positions along a dimension, counted from 0 or, if negative, from the end. An integer removes "
                    "the dimension. { INTEGER... } or { true false... } keeps it."
                ),
            ),
            ("INPUT", "The file to read."),
            ("OUTPUT", "The file to write."),
        ),
        options=(
            Option("coords", "Write also coordinates of the variables, and bounds of coordinates."),
            FORMAT,
            SKIP_UNSUPPORTED,
            DIM,
            *WRITTEN,
            *STORED,
            *READ,
            KEY,
        ),
        examples=(
            ("Convert a NetCDF file, as `ds convert input.nc output.ds` does:", "ds select input.nc output.ds"),
            ("Two variables, at the first time:", "ds select temperature pressure time: 0 input.nc output.ds"),
            ("A variable with its coordinates:", "ds select --coords temperature input.nc output.ds"),
            ("The first and the last latitude:", "ds select lat: '{' 0 -1 '}' input.ds output.ds"),
            (
                "One sample for each time, with the time as key:",
                "ds dim: time key: time select input.nc output.msgpack",
            ),
            ("One JSON document for each time:", "ds dim: time select input.nc output.zds"),
            ("A table with an unknown suffix:", "ds select table.dat output.ds format: csv"),
            (
                "A table with decimal commas, after two other lines:",
                "ds select table.csv output.ds decimal: , skip: 2",
            ),
            (
                "A table for Excel, with decimal commas:",
                "ds select table.dat output.csv format: csv excel: true decimal: ,",
            ),
            ("A compressed file of 4 significant digits:", "ds select input.ds output.nc compression: zlib digits: 4"),
            ("Everything except variables of compound types:", "ds select --skip-unsupported input.nc output.ds"),
        ),
        run=run,
    ),
}
