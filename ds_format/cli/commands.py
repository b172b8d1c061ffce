"""The table of commands, and how a command declares what it takes."""

import importlib
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple


class Option(NamedTuple):
    """One option."""

    name: str
    about: str
    value: str = ""
    """What its value is called. Without one the option is a flag."""

    @property
    def label(self) -> str:
        """How it is written on a command line."""
        if self.value:
            return f"{self.name}: {self.value}"
        return ("-" if len(self.name) == 1 else "--") + self.name


class Command(NamedTuple):
    """What a command takes, and how its help explains that."""

    usage: tuple[str, ...]
    about: str
    arguments: tuple[tuple[str, str], ...]
    """What each is called, and what it is."""
    options: tuple[Option, ...]
    """Those that other commands lack."""
    examples: tuple[tuple[str, str], ...]
    """What is wanted, and the command line that does it."""
    status: str = ""
    """What the exit status says, if that is not the usual."""


SEE = "To see what is in a file"
CONVERT = "To convert and join"
CHECK = "To compare and check"
CHANGE = "To change names, attributes and values"
RECORDS = "For samples and documents"
GROUPS = (SEE, CONVERT, CHECK, CHANGE, RECORDS)
"""Headings of commands in the help, in their order."""


class CommandRow(NamedTuple):
    """One row of the table."""

    module: str
    """Has `COMMAND`, a `Command`, and `run(request)`, which takes an `arguments.Request` and returns what to print."""
    caption: str
    """What the command does, in a few words."""
    pairs: bool = False
    """Whether `KEY: VALUE` between its words are arguments: options of that form then stand first or last."""
    writes: bool = False
    """Whether it makes files, which have to be tidied up if a signal ends it."""
    trouble: int = 1
    """Exit status after an error."""
    group: str = SEE
    """Under which heading it stands in the help."""


class Ended(Exception):
    """A command did all that it was asked for, and its exit status tells what it found.

    Parameters
    ----------
    status : int
    """

    def __init__(self, status: int):
        super().__init__(status)
        self.status = status


COMMANDS = {
    "attrs": CommandRow("ds_format.cli.attrs", "Print attributes."),
    "cat": CommandRow("ds_format.cli.cat", "Print data."),
    "convert": CommandRow("ds_format.cli.convert", "Convert many files, each to its own.", writes=True, group=CONVERT),
    "diff": CommandRow(
        "ds_format.cli.diff", "Compare two datasets: what differs, and by how much.", trouble=2, group=CHECK
    ),
    "dim": CommandRow("ds_format.cli.dim", "Print the size of a dimension."),
    "dims": CommandRow("ds_format.cli.dims", "Print the dimensions of a file or of a variable."),
    "info": CommandRow("ds_format.cli.info", "Print what is in files, on one screen."),
    "inspect": CommandRow("ds_format.cli.inspect_", "Print what is in a BinPickle file."),
    "ls": CommandRow("ds_format.cli.ls", "List the variables of a file."),
    "merge": CommandRow("ds_format.cli.merge", "Join files along a dimension.", writes=True, group=CONVERT),
    "meta": CommandRow("ds_format.cli.meta", "Print the metadata of a file or of a variable."),
    "pack": CommandRow("ds_format.cli.pack", "Pack a store of documents into an archive.", writes=True, group=RECORDS),
    "plot": CommandRow("ds_format.cli.plot", "Draw a variable, in the terminal or as a picture.", writes=True),
    "records": CommandRow(
        "ds_format.cli.records", "Print, copy and change samples or documents.", writes=True, group=RECORDS
    ),
    "reindex": CommandRow(
        "ds_format.cli.reindex", "Make the index of samples or documents anew.", writes=True, group=RECORDS
    ),
    "rename": CommandRow(
        "ds_format.cli.rename", "Rename variables or attributes.", pairs=True, writes=True, group=CHANGE
    ),
    "rename_dim": CommandRow("ds_format.cli.rename_dim", "Rename dimensions.", pairs=True, writes=True, group=CHANGE),
    "rm": CommandRow("ds_format.cli.rm", "Remove variables or attributes.", writes=True, group=CHANGE),
    "select": CommandRow(
        "ds_format.cli.select_", "Convert a file, whole or in part.", pairs=True, writes=True, group=CONVERT
    ),
    "set": CommandRow(
        "ds_format.cli.set_", "Set data, types, dimensions and attributes.", pairs=True, writes=True, group=CHANGE
    ),
    "size": CommandRow("ds_format.cli.size", "Print the size of a variable."),
    "stats": CommandRow("ds_format.cli.stats", "Print statistics of a variable."),
    "type": CommandRow("ds_format.cli.type_", "Print the type of a variable."),
    "unpack": CommandRow(
        "ds_format.cli.unpack", "Unpack an archive of documents to a folder.", writes=True, group=RECORDS
    ),
    "verify": CommandRow("ds_format.cli.verify", "Check files.", group=CHECK),
}
"""All commands by name."""

DEFAULT = "ls"
"""The command of a command line that names none."""


def load(name: str) -> tuple[Command, Callable[[Any], Iterable[Any]]]:
    """Import a command: what it takes, and the function that runs it."""
    module = importlib.import_module(COMMANDS[name].module)
    return module.COMMAND, module.run
