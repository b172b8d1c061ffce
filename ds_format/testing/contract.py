"""The promises of every file format, as tests of pytest."""

from __future__ import annotations

import contextlib
import io
import itertools
import os
import pickle
import shutil
import tempfile
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from .. import drivers
from ..api.conversion import convert
from ..api.differing import diff
from ..api.files import open as open_file, read
from ..api.verification import verify
from ..api.writing import write
from ..base.text import unescape
from ..cli import main
from ..codec.encode import describe
from ..datasets import META, arrays_of, as_array, dims
from ..drivers import Format
from ..drivers.base import BLOCK_SIZE, LossWarning, Metadata, Sink
from ..errors import DriverError, DsError, MissingError, ReplacedError, UnsupportedError
from ..many.converting.running import convert_many
from ..many.folders import readdir
from ..many.merging import merge_files
from ..many.reading import read_many
from ..model.index import normalize, take
from .blocks import small_blocks
from .comparing import Passage, exactly, require, require_same, same_data, variables
from .examples import Dataset, examples, pieces

INDEXES: tuple[Any, ...] = (
    *(0, -1, slice(1, None, 2), slice(None, None, -1), [1, 0, 1], slice(0, 0), []),
    *((Ellipsis, slice(None, None, 2)), (slice(None), 1), (1, [2, 0])),
)
"""Indexes; those that are out of the bounds of a variable are left out."""


