"""The contract of formats: each format keeps it, and a driver that breaks one promise fails."""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ds_format import DsError, FormatError, UnsupportedError, drivers
from ds_format.base.dtypes import TYPES
from ds_format.base.text import unescape
from ds_format.drivers import FORMATS, Driver, Format
from ds_format.drivers.base import BLOCK_SIZE, Metadata, Problem, warn
from ds_format.drivers.handle import FileHandle
from ds_format.drivers.sink import FileSink, count_payloads
from ds_format.drivers.source import HeldSource
from ds_format.testing import FormatContract, Loss, Passage, require_same, variables

from .formats import rows
from .holdings import HOLDINGS


def test_every_format_is_in_each_row() -> None:
    assert HOLDINGS.keys() == FORMATS.keys()
    with pytest.raises(AssertionError, match=r"no row: \{'ds'\}"):
        rows(**{name: 1 for name in FORMATS if name != "ds"})


class OwnContract(FormatContract):
    def passage(self, dataset: dict[str, Any]) -> Passage:
        return HOLDINGS[self.format.name](dataset)


for _format in FORMATS.values():  # a class each, because pytest prepares classes and not parameters
    _name = f"Test{_format.title}"
    globals()[_name] = type(_name, (OwnContract,), {"__module__": __name__, "format": _format})


class PickleSource(HeldSource):
    """A file of a format that holds everything except text with NUL and, with a warning, payloads of NaN."""

    def __init__(self, path: Any):
        super().__init__(path)
        try:
            self.arrays, self.meta = pickle.loads(Path(self.path).read_bytes().removeprefix(b"mark"))
        except Exception as error:
            raise FormatError(f"found no pickle: {error}", path=self.path) from error


class PickleSink(FileSink):
    def __init__(self, path: Any, meta: Metadata, *, atomic: bool = True, durable: bool = False):
        super().__init__(path, meta, atomic=atomic, durable=durable)
        self.arrays: dict[str, Any] = {}
        self.types = {key: TYPES[entry[".type"]].code for key, entry in meta.items() if entry.get(".size") is not None}
        self.file = os.fdopen(self._create(), "wb")

    def _write(self, name: str, blocks: Iterable[Any]) -> None:
        self.arrays[name] = None
        if name in self.types:
            parts = [np.ma.MaskedArray(block).reshape(-1) for block in blocks] or [np.ma.zeros(0)]
            self.arrays[name] = np.ma.concatenate(parts).astype(self.types[name]).reshape(self.meta[name][".size"])
            if any("\0" in item for item in self.arrays[name].compressed() if isinstance(item, str)):
                raise UnsupportedError("has a NUL")
            self.lose(name)

    def lose(self, name: str) -> None:
        if count_payloads(self.arrays[name]):
            self.arrays[name][np.isnan(self.arrays[name])] = np.nan
            warn("NaN have a payload", self.path, unescape(name))

    def _finish(self) -> None:
        self.file.write(b"mark" + pickle.dumps((self.arrays, self.meta)))
        self.file.close()

    def _close(self) -> None:
        self.file.close()


PICKLE = Format(
    "pickle",
    (".pickled",),
    lambda: Driver(PickleSource, PickleSink),
    title="Pickle",
    marks=(b"mark",),
    creation=frozenset({"atomic", "durable"}),
)


class PickleContract(FormatContract):
    format = PICKLE

    def passage(self, dataset: dict[str, Any]) -> Passage:
        passage = super().passage(dataset)
        for key, name, array, _ in variables(dataset):
            if array is not None and count_payloads(array):
                passage.warnings.append(Loss(name, "payload"))
                plain = np.where(np.isnan(np.ma.getdata(array)), np.nan, np.ma.getdata(array))
                passage.dataset[key] = np.ma.MaskedArray(plain, np.ma.getmask(array))
            if array is not None and any("\0" in item for item in np.ma.compressed(array) if isinstance(item, str)):
                passage.errors.append(Loss(name, "NUL"))
        return passage


@pytest.fixture
def _installed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setitem(drivers.FORMATS, PICKLE.name, PICKLE)
    monkeypatch.setitem(drivers.BY_SUFFIX, PICKLE.suffixes[0], PICKLE)
    yield
    drivers._loaded.pop(PICKLE.name, None)
    drivers._loaded_by_suffix.pop(PICKLE.suffixes[0], None)


PROMISES = [name for name in vars(FormatContract) if name.startswith("test_")]


