"""The table of commands. The module of a command is imported to run it."""

from collections.abc import Sequence
from typing import NamedTuple

from . import arguments
from .arguments import Command, Request

SEE = "To look into a file"
CONVERT = "To convert and join"
CHECK = "To compare and check"
CHANGE = "To change names, attributes and values"
RECORDS = "For samples and documents"
GROUPS = (SEE, CONVERT, CHECK, CHANGE, RECORDS)
"""Headings of commands in the help, in their order."""


class CommandRow(NamedTuple):
    """One row of the table."""

    caption: str
    """A phrase that says what the command does."""
    pairs: bool = False
    """Whether `KEY: VALUE` between its words can be arguments. Otherwise they are options."""
    pairs_at_end: bool = False
    """Whether they can be at the end of its words, too."""
    writes: bool = False
    """Whether it writes files, so that temporary files must be removed if a signal ends it."""
    trouble: int = 1
    """Exit status after an error."""
    group: str = SEE
    """Its heading in the help."""
    is_local: bool = False
    """Whether all its words are local paths, so that addresses are refused."""
    reads_parts: bool = False
    """Whether it reads the part of the data that the options of reading select."""
    writes_times: bool = False
    """Whether the options of writing apply to what it writes."""


COMMANDS = {
    "append": CommandRow("Append files to a file or a series.", writes=True, group=CONVERT, writes_times=True),
    "attrs": CommandRow("Print attributes."),
    "cat": CommandRow("Print data.", reads_parts=True),
    "compact": CommandRow("Make one file of a series.", writes=True, group=CONVERT, is_local=True),
    "convert": CommandRow(
        "Convert one file or many files.", writes=True, group=CONVERT, reads_parts=True, writes_times=True
    ),
    "diff": CommandRow("Compare two datasets, and print the differences.", trouble=2, group=CHECK, reads_parts=True),
    "dim": CommandRow("Print the size of a dimension."),
    "dims": CommandRow("Print the dimensions of a file or of a variable."),
    "hash": CommandRow("Print and check hashes of the content of files.", group=CHECK),
    "info": CommandRow("Print an overview of files."),
    "inspect": CommandRow("Print the contents of a BinPickle file.", is_local=True),
    "ls": CommandRow("List the variables of a file."),
    "merge": CommandRow(
        "Join files along a dimension.", writes=True, group=CONVERT, reads_parts=True, writes_times=True
    ),
    "meta": CommandRow("Print the metadata of a file or of a variable."),
    "pack": CommandRow(
        "Pack files, or a store of documents, into an archive.", writes=True, group=RECORDS, is_local=True
    ),
    "plot": CommandRow("Plot a variable in the terminal or into a picture.", writes=True, reads_parts=True),
    "records": CommandRow("Print, copy and change samples or documents.", writes=True, group=RECORDS),
    "reindex": CommandRow("Rebuild the index of samples or documents.", writes=True, group=RECORDS, is_local=True),
    "rename": CommandRow(
        "Rename variables or attributes.", pairs=True, writes=True, group=CHANGE, reads_parts=True, writes_times=True
    ),
    "rename_dim": CommandRow(
        "Rename dimensions.", pairs=True, writes=True, group=CHANGE, reads_parts=True, writes_times=True
    ),
    "rm": CommandRow("Remove variables or attributes.", writes=True, group=CHANGE, reads_parts=True, writes_times=True),
    "select": CommandRow(
        "Select variables and parts of a file, and convert them.",
        pairs=True,
        writes=True,
        group=CONVERT,
        reads_parts=True,
        writes_times=True,
    ),
    "set": CommandRow(
        "Set data, types, dimensions and attributes.",
        pairs=True,
        writes=True,
        group=CHANGE,
        reads_parts=True,
        writes_times=True,
    ),
    "size": CommandRow("Print the size of a variable."),
    "sql": CommandRow("Query files by SQL, as tables.", pairs=True, pairs_at_end=True, writes=True, writes_times=True),
    "stats": CommandRow("Print statistics of a variable.", reads_parts=True),
    "type": CommandRow("Print the type of a variable."),
    "unpack": CommandRow("Unpack an archive of documents to a folder.", writes=True, group=RECORDS, is_local=True),
    "verify": CommandRow("Check files for damage.", group=CHECK),
    "virtualize": CommandRow("Write references, by which files are read as Zarr.", writes=True, group=CONVERT),
    "vrt": CommandRow("Describe a variable for GDAL.", writes=True, group=CONVERT, is_local=True),
}
"""All commands by name."""

DEFAULT = "ls"
"""The command of a command line that names none."""

_TAKES_PAIRS = {name: row.pairs for name, row in COMMANDS.items()}
_TAKES_PAIRS_AT_END = {name for name, row in COMMANDS.items() if row.pairs_at_end}


def read(argv: Sequence[str]) -> Request:
    """Parse a command line without the name of the program; see `arguments.read`."""
    return arguments.read(argv, _TAKES_PAIRS, _TAKES_PAIRS_AT_END)


def load(name: str) -> Command:
    """Import a command."""
    match name:
        case "append" | "compact":
            from .append import COMMANDS as found
        case "cat" | "stats":
            from .values import COMMANDS as found
        case "convert":
            from .convert import COMMANDS as found
        case "diff":
            from .diff import COMMANDS as found
        case "hash":
            from .hash_ import COMMANDS as found
        case "info" | "meta":
            from .info import COMMANDS as found
        case "inspect" | "pack" | "reindex" | "unpack":
            from .containers import COMMANDS as found
        case "merge":
            from .merge import COMMANDS as found
        case "plot":
            from .plot import COMMANDS as found
        case "records":
            from .records import COMMANDS as found
        case "rename" | "rename_dim" | "rm" | "set":
            from .change import COMMANDS as found
        case "select":
            from .select_ import COMMANDS as found
        case "sql":
            from .sql import COMMANDS as found
        case "verify":
            from .verify import COMMANDS as found
        case "virtualize":
            from .virtualize import COMMANDS as found
        case "vrt":
            from .vrt import COMMANDS as found
        case _:
            from .header import COMMANDS as found
    return found[name]
