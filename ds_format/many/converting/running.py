"""Converting many files, each to another one: from the arguments to a record of each file, and the report."""

from __future__ import annotations

import contextlib
import json
import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from typing import TYPE_CHECKING, Any, NamedTuple, Unpack

from ... import drivers
from ...base import modes
from ...base.error_text import describe
from ...base.progress import Progress
from ...body import Address, Location, path_text, size_of
from ...body.target import resolve
from ...errors import DriverError, UnsupportedError
from ...kernels.files import files
from ...model.selection import Selection, Selector
from ...model.settings import ROUNDING
from ...views.subset import Input, Path
from .inputs import (
    InputFile,
    PlannedFile,
    check_absent,
    check_case,
    check_folder,
    find_inputs,
    planned,
    planned_one,
    suffix_of,
    with_versions,
)
from .task import FileOrder, FilePart, Outcome, Selected, Settings
from .workers import execute
from .workspace import (
    JOURNAL,
    LOCK,
    WORK,
    ConversionJournal,
    FinishedFile,
    OutputFolder,
    SingleOutput,
    check_inputs,
    check_outside,
    home_of,
)

if TYPE_CHECKING:
    from ...api.options import ConvertOptions, TableReadOptions

CONVERTED, SKIPPED, FAILED, CANCELLED, PLANNED = "converted", "skipped", "failed", "cancelled", "planned"
STATUSES = (CONVERTED, SKIPPED, FAILED, CANCELLED, PLANNED)


class Conversion(NamedTuple):
    """Result of converting one file.

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
    """Path of the output; None if the input cannot be read and its format is not known."""
    status: str
    """`converted`; `skipped`: it was converted by an earlier run; `failed`; `cancelled`: the run ended first;
    `planned`: it would be converted."""
    cause: str | None = None
    """Cause of a failure."""
    seconds: float = 0.0
    """Time of the conversion."""
    size: int = 0
    """Size of the output, in bytes."""
    warnings: tuple[str, ...] = ()
    """Messages of warnings during the conversion."""

    def report(self) -> dict[str, Any]:
        """Return the record as an object of the report."""
        row: dict[str, Any] = {"input": self.input, "output": self.output, "status": self.status, "cause": self.cause}
        row |= {"seconds": round(self.seconds, 6), "bytes": self.size}
        return {**row, "warnings": list(self.warnings)} if self.warnings else row


Each = Callable[[Conversion], None]


class RunOptions(NamedTuple):
    """Options of a run; see `convert_many`."""

    executor: Executor | None = None
    jobs: int | None = None
    resume: bool = False
    overwrite: bool = False
    fail_fast: bool = False
    verify: bool = False
    dry_run: bool = False
    report: Path | None = None
    progress: Progress | None = None
    each: Each | None = None
    begin: Callable[[int], None] | None = None
    """Called with the number of inputs, before the first conversion."""

    def check(self) -> None:
        """Check that the options are consistent.

        Raises
        ------
        ValueError
            If they are not.
        """
        if self.resume and self.overwrite:
            raise ValueError("resume and overwrite exclude each other")
        if self.jobs is not None and (type(self.jobs) is not int or self.jobs < 1):
            raise ValueError(f"jobs: expected a number of 1 or more, found {self.jobs!r}")


def convert_many(
    paths: Input | Iterable[Input],
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
    storage_options: Mapping[str, Any] | None = None,
    store: Any = None,
    reading: TableReadOptions | None = None,
    **options: Unpack[ConvertOptions],
) -> list[Conversion]:
    """Convert many files to another format, each to another file.

    Each output is written atomically. A file that fails does not prevent the conversion of others; the records have
    the cause of each failure.

    Parameters
    ----------
    paths : str, bytes or PathLike, or iterable of them
        Files, folders, and patterns with `*`, `?`, `[...]` and `**`. Folders and patterns give files with a known
        suffix or recognised content. A warning counts the others. Links to folders are not followed there, and names
        that begin with a dot are left out. Links and folders that cannot be read give failed records. All of these can
        be addresses, such as `s3://bucket/2026/**/*.nc`. The address of a folder ends with a slash. Web servers do not
        list files.
    outdir : str, bytes or PathLike
        The folder of the outputs, which is created if needed. Files keep their path below a given folder, or below
        the part of a pattern before its first wildcard. An address, such as `s3://bucket/folder`, gets one upload of
        each finished file. Unfinished outputs and the journal are then in the user's folder for the state of programs,
        `$XDG_STATE_HOME` or `~/.local/state`.
    to : str
        Suffix of the outputs, which determines their format.
    variables, sel, range_, at, between, jd, skip_unsupported, reading
        As for `ds_format.convert`.
    executor : concurrent.futures.Executor, optional
        Converts the files, instead of this process: a process pool, or a dask client's `get_executor()`. Its workers
        must have the files under the same paths.
    jobs : int, optional
        Number of files that are converted at once: by threads if all are large and read without a library, otherwise
        by processes. By default 1, in this process.
    resume : bool
        Skip finished files. A journal in `outdir` has size and time of each input, the options, and the size of the
        output. Inputs that are elsewhere are compared by size and version. Other outputs are replaced, and leftovers of
        killed runs are removed.
    overwrite : bool
        Convert all files, and replace existing outputs. Without `overwrite` or `resume` these are an error: of the
        run, or for an address of each such file.
    fail_fast : bool
        End the run after the first failure.
    verify : bool
        Read each output back and compare it, before it gets its name.
    dry_run : bool
        Write nothing. The records describe planned conversions.
    report : str, bytes or PathLike, optional
        A JSON file that is written at the end: an array with an object for each input.
    progress : callable, optional
        Called with the number of input bytes processed, and their total.
    each : callable, optional
        Called with the record of each file as soon as it is finished.
    storage_options : dict, optional
        Options for addresses, as for `ds_format.read` and `ds_format.write`.
    store : object, optional
        The store that has the inputs, as for `ds_format.read`.
    **options
        Options of the format of the outputs.

    Returns
    -------
    list of Conversion
        A record for each input, in order.

    Raises
    ------
    MissingError, DriverError
        If a pattern matches nothing, a folder has no file of a known format, or the format or an option is unknown.
    FileExistsError
        If outputs exist.
    UnsupportedError
        If two inputs have the same output, an output would replace an input, or an input is one of the hidden files of
        runs.
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
    words: Any = [paths] if drivers.is_one_file(paths) else paths
    names = (variables,) if isinstance(variables, str) else None if variables is None else tuple(variables)
    selection = Selection(names, sel, range_, at, between, jd or not drivers.TIMES.isdisjoint(options))
    return run(
        drivers.located_each(words, storage_options, store),
        drivers.located(outdir, storage_options),
        suffix_of(to),
        Selected(selection, skip_unsupported, options, reading),
        RunOptions(executor, jobs, resume, overwrite, fail_fast, verify, dry_run, report, progress, each),
    )