def run(promise: str, folder: Path) -> None:
    """Run one test of the contract, as pytest does."""
    PickleContract.setup_class()
    test = getattr(PickleContract(), promise)
    try:
        test(*[folder][: test.__code__.co_argcount - 1])
    finally:
        PickleContract.teardown_class()


@pytest.mark.usefixtures("_installed")
@pytest.mark.parametrize("promise", PROMISES)
def test_a_driver_in_a_hundred_lines_keeps_it(promise: str, tmp_path: Path) -> None:
    run(promise, tmp_path)


# ------------------------------------------------------------------------------------------------- broken promises

Patch = pytest.MonkeyPatch
write_, finish, read, blocks_of = PickleSink._write, PickleSink._finish, PickleSource.read, PickleSource.blocks
created, opened, reads_handle = PickleSink.__init__, PickleSource.__init__, FileHandle._read
reads_name = PickleSource.handle


def sink(method: str, function: Callable[..., Any]) -> Callable[[Patch], None]:
    return lambda patch: patch.setattr(PickleSink, method, function)


def source(method: str, function: Callable[..., Any]) -> Callable[[Patch], None]:
    return lambda patch: patch.setattr(PickleSource, method, function)


def format(**changes: Any) -> Callable[[Patch], None]:
    def change(patch: Patch) -> None:
        changed = PICKLE._replace(**changes)
        patch.setattr(PickleContract, "format", changed)
        patch.setitem(drivers.FORMATS, PICKLE.name, changed)
        patch.setitem(drivers.BY_SUFFIX, PICKLE.suffixes[0], changed)

    return change


def refusing(*types: str) -> Callable[[Patch], None]:
    def create(self: Any, path: Any, meta: Metadata, **options: Any) -> None:
        if any(entry.get(".type") in types for entry in meta.values()):
            raise UnsupportedError(f"found one of {types}", path=path)
        created(self, path, meta, **options)

    return sink("__init__", create)


def changing(change: Callable[[Any], Any]) -> Callable[[Patch], None]:
    """Write other arrays than those that were given."""

    def finish_changed(self: Any) -> None:
        self.arrays = {key: None if array is None else change(array) for key, array in self.arrays.items()}
        finish(self)

    return sink("_finish", finish_changed)


def describing(change: Callable[[str, dict[str, Any]], dict[str, Any]]) -> Callable[[Patch], None]:
    """Read other metadata than those that were written."""

    def open_changed(self: Any, path: Any) -> None:
        opened(self, path)
        self.meta = {key: change(key, entry) for key, entry in self.meta.items()}

    return source("__init__", open_changed)


def without(name: str) -> Callable[[str, dict[str, Any]], dict[str, Any]]:
    return lambda key, entry: {one: value for one, value in entry.items() if one != name}


def damaging_before_it_refuses(self: Any, path: Any, meta: Metadata, **options: Any) -> None:
    Path(path).write_bytes(b"")
    created(self, path, meta, **options)


def only_the_first_block(self: Any, name: str, blocks: Iterable[Any]) -> None:
    first = next(iter(blocks), None)
    size = self.meta[name][".size"]
    write_(self, name, [] if first is None else [np.ma.resize(first, size) if size else first])


def large_blocks(self: Any, name: str, budget: int = BLOCK_SIZE) -> Iterator[Any]:
    return blocks_of(self, name)


def flat_blocks(self: Any, name: str, budget: int = BLOCK_SIZE) -> Iterator[Any]:
    return (block.reshape(-1) for block in blocks_of(self, name, budget))


def last_block_first(self: Any, name: str, budget: int = BLOCK_SIZE) -> Iterator[Any]:
    return iter([*blocks_of(self, name, budget)][::-1])


def blocks_of_nothing(self: Any, name: str, budget: int = BLOCK_SIZE) -> Iterator[Any]:
    array = self.arrays[name]
    return iter([array]) if array is not None and not array.size else blocks_of(self, name, budget)


def without_steps(self: Any, name: str, index: Any = None) -> Any:
    ranges = [range(item.start, item.stop) if isinstance(item, range) else item for item in index or ()]
    return read(self, name, None if index is None else tuple(ranges))


def sorted_lists(self: Any, name: str, index: Any = None) -> Any:
    lists = [np.sort(item) if isinstance(item, np.ndarray) else item for item in index or ()]
    return read(self, name, None if index is None else tuple(lists))


