"""`ds verify`: check files."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .. import drivers
from ..api.verification import verify
from ..base.progress import share_of
from ..body import Address, Location, size_of
from ..drivers.base import ERROR, Problem
from ..errors import DsError
from ..many.converting.inputs import find_inputs, selects_many
from .arguments import Command, Option, Request


def run(request: Request) -> Iterator[Any]:
    """Yield each problem; with `-j` one list of them all.

    Raises
    ------
    DsError
        At the end, if a file has an error.
    """
    names = request.names("INPUT...")
    strict, checksum, as_json = (request.flag(name) for name in ("strict", "checksum", "j"))
    paths: dict[Location, None] = {}
    every: list[Problem] = []
    for name in names:
        try:
            paths.update(dict.fromkeys(files_of(name)))
        except DsError as error:
            every.append(Problem(error.path or name, None, error.message, ERROR))
    if not as_json:
        yield from map(_line, every)
    failed, n, done = len(every), len(every) + len(paths), 0
    sizes = [_size_of(path) if request.progress is not None else 0 for path in paths]
    for path, size in zip(paths, sizes, strict=True):
        problems = verify(
            path, strict=strict, checksum=checksum, progress=share_of(request.progress, done, size, sum(sizes))
        )
        done += size
        failed += any(strict or problem.severity == ERROR for problem in problems)
        every += problems
        if not as_json:
            yield from map(_line, problems)
    if as_json:
        yield [problem._asdict() for problem in every]
    if failed:
        raise DsError(f"{failed} of {n} files failed" if n > 1 else "the file failed")


def files_of(name: str) -> list[Location]:
    """Return the files for an argument.

    Raises
    ------
    MissingError, DriverError
        If a folder has no files, or a pattern matches none.
    UnsupportedError, OSError
        If they cannot be listed.
    """
    where: Location = drivers.located(name)
    if selects_many(where):
        found = find_inputs([where], None)
        found.warn()
        return [one.location for one in found.inputs]
    return [where]


def _size_of(path: Location) -> int:
    """Return the bytes of a file, or of all files in a folder; 0 if it does not exist, or is elsewhere."""
    try:
        return 0 if isinstance(path, Address) else size_of(path)
    except OSError:
        return 0


def _line(problem: Problem) -> list[str | None]:
    return [problem.path, problem.variable, problem.severity, problem.message]


COMMANDS = {
    "verify": Command(
        usage=("ds verify [OPTIONS] [--] INPUT...",),
        about="Reads each file completely, and prints a line for each problem: file, variable (none for the whole "
        "file), severity and description. An error means that data are wrong or unreadable. A warning means that "
        "ds_format can read the data, but other programs may fail. The exit status is 1 if there is an error.",
        arguments=(
            (
                "INPUT",
                (
                    "A file of any format, a folder that is a dataset, another folder, or a pattern with *, ?, [...] "
                    "or **. In folders and patterns, files with a known suffix or recognised content are checked, "
                    "and a warning counts the others. Addresses are checked, too. A file that cannot be opened is an "
                    "error."
                ),
            ),
        ),
        options=(
            Option(
                "strict",
                "Exit with status 1 also for warnings. Warn also about unusual ds files: variables that share bytes, "
                "NaN in attributes, names that are not text.",
            ),
            Option("checksum", "Warn about ds files without checksums. Existing checksums are always compared."),
        ),
        examples=(
            ("Check some files:", "ds verify a.ds b.nc"),
            ("Check all files in a folder and its subfolders:", "ds verify archive"),
            ("List the problems as JSON:", "ds verify -j a.ds"),
        ),
        run=run,
    ),
}
