"""Many files converted: from what is asked for to a record of each file."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from concurrent.futures import Executor
from typing import Any

from ... import drivers
from ...base.progress import Progress
from ...model.selection import Selection, Selector
from ...views.subset import Path
from .bookkeeping import Each, How, Run
from .inputs import Input, find
from .journal import Journal
from .plan import check_folder, planned, planned_one, suffix_of
from .records import Conversion
from .wanted import Selected, Wanted
from .workspace import JOURNAL, Beside, check_inputs, check_outside


def convert_many(
    paths: Path | Iterable[Path],
    outdir: Path,
    *,
    to: str = "ds",
    variables: str | Sequence[str] | None = None,
    sel: Selector = None,
    range_: Selector = None,
    at: Selector = None,
    between: Selector = None,
    jd: bool = False,
    skip_unsupported: bool = False,
    executor: Executor | None = None,
    jobs: int | None = None,
    resume: bool = False,
    overwrite: bool = False,
    fail_fast: bool = False,
    verify: bool = False,
    dry_run: bool = False,
    report: Path | None = None,
    progress: Progress | None = None,
    each: Each | None = None,
    **options: Any,
) -> list[Conversion]:
    """Convert many files to another format, each to a file of its own.

    Each output is whole or absent. What is wrong with one file does not keep others from being converted; the records
    say which failed, and why.

    Parameters
    ----------
    paths : str, bytes or PathLike, or iterable of them
        Files, folders, and patterns with `*`, `?`, `[...]` and `**`. From folders and patterns come files of a known
        suffix or with recognised content. A warning counts the others. Links to folders are not followed there, and
        names that begin with a dot are left out. Links and folders that cannot be read are failed records.
    outdir : str, bytes or PathLike
        The folder of the outputs, which is made. Files keep their folders below the one that was given, or below the
        part of a pattern before its first wildcard.
    to : str
        Suffix of the outputs, which tells their format.
    variables, sel, range_, at, between, jd, skip_unsupported
        As `ds_format.convert`.
    executor : concurrent.futures.Executor, optional
        Who converts, instead of this process: processes, or a dask client's `get_executor()`. The files must be where
        its workers see them under the same paths.
    jobs : int, optional
        How many files are converted at once: by threads if all are large and read without a library, else by processes.
        By default 1, in this process.
    resume : bool
        Leave out what is done: by a journal in `outdir` that has size and time of each input, what was asked for, and
        the size of the output. Other outputs are replaced, and what killed runs have left is removed.
    overwrite : bool
        Convert all, and replace outputs that exist. Without this and `resume`, they are an error.
    fail_fast : bool
        End with the first file that fails.
    verify : bool
        Read each output back and compare it, before it gets its name.
    dry_run : bool
        Write nothing: the records say what would be done.
    report : str, bytes or PathLike, optional
        A JSON file to be written in the end: an array with an object for each input.
    progress : callable, optional
        Called with the bytes done and the bytes in all, both of the inputs.
    each : callable, optional
        Called with the record of each file as soon as there is one.
    **options
        Of the driver of the outputs.

    Returns
    -------
    list of Conversion
        A record for each input, in order.

    Raises
    ------
    MissingError, DriverError
        If a pattern matches nothing, a folder has no file of a known format, or there is no such format or option.
    FileExistsError
        If outputs exist.
    UnsupportedError
        If two inputs would become one output, an output would replace an input, or an input is one of the hidden files
        of runs.
    BusyError
        If another run writes to `outdir`.
    OSError
        If `outdir` cannot be written to.

    Examples
    --------
    >>> import os
    >>> from ds_format import read, write
    >>> os.makedirs("archive/2026")
    >>> for month in ("01", "02"):
    ...     write(f"archive/2026/{month}.ds", {"x": [int(month)]})
    >>> for one in convert_many("archive/**/*.ds", "tables", to="csv", jobs=2):
    ...     print(one.input, one.status, one.output)
    archive/2026/01.ds converted tables/2026/01.csv
    archive/2026/02.ds converted tables/2026/02.csv
    """
    words = [paths] if isinstance(paths, (str, bytes, os.PathLike)) else paths
    names = (variables,) if isinstance(variables, str) else None if variables is None else tuple(variables)
    selection = Selection(names, sel, range_, at, between, jd or not drivers.TIMES.isdisjoint(options))
    return run(
        [os.fsdecode(word) for word in words],
        os.fsdecode(outdir),
        suffix_of(to),
        Selected(selection, skip_unsupported, options),
        How(executor, jobs, resume, overwrite, fail_fast, verify, dry_run, report, progress, each),
    )


def run(words: Sequence[str], outdir: str, suffix: str, wanted: Wanted, how: How) -> list[Conversion]:
    """Convert many files to a folder; parameters and errors as `convert_many`."""
    how.check()
    check_options(suffix, wanted.options)
    check_folder(outdir)
    found = find(words, outdir)
    inputs = _without_outputs(found.inputs, outdir)
    check_inputs([one.path for one in inputs], outdir)
    found.warn()
    return Run(planned(inputs, outdir, suffix), outdir, suffix, wanted, how).run()


def _without_outputs(inputs: list[Input], outdir: str) -> list[Input]:
    """Leave out the outputs that earlier runs made from other inputs, if outputs are next to their inputs."""
    paths = [os.path.abspath(one.path) for one in inputs]
    there, top = set(paths), os.path.abspath(outdir)
    done = Journal(os.path.join(outdir, JOURNAL)).done.values()
    made = {os.path.join(top, one.output): one.input for one in done if one.input in there}
    return [one for one, path in zip(inputs, paths, strict=True) if made.get(path, path) == path]


def run_one(path: str, output: str, wanted: Wanted, how: How) -> list[Conversion]:
    """Convert one file; parameters and errors as `convert_many`, but there is no journal to resume by."""
    how.check()
    check_options(output, wanted.options)
    check_outside([path], Beside.folder_of(output))
    return Run(planned_one(path, output), None, os.path.splitext(output)[1], wanted, how).run()


def check_options(output: str, options: Iterable[str]) -> None:
    """Check that a file can be created with options.

    Raises
    ------
    DriverError
        If the format has no such option.
    """
    driver = drivers.find(output)
    drivers.check_creation(driver, output, list(options), driver.creation)