def first_file_again() -> Callable[[Patch], None]:
    arrays: list[Any] = []

    def open_first(self: Any, path: Any) -> None:
        opened(self, path)
        arrays.append(self.arrays)
        self.arrays = arrays[0]

    return source("__init__", open_first)


def frozen(self: Any, name: str, index: Any = None) -> Any:
    data = read(self, name, index)
    if isinstance(data, np.ndarray):
        data.flags.writeable = False
    return data


def finishing_a_part(self: Any) -> None:
    self._begun = dict.fromkeys(self._begun, True)
    FileSink.commit(self)


def nameless(self: Any, name: str, blocks: Iterable[Any]) -> None:
    try:
        FileSink.write(self, name, blocks)
    except DsError as error:
        raise type(error)(error.message) from None


def uncounted(self: Any, name: str, blocks: Iterable[Any]) -> None:
    arrays = [np.ma.MaskedArray(block).reshape(-1) for block in blocks] or [np.ma.zeros(0)]
    size = self.meta.get(name, {}).get(".size")
    self.arrays[name] = None if size is None else np.ma.resize(np.ma.concatenate(arrays), size)


def opening(change: Callable[[Any], object]) -> Callable[[Patch], None]:
    """Change a source after it was opened."""

    def open_changed(self: Any, path: Any) -> None:
        opened(self, path)
        change(self)

    return source("__init__", open_changed)


def driver(**functions: Any) -> Callable[[Patch], None]:
    """Give the format more functions."""
    return lambda patch: patch.setitem(drivers._loaded, "pickle", Driver(PickleSource, PickleSink, **functions))


def read_all(path: Any, *_: Any, **__: Any) -> dict[str, Any]:
    """Read all variables, whichever are asked for, without the names of dimensions."""
    held = PickleSource(path)
    return {**held.arrays, ".": {key: without(".dims")(key, entry) for key, entry in held.meta.items()}}


class Unequal(FileHandle):
    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        return False


def unequal_handle(self: Any, name: str) -> FileHandle:
    found = reads_name(self, name)
    return Unequal(*(getattr(found, one) for one in ("origin", "key", "shape", "type", "missing")))


def by_suffix(held: Any) -> None:
    if "." not in Path(held.path).name:
        held.arrays = {key: array if array is None else array[::-1] for key, array in held.arrays.items()}


def without_the_file(self: Any, path: Any) -> None:
    try:
        opened(self, path)
    except FormatError as error:
        raise FormatError(error.message, path="a file") from None


def silent_after_commit(self: Any, name: str, blocks: Iterable[Any]) -> None:
    if self._is_open:
        FileSink.write(self, name, blocks)


def any_option(patch: Patch) -> None:
    format(creation=PICKLE.creation | {"nonsense"})(patch)
    sink("__init__", lambda self, path, meta, nonsense=0, **options: created(self, path, meta, **options))(patch)