def run(words: Sequence[Location], outdir: Path, suffix: str, part: FilePart, options: RunOptions) -> list[Conversion]:
    """Convert many files to a folder; parameters and errors as for `convert_many`."""
    options.check()
    check_options(suffix, part.options)
    check_verify(options, part.options)
    words, outdir = drivers.located_each(words), drivers.located(outdir)
    name = home = path_text(outdir)
    place = outdir if isinstance(outdir, Address) else None
    if place is not None:
        example = place.sibling(f"/x{suffix}")
        drivers.find_output(example, {})
        example.uploader()  # whether files can be written there at all
        home = home_of(place)
    check_folder(home)
    selected = find_inputs(words, home)
    inputs = _without_outputs(selected.inputs, home, place)
    check_inputs([one.path for one in inputs if one.address is None], home)
    selected.warn()
    return ConversionRun(planned(inputs, name, suffix), home, suffix, part, options, place).run()


def _without_outputs(inputs: list[InputFile], outdir: str, place: Address | None) -> list[InputFile]:
    """Remove outputs of earlier runs from the inputs, for outputs that are in the folder of their inputs."""
    paths = [os.path.abspath(one.path) if one.address is None else one.path for one in inputs]
    there, top = set(paths), os.path.abspath(outdir) if place is None else place.name
    done = ConversionJournal(os.path.join(outdir, JOURNAL)).done.values()
    made = {os.path.join(top, one.output): one.input for one in done if one.input in there}
    return [one for one, path in zip(inputs, paths, strict=True) if made.get(path, path) == path]


def run_one(source: Location, target: Location, part: FilePart, options: RunOptions) -> list[Conversion]:
    """Convert one file; parameters and errors as for `convert_many`. There is no journal to resume from."""
    options.check()
    source, target = drivers.located_each([source, target])
    check_options(target, part.options)
    check_verify(options, part.options)
    items = planned_one(source, path_text(target))
    if isinstance(target, Address):
        target.uploader()  # whether the file can be written there at all
        return ConversionRun(items, None, target.suffix, part, options, target).run()
    if isinstance(source, str):
        check_outside([source], SingleOutput.folder_of(target))
    return ConversionRun(items, None, os.path.splitext(target)[1], part, options).run()