class FormatContract:
    """The contract of a file format. A class derived from it is a class of tests, which pytest runs.

    Its name has to begin with `Test`. The format must be installed, as `pip install -e .` does: commands find it by
    the suffix of a file. Every test fails with an AssertionError that names what is promised; a note names the example.

    Attributes
    ----------
    format : Format
        The format.

    Examples
    --------
    >>> from ds_format.drivers import FORMATS
    >>> from ds_format.testing import FormatContract
    >>> class TestJson(FormatContract):
    ...     format = FORMATS["json"]
    """

    format: ClassVar[Format]
    _folder: ClassVar[tempfile.TemporaryDirectory[str]]
    _written: ClassVar[list[tuple[str, Path, Dataset]]]
    """Name of an example, a file with a part of it that the format holds, and what is read back."""

    @classmethod
    def setup_class(cls) -> None:
        """Begin without files; pytest calls it before the tests of a class."""
        cls._folder = tempfile.TemporaryDirectory(prefix="ds_format-contract-")
        cls._written = []

    @classmethod
    def teardown_class(cls) -> None:
        """Remove all files; pytest calls it after the tests of a class."""
        cls._folder.cleanup()

    def passage(self, dataset: Dataset) -> Passage:
        """Predict the result of writing a dataset to a file: by default, all of it is read back.

        Override it for a format that holds less: put a `Loss` into `errors` for each variable that is refused, and into
        `warnings` for information that is lost, and change `dataset` to what is read back. It should follow from the
        documents of the format, and not from its code.

        Parameters
        ----------
        dataset : dict
            It has metadata for each variable and for the dataset. It must not be changed.
        """
        return exactly(dataset)

    def test_written_data_are_read_back(self, tmp_path: Path) -> None:
        """Each example is read back, and losses and refusals are reported. A refused one leaves the old file."""
        for name, dataset in examples().items():
            for piece in pieces(dataset, self.passage):
                _noted(f'the example "{name}"', self._put, tmp_path, piece, partial(write, d=piece))

    def test_conversion_from_ds(self, tmp_path: Path) -> None:
        """Converting a ds file in small blocks gives the same file as writing its dataset."""
        source = tmp_path / "source.ds"
        with self._small_blocks():
            for name, dataset in examples().items():
                for piece in pieces(dataset, self.passage):
                    write(source, piece)
                    given = read(source, unpack=None if self.format.unpack is None else False)
                    _noted(f'the example "{name}"', self._put, tmp_path, given, partial(convert, source))

    def test_conversion_to_ds(self, tmp_path: Path) -> None:
        """A ds file made from a file in small blocks has the same content."""
        target = tmp_path / "target.ds"

        def check(path: Path, dataset: Dataset) -> None:
            convert(path, target)
            require_same(dataset, read(target, unpack=False))

        with self._small_blocks():
            self._each(check)

    def test_metadata(self) -> None:
        """Without data, a source has the dimensions, shapes and types of what is read, and no faults."""

        def check(path: Path, dataset: Dataset) -> None:
            with contextlib.closing(drivers.open_source(path)) as source:
                require(not source.faults, f"found faults: {dict(source.faults)}")
                require({*source.meta} == {*dataset}, f"found metadata of {[*source.meta]}, expected {[*dataset]}")
                for key, _, array, entry in variables(dataset):
                    found = source.meta[key]
                    size = None if array is None else [*array.shape]
                    require(found[".size"] == size, f'"{key}": found .size {found[".size"]}, expected {size}')
                    names = dims(key, entry, 0 if array is None else array.ndim)
                    require(dims(key, found, len(size or ())) == names, f'"{key}": found .dims, expected {names}')
                    if array is not None:
                        expected = describe({key: array}, {key: found})[key][".type"]
                        found_type = found.get(".type")
                        require(found_type == expected, f'"{key}": found .type {found_type}, expected {expected}')
                        _require_own(source.read(key), key)
                    is_masked = bool(np.ma.getmaskarray(array).any())
                    require(found.get(".missing", True) or not is_masked, f'"{key}": .missing is false')
            require({*drivers.meta(path)} == {*dataset}, "drivers.meta finds other variables")

        self._each(check)

    def test_parts(self) -> None:
        """A part of a variable has the values that the same index selects from all of it."""

        def check(path: Path, dataset: Dataset) -> None:
            with open_file(path, unpack=False) as file:
                for turn, (key, name, array, _) in enumerate(variables(dataset)):
                    for index in _indexes(array, turn, turn + 3):
                        expected = take(array, normalize(index, array.shape))
                        require(same_data(file[name][index], expected), f'"{key}"[{index}]: expected {expected!r}')
                names = [name for _, name, *_ in variables(dataset)][::2]
                keys = {key for key, name, *_ in variables(dataset) if name in names}
                require(read(path, names, unpack=False).keys() - {META} == keys, "other variables than those asked for")

        self._each(check)

    def test_blocks(self) -> None:
        """Blocks follow each other in C order, have all dimensions, and are no larger than asked for."""

        def check(path: Path, dataset: Dataset) -> None:
            with contextlib.closing(drivers.open_source(path)) as source:
                for (key, _, array, _), budget in itertools.product(variables(dataset), (16, BLOCK_SIZE)):
                    blocks = [as_array(block) for block in source.blocks(key, budget)]
                    if array is None or not array.size:
                        require(not blocks, f'"{key}": found blocks, although there are no values')
                        continue
                    require({block.ndim for block in blocks} == {array.ndim}, f'"{key}": dimensions of blocks')
                    join: Any = np.ma.concatenate
                    flat = join([block.reshape(-1) for block in blocks]).reshape(array.shape)
                    require(same_data(flat, array), f'"{key}": found the blocks {blocks}, expected {array!r}')
                    sizes = [block.nbytes for block in blocks if block.size > 1 and block.dtype.kind != "O"]
                    require(max(sizes, default=0) <= budget, f'"{key}": found blocks of {sizes} bytes, not {budget}')

        self._each(check)

    def test_handles(self, tmp_path: Path) -> None:
        """A pickled handle reads the variable after the source is closed, and refuses another file."""

        def check(path: Path, dataset: Dataset) -> None:
            with contextlib.closing(drivers.open_source(path)) as source:
                handles = {key: pickle.dumps(source.handle(key)) for key, *_ in variables(dataset)}
            for turn, (key, _, array, _) in enumerate(variables(dataset)):
                handle = pickle.loads(handles[key])
                size = None if array is None else array.shape
                require((handle.key, handle.path) == (key, str(path)), f'"{key}": found the handle {handle}')
                require(pickle.loads(handles[key]) == handle, f'"{key}": two copies of a handle differ')
                require(handle.shape == size, f'"{key}": found the shape {handle.shape}, expected {size}')
                places = [normalize(index, array.shape) for index in _indexes(array, turn)] if turn % 2 else []
                for index in places or (None,):
                    expected = array if index is None else take(array, index)
                    require(same_data(handle.read(index), expected), f'"{key}", {index}: expected {expected!r}')

        self._each(check)
        (path, _), datasets = self._files(tmp_path, 2)
        with contextlib.closing(drivers.open_source(path)) as source:
            handle = source.handle(next(key for key in datasets[0] if key != META))
        status = path.stat()
        write(path, datasets[1])
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
        _refused(ReplacedError, handle.read, "a handle reads a file that was replaced")

    def test_commands(self, tmp_path: Path) -> None:
        """Commands print the same for a file and for a ds file with the same content."""

        def check(path: Path, dataset: Dataset) -> None:
            same = tmp_path / "same.ds"
            write(same, dataset)
            names = [name for _, name, array, _ in variables(dataset) if array is not None and "\0" not in name]
            lines = [["ls"], ["ls", "-l"], *(["cat", name] for name in names), *(["stats", name] for name in names)]
            for command, *words in lines:
                ours, theirs = (
                    (code, out.replace(str(file), ""))
                    for code, out, file in ((*_run(command, *words, str(file)), file) for file in (path, same))
                )
                shown = " ".join([command, *words])
                require(ours == theirs, f"ds {shown}: printed {ours}, expected {theirs}")
            for command in ("info", "verify"):
                status, printed = _run(command, str(path))
                require(not status, f"ds {command}: exit status {status}, printed {printed}")
                require((command == "info") == bool(printed), f"ds {command}: printed {printed}")
            found = diff(path, same, unpack=False)
            require(not found and not _run("diff", str(path), str(same))[0], f"ds diff: found {found}")
            require(not verify(path), f"ds verify: found {verify(path)}")

        self._each(check, "plain", "masked", "packed")
        (first, second), (dataset, _) = self._files(tmp_path, 2)
        found = {one.variable for one in diff(first, second)}
        require(found == {unescape(key) for key in dataset if key != META}, f"ds diff: found differences of {found}")
        require(_run("diff", str(first), str(second))[0] == 1, "ds diff: exit status of files that differ")

    def test_many_files(self, tmp_path: Path) -> None:
        """Reading, merging and converting many files gives the same as for ds files with the same content."""
        paths, datasets = self._files(tmp_path, 3)
        same = [tmp_path / "same" / f"{path.stem}.ds" for path in paths]
        same[0].parent.mkdir()
        for path, dataset in zip(same, datasets, strict=True):
            write(path, dataset)
        for one, two in zip(read_many(paths, unpack=False), datasets, strict=True):
            require_same(two, one)
        require_same(read_many(same, dim="i", unpack=False), read_many(paths, dim="i", unpack=False))
        ours, theirs = (readdir(folder[0].parent, merge="i") for folder in (paths, same))
        for found in (ours, theirs):
            found["filename"] = np.array([Path(name).stem for name in found["filename"]], object)
        require_same(theirs, ours)
        merge_files("i", same, tmp_path / "merged.ds")
        merge_files("i", paths, tmp_path / f"merged{self._suffix}")
        require_same(read(tmp_path / "merged.ds"), read(tmp_path / f"merged{self._suffix}"))
        for sources, folder, suffix in ((paths, "to", ".ds"), (same, "from", self._suffix)):
            convert_many(sources, tmp_path / folder, to=suffix, jobs=1)
            for path, dataset in zip(sources, datasets, strict=True):
                require_same(dataset, read(tmp_path / folder / f"{path.stem}{suffix}", unpack=False))

    def test_names_of_files(self, tmp_path: Path) -> None:
        """Each suffix, in capitals too, is that of the format; without it, content that can be recognised is."""
        (path,), (dataset,) = self._files(tmp_path, 1)
        for suffix in (*self.format.suffixes, self._suffix.upper()):
            named = tmp_path / f"named{suffix}"
            require(drivers.find(named).name == self.format.name, f"{suffix}: found the format {drivers.find(named)}")
            write(named, dataset)
            require_same(dataset, read(named, unpack=False))
        if self.format.marks or self.format.folder_marks:
            bare = path.rename(tmp_path / "bare")
            require(drivers.find_existing(bare) is drivers.find(named), "the content is not recognised")
            require_same(dataset, read(bare, unpack=False))

    def test_faults_are_errors(self, tmp_path: Path) -> None:
        """A file that is empty, truncated or damaged gives an error of the package, and never another one."""
        (path,), _ = self._files(tmp_path, 1)
        for name, content in _content(path).items():
            for n in range(0, len(content), max(len(content) // (8 if path.is_file() else 2), 1)):
                for damaged in (content[:n], content[:n] + b"\xff" + content[n + 1 :]):
                    Path(name).write_bytes(damaged)
                    with warnings.catch_warnings():
                        warnings.simplefilter("ignore")
                        try:
                            read(path)
                        except DsError as error:
                            require(path.name in str(error), f"the error does not name the file: {error}")
                        except Exception as error:
                            raise AssertionError(f"a damaged file gives {error!r}, and not a DsError") from error
            Path(name).write_bytes(content)
        _refused(FileNotFoundError, lambda: read(tmp_path / f"none{self._suffix}"), "a missing file is read")

    def test_options_of_creation(self, tmp_path: Path) -> None:
        """`durable` changes nothing in a file, without `atomic` no file is replaced, and other options are refused."""
        (path,), (dataset,) = self._files(tmp_path, 1)
        options: dict[str, dict[str, Any]] = {"durable": {"durable": True}, "atomic": {"atomic": False}}
        nonsense: dict[str, Any] = {"nonsense": 1}
        _refused(DriverError, partial(write, path, dataset, **nonsense), "an unknown option is taken")
        for name, option in options.items():
            if name in self.format.creation:
                target = tmp_path / f"{name}{self._suffix}"
                write(target, dataset, **option)
                require_same(dataset, read(target, unpack=False))
                if name == "atomic":
                    _refused(FileExistsError, partial(write, target, dataset, atomic=False), "a file is replaced")

    def test_sinks(self, tmp_path: Path) -> None:
        """A sink takes each variable once, with all its values, and is a file only after `commit`."""
        (_,), (dataset,) = self._files(tmp_path, 1)
        arrays, meta = arrays_of(dataset)
        described = describe(arrays, meta)
        key, *others = arrays
        array = arrays[key]

        def twice(sink: Sink) -> None:
            for _ in range(2):
                sink.write(key, [array])

        def failing(sink: Sink) -> None:
            for name in others:
                sink.write(name, [arrays[name]])
            with contextlib.suppress(DsError):
                sink.write(key, [array, array])
            sink.commit()

        faults: dict[str, tuple[type[DsError], Callable[[Sink], object]]] = {
            "a variable that the metadata do not have": (MissingError, lambda sink: sink.write("no such", [array])),
            "attributes of the dataset as a variable": (MissingError, lambda sink: sink.write(META, [array])),
            "too few values": (DsError, lambda sink: sink.write(key, [array[:-1]])),
            "no values": (DsError, lambda sink: sink.write(key, [])),
            "too many values": (DsError, lambda sink: sink.write(key, [array, array[:1]])),
            "a variable twice": (DsError, twice),
            "a commit without all variables": (DsError, lambda sink: sink.commit()),
            "a commit after a variable that failed": (DsError, failing),
        }
        path = tmp_path / f"old{self._suffix}"
        write(path, dataset)
        before = _content(tmp_path)
        for fault, (kind, act) in faults.items():
            with self._sink(path, described) as sink:
                error = _refused(kind, partial(act, sink), f"a sink takes {fault}")
            require(str(error).startswith(str(path)), f"{fault}: the error does not name the file: {error}")
            require(_content(tmp_path) == before, f"{fault}: the old file is changed, or another one is left")
        with self._sink(path, described) as sink:
            for name in reversed([key, *others]):
                sink.write(name, (arrays[name][i : i + 1] for i in range(len(arrays[name]))))
            require(before.items() <= _content(tmp_path).items(), "the old file is changed before `commit`")
            sink.commit()
            _refused(DsError, lambda: sink.write(key, [array]), "a finished sink takes a variable")
            _refused(DsError, sink.commit, "a sink can be finished twice")
        _noted("in another order than in the metadata", lambda: require_same(dataset, read(path, unpack=False)))

    @property
    def _suffix(self) -> str:
        return self.format.suffixes[0]

    @contextlib.contextmanager
    def _small_blocks(self) -> Iterator[None]:
        self._held()  # modules that are loaded in small blocks would keep them
        with small_blocks(drivers.load(self.format).open.__module__.partition(".")[0]):
            yield

    def _put(self, folder: Path, dataset: Dataset, act: Callable[[Path], object]) -> None:
        path = folder / f"put{self._suffix}"
        put(path, self.passage(dataset), act)
        for path in folder.glob("put.*"):  # with the files that belong to it
            _remove(path)

    def _held(self) -> list[tuple[str, Path, Dataset]]:
        """Return the parts of the examples that the format holds, after writing them for the first test that asks."""
        for name, example in () if self._written else examples().items():
            for piece in pieces(example, self.passage):
                if not self.passage(piece).errors:
                    path = Path(self._folder.name, f"{len(self._written)}{self._suffix}")
                    with warnings.catch_warnings():
                        warnings.simplefilter("ignore", LossWarning)
                        _noted(f'the example "{name}"', write, path, piece)
                    self._written.append((name, path, read(path, unpack=False)))
        return self._written

    def _each(self, check: Callable[[Path, Dataset], None], *names: str) -> None:
        """Call a function with the file of each example, or of some, and with what is read back."""
        for name, path, dataset in self._held():
            if not names or name in names:
                _noted(f'the example "{name}"', check, path, dataset)

    def _files(self, folder: Path, n: int) -> tuple[list[Path], list[Dataset]]:
        """Write files with other values each, and return their paths with what should be read back."""
        plain = next(piece for piece in pieces(examples()["plain"], self.passage) if not self.passage(piece).errors)
        paths, datasets = [], []
        for i in range(n):
            dataset = {key: data if key == META else np.roll(data, i) for key, data in plain.items()}
            paths.append(folder / "files" / f"{i}{self._suffix}")
            paths[-1].parent.mkdir(exist_ok=True)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", LossWarning)
                write(paths[-1], dataset)
            datasets.append(self.passage(dataset).dataset)
        return paths, datasets

    @contextlib.contextmanager
    def _sink(self, path: Path, meta: Metadata) -> Iterator[Sink]:
        sink = drivers.load(self.format).create(path, meta)
        try:
            yield sink
        finally:
            sink.abort()


def put(path: Path, passage: Passage, act: Callable[[Path], object]) -> Dataset | None:
    """Check the result of a function that writes a dataset to a file.

    Parameters
    ----------
    path : Path
        A file that is there is replaced, if the dataset is not refused.
    passage : Passage
        The expected result.
    act : callable
        Called with the path. It is called twice if there are warnings, the first time with warnings as errors.

    Returns
    -------
    dict or None
        The dataset that is read back; None if it is refused, as expected.

    Raises
    ------
    AssertionError
        If the passage is another one.
    """
    old = b"not a file of the format"
    for is_strict in [False] if passage.errors or not passage.warnings else [True, False]:
        _remove(path)
        path.write_bytes(old)
        before = _names(path.parent)
        refused: Exception | None = None
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            if is_strict:
                warnings.simplefilter("error", LossWarning)
            try:
                act(path)
            except (UnsupportedError, LossWarning) as error:
                refused = error
        if is_strict or passage.errors:
            require(refused is not None, f"not refused: {passage.errors or passage.warnings}")
            require(path.read_bytes() == old and _names(path.parent) == before, f"not left as it was after {refused}")
        else:
            require(refused is None, f"refused: {refused}")
    if passage.errors:
        said = any(loss.is_said_in(str(refused)) for loss in passage.errors)
        require(said, f"refused with {refused}, expected one of {passage.errors}")
        path.unlink()
        return None
    passage.require_warnings(caught)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = read(path, unpack=False)
    require_same(passage.dataset, found)
    return found


def _noted(note: str, check: Callable[..., object], *arguments: Any) -> None:
    """Call a function, and add a note to its error."""
    try:
        check(*arguments)
    except Exception as error:
        error.add_note(note)
        raise


def _indexes(array: Any, *turns: int) -> Iterator[Any]:
    """Iterate over some indexes of an array: variables with the same state of data get other ones in turn."""
    if array is None or not array.ndim:
        return
    for turn in turns:
        index = INDEXES[turn % len(INDEXES)]
        with contextlib.suppress(IndexError):
            normalize(index, array.shape)
            yield index


def _require_own(data: Any, key: str) -> None:
    """Require that data are in native byte order, and that they can be changed."""
    if isinstance(data, np.ndarray):
        require(data.dtype.isnative and data.flags.writeable, f'"{key}": not in native byte order, or read-only')


def _refused(kind: type[Exception], act: Callable[[], object], fault: str) -> Exception:
    """Require an error, and return it."""
    try:
        act()
    except kind as error:
        return error
    raise AssertionError(f"{fault}, without {kind.__name__}")


def _run(*words: str) -> tuple[int, str]:
    """Run a command; return its exit status and what it prints."""
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(out):
        status = main(words)
    return status, out.getvalue()


def _content(folder: Path) -> dict[str, bytes]:
    """Return the files of a folder, and of those in it; a file alone, too."""
    return {str(path): path.read_bytes() for path in (folder, *folder.rglob("*")) if path.is_file()}


def _names(folder: Path) -> list[str]:
    return sorted(os.listdir(folder))


def _remove(path: Path) -> None:
    """Remove a file, or a folder that is a dataset, if there is one."""
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