SABOTAGES: dict[str, tuple[str, Callable[[Patch], None]]] = {
    **{f"refuses {name}": ("test_written_data_are_read_back", refusing(name)) for name in TYPES},
    "drops masks": ("test_written_data_are_read_back", changing(np.ma.getdata)),
    "masks everything": ("test_written_data_are_read_back", changing(lambda a: np.ma.MaskedArray(a, True))),
    "widens": ("test_written_data_are_read_back", changing(lambda a: a.astype("i8") if a.dtype == "i4" else a)),
    "scalars get a dimension": ("test_written_data_are_read_back", changing(np.ma.atleast_1d)),
    "drops an attribute": ("test_written_data_are_read_back", describing(without("texts"))),
    "drops dimensions": ("test_written_data_are_read_back", describing(without(".dims"))),
    "drops times": ("test_written_data_are_read_back", describing(without(".time"))),
    "loses silently": ("test_written_data_are_read_back", sink("lose", lambda self, name: None)),
    "damages before it refuses": ("test_written_data_are_read_back", sink("__init__", damaging_before_it_refuses)),
    "leaves a file when it refuses": ("test_written_data_are_read_back", sink("abort", PickleSink._close)),
    "writes the first block": ("test_conversion_from_ds", sink("_write", only_the_first_block)),
    "reads the last block first": ("test_conversion_to_ds", source("blocks", last_block_first)),
    "no types": ("test_metadata", describing(without(".type"))),
    "other sizes": ("test_metadata", describing(lambda key, entry: {**entry, ".size": []})),
    "no missing values": ("test_metadata", describing(lambda key, entry: {**entry, ".missing": False})),
    "read-only": ("test_metadata", source("read", frozen)),
    "other metadata": ("test_metadata", format(meta=lambda path: {".": {}})),
    "faults of good variables": ("test_metadata", opening(lambda self: self.faults.update(
        {key: DsError("odd") for key in self.arrays}
    ))),
    "variables that do not exist": ("test_metadata", opening(lambda self: self.meta.update(more={".size": None}))),
    "other dimensions than it reads": ("test_metadata", driver(read=read_all)),
    "ignores steps": ("test_parts", source("read", without_steps)),
    "sorts lists": ("test_parts", source("read", sorted_lists)),
    "reads all variables": ("test_parts", driver(read=read_all)),
    "large blocks": ("test_blocks", source("blocks", large_blocks)),
    "flat blocks": ("test_blocks", source("blocks", flat_blocks)),
    "blocks out of order": ("test_blocks", source("blocks", last_block_first)),
    "blocks of nothing": ("test_blocks", source("blocks", blocks_of_nothing)),
    "handles that cannot travel": ("test_handles", source("handle", lambda self, name: lambda: self)),
    "handles that read all": ("test_handles", lambda patch: patch.setattr(
        FileHandle, "_read", lambda self, index: reads_handle(self, None)
    )),
    "handles of one variable": ("test_handles", source("handle", lambda self, _: reads_name(self, min(self.arrays)))),
    "handles that differ": ("test_handles", source("handle", unequal_handle)),
    "handles of any file": ("test_handles", lambda patch: patch.setattr(FileHandle, "_compare", lambda self: None)),
    "lists no variables": ("test_commands", format(meta=lambda path: {".": {}})),
    **{f"reports one {severity}": ("test_commands", driver(
        check=lambda path, report, severity=severity, **_: report(Problem(path, None, "odd", severity))
    )) for severity in ("error", "warning")},
    "remembers another file": ("test_many_files", first_file_again()),
    "other capitals": ("test_names_of_files", format(suffixes=(".pickled", ".PICKLED2"))),
    "other marks": ("test_names_of_files", format(marks=(b"other",))),
    "reads by the suffix": ("test_names_of_files", opening(by_suffix)),
    "errors without the file": ("test_faults_are_errors", source("__init__", without_the_file)),
    "any error": ("test_faults_are_errors", source("__init__", lambda self, path: pickle.loads(b""))),
    "replaces always": ("test_options_of_creation", sink("__init__", lambda self, path, meta, **_: created(
        self, path, meta
    ))),
    "takes any option": ("test_options_of_creation", any_option),
    "is silent after commit": ("test_sinks", sink("write", silent_after_commit)),
    "takes any number of values": ("test_sinks", sink("write", uncounted)),
    "forgets the old file": ("test_sinks", sink("__init__", damaging_before_it_refuses)),
    "finishes a part": ("test_sinks", sink("commit", finishing_a_part)),
    "does not name the file": ("test_sinks", sink("write", nameless)),
    "leaves temporary files": ("test_sinks", sink("abort", PickleSink._close)),
}  # fmt: skip
"""What is wrong → the test of the contract that fails, and what does it."""


@pytest.mark.usefixtures("_installed")
@pytest.mark.parametrize("fault", SABOTAGES)
def test_a_broken_promise_fails(fault: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    promise, sabotage = SABOTAGES[fault]
    sabotage(monkeypatch)
    with pytest.raises((AssertionError, AttributeError, pickle.PicklingError, DsError, EOFError)):
        run(promise, tmp_path)


def test_a_sabotage_for_each_promise() -> None:
    assert {promise for promise, _ in SABOTAGES.values()} == {*PROMISES}


def test_numbers_that_look_the_same_are_shown_by_their_bytes() -> None:
    nan, other = (np.array([bits], "u8").view("f8") for bits in (0x7FF8000000000000, 0x7FF8000000000001))
    expected, found = ({"x": array, ".": {"x": {}, ".": {}}} for array in (nan, other))
    with pytest.raises(AssertionError, match=r"found array\(\[nan\]\) with the bytes 010000000000f87f, expected "):
        require_same(expected, found)
    found["x"] = np.array([1.0])
    with pytest.raises(AssertionError, match=r'"x": found array\(\[1\.\]\), expected array\(\[nan\]\)$'):
        require_same(expected, found)