def check_verify(options: RunOptions, written: Mapping[str, Any]) -> None:
    """Check that outputs have the values of their inputs, if they are compared.

    Raises
    ------
    DriverError
        If an option rounds them.
    """
    everywhere = [written, *(written.get("encoding") or {}).values()]
    found = sorted(name for name in ROUNDING for given in everywhere if given.get(name) is not None)
    if options.verify and found:
        raise DriverError(f"verify: is not possible with {found[0]}, which changes values")


def check_options(output: Location, options: Iterable[str]) -> None:
    """Check that a format supports options of writing.

    Raises
    ------
    DriverError
        If the format does not have an option.
    """
    driver = drivers.find(output)
    drivers.check_creation(driver, output, list(options), driver.creation)


class _Failed(Exception):
    """A file failed, and no further one is converted."""


class ConversionRun:
    """One run of a conversion.

    Parameters
    ----------
    items : list of PlannedFile
    outdir : str or None
        The local folder of the outputs, or of the hidden files alone; None for a single file with its own output path.
    suffix : str
        Suffix of the outputs.
    part : FilePart
    options : RunOptions
    place : Address, optional
        The address below which the outputs are, or that of the single output.
    """

    def __init__(
        self,
        items: list[PlannedFile],
        outdir: str | None,
        suffix: str,
        part: FilePart,
        options: RunOptions,
        place: Address | None = None,
    ):
        self._items = items
        self._outdir = outdir
        is_one_file = "atomic" in drivers.find(suffix).creation
        self._settings = Settings(
            "", part, suffix, is_one_file, options.verify, options.fail_fast, modes.current(), place
        )
        self._digest = self._settings.digest()
        self._here = os.getcwd()
        self._options = options
        self._records: dict[int, Conversion] = {}
        self._journal: ConversionJournal | None = None
        self._unwritten: list[FinishedFile] = []
        self._is_warned = False
        self._is_ending = False
        self._size = 0
        self._total = self._shown = 0

    def run(self) -> list[Conversion]:
        """Convert the files, and return a record for each."""
        self._check_report()
        if self._options.dry_run:
            with contextlib.suppress(_Failed):
                journal = None if self._outdir is None else ConversionJournal(os.path.join(self._outdir, JOURNAL))
                self._prepare(journal)
            return self._all(PLANNED)
        folder: OutputFolder | SingleOutput
        if self._outdir is not None:
            folder = OutputFolder(self._outdir)
        else:
            folder = SingleOutput((self._items[0].output or "") if self._settings.place is None else None)
        try:
            if folder.folds_case():
                check_case(self._items)
            self._journal = folder.journal
            with contextlib.suppress(_Failed), self._reported():
                orders = self._prepare(folder.journal)
                if orders or self._options.resume:
                    folder.begin()
                settings = self._settings._replace(work=folder.work)
                how = self._options
                execute(orders, settings, self._take, jobs=how.jobs or 1, executor=how.executor)
        finally:
            try:
                self._write()
            finally:
                folder.close()
        return self._all(CANCELLED)

    def _prepare(self, journal: ConversionJournal | None) -> list[FileOrder]:
        """Return the orders for all files that are not finished."""
        if self._options.begin is not None:
            self._options.begin(len(self._items))
        if not (self._options.resume or self._options.overwrite):
            check_absent(self._items, resumes=self._outdir is not None)
        done: Mapping[str, FinishedFile] = journal.done if journal is not None and self._options.resume else {}
        if done:
            self._items = with_versions(self._items)
        orders = []
        for i, item in enumerate(self._items):
            if item.output is None or item.cause is not None:
                self._records[i] = Conversion(item.input, item.output, FAILED, item.cause)
                continue
            is_elsewhere = self._settings.place is not None
            source = self._absolute(item.input) if item.address is None else item.address.absolute()
            target = item.output if is_elsewhere else self._absolute(item.output)
            before = done.get(item.relative_path)
            size = before.output_size if before is not None else 0
            is_known = item.address is None or item.mtime != 0
            is_done = is_known and before == self._line(item, size) and self._size_of(target) == size
            if is_done:
                self._records[i] = Conversion(item.input, item.output, SKIPPED, size=size)
            else:
                exists = self._options.overwrite or self._options.resume if is_elsewhere else item.exists
                orders.append(FileOrder(i, source, target, item.size, exists))
        if self._options.each is not None:
            for record in self._records.values():
                self._options.each(record)
        self._total = sum(order.size for order in orders)
        self._end_if_failed(self._records.values())
        return orders

    def _size_of(self, target: str) -> int | None:
        """Return the size of an output in bytes; None if there is none."""
        address = self._settings.address(target)
        if address is None:
            return None if _status(target) is None else size_of(target)
        try:
            size: int = address.open(1).size
        except FileNotFoundError:
            return None
        return size

    def _line(self, item: PlannedFile, size: int) -> FinishedFile:
        source = self._absolute(item.input) if item.address is None else item.input
        if item.address is None and ("/." in source or "//" in source):
            source = os.path.normpath(source)
        return FinishedFile(source, item.size, item.mtime, self._digest, item.relative_path, size)

    def _absolute(self, path: str) -> str:
        return path if path.startswith("/") else f"{self._here}/{path}"

    def _take(self, outcomes: list[Outcome], current: float) -> None:
        """Record the outcomes of files; see `workers.Take`."""
        records = []
        for outcome in outcomes:
            item = self._items[outcome.number]
            if outcome.number in self._records:
                continue  # a signal interrupted this function after it recorded them
            if outcome.cause is None:
                size, mtime = outcome.stamp
                self._unwritten.append(self._line(item._replace(size=size, mtime=mtime), outcome.size))
            status = CONVERTED if outcome.cause is None else FAILED
            cause = None if outcome.cause is None else _as_known(outcome.cause, item)
            caught = [(kind, _as_known(text, item)) for kind, text in outcome.warnings]
            texts = tuple(text for _, text in caught)
            record = Conversion(item.input, item.output, status, cause, outcome.seconds, outcome.size, texts)
            self._records[outcome.number] = record
            self._size += item.size
            records.append((record, caught))
        self._write()
        for record, caught in records:
            for kind, text in caught:
                warnings.warn(text, kind, stacklevel=2)
            if self._options.each is not None:
                self._options.each(record)
        if self._options.progress is not None:
            self._shown = max(self._shown, min(int(self._size + current), self._total))
            self._options.progress(self._shown, self._total)
        self._end_if_failed(record for record, _ in records)

    def _write(self) -> None:
        """Write finished files to the journal. If this fails, it is tried again later, and the run continues."""
        if self._journal is not None and self._unwritten:
            try:
                self._journal.add(self._unwritten)
            except OSError as error:
                if not self._is_warned:
                    self._is_warned = True
                    warnings.warn(f"the journal cannot be written: {describe(error)}", stacklevel=2)
                return
        self._unwritten = []

    def _end_if_failed(self, records: Iterable[Conversion]) -> None:
        if self._options.fail_fast and not self._is_ending and any(record.status == FAILED for record in records):
            self._is_ending = True
            raise _Failed

    def _all(self, left: str) -> list[Conversion]:
        """Return a record of each file. Files without a record get the status `left`."""
        return [self._records.get(i) or Conversion(item.input, item.output, left) for i, item in enumerate(self._items)]

    def _check_report(self) -> None:
        """Check that the report can be written, and does not replace a file of the run."""
        if self._options.report is None:
            return
        path = path_text(self._options.report)
        real, mode = resolve(path)
        real = os.path.realpath(real)
        folder, name = os.path.split(real)
        is_beside = self._outdir is not None and folder == os.path.realpath(self._outdir)
        if is_beside and name in (JOURNAL, LOCK, WORK):
            raise UnsupportedError("the report would replace what runs keep in the folder of the outputs", path=path)
        if not is_beside and not os.path.isdir(folder):
            raise FileNotFoundError(f"{path}: the folder of the report does not exist")
        there = None if mode is None else os.stat(real)
        for item in self._items:
            for other in (item.input, item.output):
                if other is None:
                    continue
                # resolving all links takes long
                if there is None:
                    may_be = item.exists or os.path.basename(other) == name
                else:
                    may_be = (known := _status(other)) is not None and os.path.samestat(known, there)
                if may_be and os.path.realpath(other) == real:
                    raise UnsupportedError("the report would replace an input or output", path=path)

    @contextlib.contextmanager
    def _reported(self) -> Iterator[None]:
        """Write the report after a `with` block, even if it raises an exception."""
        try:
            yield
        finally:
            if self._options.report is not None:
                write_report(self._options.report, self._all(CANCELLED))


def _as_known(text: str, item: PlannedFile) -> str:
    """Return a message with paths as the user gave them."""
    for path in (item.output, item.input):
        if path is not None:
            text = text.replace(os.path.join(os.getcwd(), path), path)
    return text


def _status(path: str) -> os.stat_result | None:
    """Return the status of a file, following links; None if there is none."""
    try:
        return os.stat(path)
    except OSError:
        return None


def write_report(path: Path, records: Sequence[Conversion]) -> None:
    """Write a JSON file: an array with an object for each input.

    Raises
    ------
    OSError
        If the file cannot be written.
    """
    lines = ",\n".join(json.dumps(record.report()) for record in records)
    data = f"[\n{lines}\n]\n".encode()
    if not files.write_file(path, [data]):
        files.write_file(resolve(path)[0], [data])
