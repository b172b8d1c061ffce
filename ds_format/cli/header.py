"""Commands that print parts of the header of a file: `attrs`, `dim`, `dims`, `ls`, `size` and `type`."""

from collections.abc import Iterator
from typing import Any

from ..base.text import escape
from . import lookup
from .arguments import TYPE_NAMES, Command, Option, Request, names
from .lookup import ONE_VARIABLE, Finder, not_found


def list_variables(request: Request) -> Iterator[Any]:
    """Yield the name of each variable, or a list of its name and the requested facts; with `-l` first the dimensions.

    Raises
    ------
    DsError, OSError
        If the file cannot be read.
    MissingError
        If no variable exists; for one that does not exist, in strict mode.
    """
    *patterns, path = request.names("[VAR]... INPUT")
    attributes = request.get("a", [])
    is_long = request.flag("l")
    finder = Finder(path, request)
    if (members := lookup.members(path)) is not None:
        yield from finder.find(patterns, members, "file") if patterns else members
        return
    entries = lookup.read(path).variables
    listed = list(entries)
    if patterns:
        listed = finder.find(patterns, listed, "variable")
    known = sorted({name for entry in entries.values() for name in lookup.attributes(entry)})
    for attribute in attributes:
        if attribute not in known:
            finder.miss(not_found(attribute, known, "attribute", path))
    if is_long:
        yield lookup.sizes(entries[name] for name in sorted({*listed}))
    for name in listed:
        entry = entries[name]
        facts = [entry[".type"], entry[".dims"]] if is_long else []
        facts += [entry.get(escape(attribute)) for attribute in attributes]
        yield [name, *facts] if facts else name


def attrs(request: Request) -> Iterator[Any]:
    """Yield all attributes as a dict, or the value of one.

    Raises
    ------
    DsError, OSError
        If the file cannot be read.
    MissingError
        For a variable or attribute that does not exist, except in soft mode.
    """
    (variable, attribute), path = request.optional("VAR", "ATTR")
    finder = Finder(path, request)
    found, entries = lookup.read(path)
    if variable is not None:
        name = finder.find_one(variable, list(entries), "variable")
        found = {} if name is None else lookup.attributes(entries[name])
    if attribute is None:
        yield found
        return
    key = finder.find_one(attribute, list(found), "attribute")
    yield None if key is None else found[key]


def dim(request: Request) -> Iterator[Any]:
    """Yield the size of a dimension; None if its size is unknown. In soft mode, yield 0 if it does not exist.

    Raises
    ------
    DsError, OSError
        If the file cannot be read.
    MissingError
        If the dimension does not exist, except in soft mode.
    """
    pattern, path = request.exactly("DIM", "INPUT", lister="dims")
    sizes = lookup.sizes_in(path)
    name = Finder(path, request).find_one(pattern, sorted(sizes), "dimension")
    yield 0 if name is None else sizes[name]


def dims(request: Request) -> Iterator[Any]:
    """Yield a list of the names of dimensions, or a dict name → size.

    Raises
    ------
    DsError, OSError
        If the file cannot be read.
    MissingError
        If the variable does not exist, except in soft mode.
    """
    (variable,), path = request.optional("VAR")
    entries = lookup.read(path).variables
    if variable is None:
        sizes = lookup.sizes(entries.values())
        listed = sorted(sizes)
    else:
        name = Finder(path, request).find_one(variable, list(entries), "variable")
        chosen = [] if name is None else [entries[name]]
        sizes = lookup.sizes(chosen)
        listed = [dim for entry in chosen for dim in entry[".dims"]]
    yield sizes if request.flag("z") or request.flag("size") else listed


def size(request: Request) -> Iterator[Any]:
    """Yield the shape of a variable as a list; None if it has no data. Errors as in `type_`."""
    yield _of_one(request, ".size")


def type_(request: Request) -> Iterator[Any]:
    """Yield the name of the type of a variable; None if it is unknown.

    Raises
    ------
    DsError, OSError
        If the file cannot be read.
    MissingError
        If the variable does not exist, except in soft mode.
    """
    yield _of_one(request, ".type")


def _of_one(request: Request, name: str) -> Any:
    """Return a property of the variable in the arguments; None if it does not exist."""
    pattern, path = request.exactly("VAR", "INPUT", lister="ls")
    entries = lookup.read(path).variables
    variable = Finder(path, request).find_one(pattern, list(entries), "variable")
    return None if variable is None else entries[variable].get(name)


COMMANDS = {
    "attrs": Command(
        usage=("ds attrs [OPTIONS] [VAR] [ATTR] [--] INPUT",),
        about="Prints all attributes of the dataset or of a variable, or the value of one attribute.",
        arguments=(
            ("VAR", "Name of a variable, or a pattern that matches one. The dataset if absent or none."),
            ("ATTR", "Name of an attribute, or a pattern that matches one. All attributes if absent or none."),
            ("INPUT", "The file."),
        ),
        options=(),
        examples=(
            ("Attributes of the dataset:", "ds attrs data.ds"),
            ("Attributes of a variable:", "ds attrs temperature data.ds"),
            ("One attribute of a variable:", "ds attrs temperature units data.ds"),
            ("One attribute of the dataset:", "ds attrs none title data.ds"),
        ),
        run=attrs,
    ),
    "dim": Command(
        usage=("ds dim [OPTIONS] DIM [--] INPUT",),
        about="Prints the size of a dimension.",
        arguments=(
            ("DIM", "Name of a dimension, or a pattern that matches one."),
            ("INPUT", "The file."),
        ),
        options=(),
        examples=(
            ("Number of times in a file:", "ds dim time data.ds"),
            ("Number of latitudes, by a pattern:", "ds dim 'lat*' data.nc"),
        ),
        run=dim,
    ),
    "dims": Command(
        usage=("ds dims [OPTIONS] [VAR] [--] INPUT",),
        about="Prints the sorted names of all dimensions, or the dimensions of a variable in order.",
        arguments=(
            ("VAR", "Name of a variable, or a pattern that matches one. All dimensions if absent or none."),
            ("INPUT", "The file."),
        ),
        options=(
            Option("size", "The same as -z."),
            Option("z", "Print also the size of each dimension, in order of appearance in the variables."),
        ),
        examples=(
            ("Dimensions of a file with their sizes:", "ds dims -z data.ds"),
            ("Dimensions of a variable:", "ds dims temperature data.ds"),
        ),
        run=dims,
    ),
    "ls": Command(
        usage=("ds [ls] [OPTIONS] [VAR]... [--] INPUT",),
        about="Prints one line for each variable, sorted by name. Only the header of the file is read.",
        arguments=(
            ("VAR", "Name of a variable, or a pattern of names. All variables by default."),
            ("INPUT", "The file."),
        ),
        options=(
            Option("a", "Print these attributes after each name: a name or { NAME... }.", "ATTRS", names),
            Option("l", "Print a line with the sizes of dimensions first, and type and dimensions after each name."),
        ),
        examples=(
            ("Names of all variables:", "ds data.ds"),
            ("Types and dimensions:", "ds ls -l data.ds"),
            ("Units of the variables whose names start with t:", "ds ls 't*' data.ds a: units"),
        ),
        run=list_variables,
    ),
    "size": Command(
        usage=("ds size [OPTIONS] VAR [--] INPUT",),
        about="Prints the size of each dimension of a variable. Prints { } for a scalar, and an empty line for a "
        "variable without data.",
        arguments=ONE_VARIABLE,
        options=(),
        examples=(
            ("Size of a variable:", "ds size temperature data.ds"),
            ("As JSON on one line, for a script:", "ds size -j --noindent pressure data.nc"),
        ),
        run=size,
    ),
    "type": Command(
        usage=("ds type [OPTIONS] VAR [--] INPUT",),
        about=f"Prints the type of the values of a variable: {TYPE_NAMES}. Prints an empty line if the type is "
        "unknown.",
        arguments=ONE_VARIABLE,
        options=(),
        examples=(
            ("Type of a variable:", "ds type temperature data.ds"),
            ("Type of a variable in a NetCDF file, as JSON:", "ds type -j pressure data.nc"),
        ),
        run=type_,
    ),
}
