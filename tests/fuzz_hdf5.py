"""Mutated HDF5 files, read by the kernels: they are read, or refused, and nothing else happens.

Run `python tests/fuzz_hdf5.py --count 100000 --seed 1 --jobs 2`. It stops at the first error of another class, at the
first file that takes long or much memory, and at the first one that the oracle or h5py reads differently, and stores
it. Of most files the checksums are corrected after they were damaged.

With `--library 0.3`, so many of the files are also read by h5py, in another process. Its values must be the same. Where
it refuses a file or a dataset that the kernels read, this is counted only: it also checks the free lists of heaps and
the flags of messages, and it refuses a chunk outside of the shape that is no multiple of the shape of chunks.

For AddressSanitizer, build the kernels with

    CFLAGS="-fsanitize=address,undefined -fno-sanitize-recover=undefined" python setup.py build_ext --inplace --force

and run with LD_PRELOAD="$(gcc -print-file-name=libasan.so)" and ASAN_OPTIONS=detect_leaks=0. The file that is read is
stored before, so that it is there if the process ends.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import math
import mmap
import random
import resource
import sys
import tempfile
import time
import unittest.mock
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[1]))  # as a script, this knows its own folder only

from ds_format.body.body import Body, MemoryBody
from ds_format.drivers.library.isolated import LibraryProcess
from ds_format.errors import FormatError, Unusual
from ds_format.hdf5 import arrays, check_unread, header, reading, with_links
from ds_format.hdf5.records import HDF5Dataset, HDF5File
from ds_format.kernels.common.finishing import Finisher
from tests.hdf5 import reference
from tests.hdf5.damage import Anatomy
from tests.hdf5.far import FarBody
from tests.hdf5.files import MAKERS
from tests.hdf5.hostile import base
from tests.hdf5.reading import different, exact, library_values

SEEDS: tuple[str, ...] = (
    "report_unlimited_zlib",
    "odd_attributes",
    "groups",
    "types",
    "changed",
    "coordinates",
    "storage",
    "masks",
)
SEEDS += ("hdf5_earliest", "hdf5_latest_ordered", "h5netcdf_latest", "compound", "references")
SEEDS += ("soft_links", "soft_links_of_tables", "two_names", "filter_lzf", "szip_after_shuffle", "shuffled_strings")
SEEDS += ("composed", "composed_zlib", "our_classic_model", "our_report", "our_hdf5", "our_streamed")
BASES = ("netcdf4", "few", "earliest", "latest")
"""Small files of which one has little and uses all parts of the format."""

NUMBERS: tuple[int, ...] = (
    0,
    1,
    2,
    3,
    7,
    8,
    15,
    16,
    31,
    32,
    33,
    64,
    127,
    128,
    255,
    256,
    4096,
    65_535,
    65_536,
    2**31,
    2**32 - 1,
)
NUMBERS += (2**32, 2**40, 2**62, 2**63, 2**64 - 1, 2**64 - 2, 2**64 - 9)
SECONDS, MEMORY = 1.0, 100 << 20
"""What reading a file may take; ten times the seconds with a sanitizer."""
LARGEST = 65_536
"""Bytes with one checksum that is corrected: in Python it takes long."""
COMPARED = 0.05
"""Of the files that the kernels read, how many are compared with the oracle, which takes long."""
RECALLED = 0.3
"""Of the same, how many are compared with themselves, recalled from others or read range by range."""
LIBRARY = 0.0
"""Of the same, how many are compared with h5py, if nothing else is said."""
AFTER_BLOCK = 0.02
"""Of all files, how many have a user block before them."""


class FoundError(Exception):
    """A file that is not read as it must be."""


@functools.cache
def seeds() -> list[Anatomy]:
    """Return the files that are mutated, and where their parts are."""
    found = [base(name) for name in BASES]
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a library, about byte orders
        for name in SEEDS:
            if name in MAKERS:
                path = Path(folder, f"{name}.nc")
                MAKERS[name].make(path)
                found.append(Anatomy(path.read_bytes()))
    return found


def mutated(dice: random.Random, a: Anatomy) -> bytes:
    """Return a damaged file; in most of them checksums are right again."""
    data = bytearray(a.data)
    changes: list[tuple[int, bytes]] = []
    for _ in range(dice.choice((1, 1, 1, 2, 3, 8))):
        at = _place(dice, a)
        new = _piece(dice, a, at)
        new = new[: len(data) - at]
        data[at : at + len(new)] = new
        changes.append((at, new))
    result = bytes(data)
    if dice.random() < 0.9:
        result = a.repaired(data, tuple(changes), LARGEST)
    if dice.random() < 0.03:
        result = result[: dice.randrange(len(result))]
    return result


UNCHECKED = (b"TREE", b"SNOD", b"HEAP", b"GCOL")
"""Structures without a checksum."""


@functools.lru_cache(1000)
def _unchecked(data: bytes) -> list[tuple[int, int]]:
    found = [(0, 100)]
    for signature in UNCHECKED:
        at = data.find(signature)
        while at >= 0:
            found.append((at, min(at + 200, len(data))))
            at = data.find(signature, at + 1)
    return found


def _place(dice: random.Random, a: Anatomy) -> int:
    which = dice.random()
    if which > 0.85 and a.chunks:
        return dice.randrange(*dice.choice(a.chunks))
    if which < 0.6 and a.structures:
        start, end, _ = dice.choice(a.structures)
        return dice.randrange(start, end)
    if which < 0.8:
        return dice.randrange(*dice.choice(_unchecked(a.data)))
    return dice.randrange(len(a.data))


def _piece(dice: random.Random, a: Anatomy, at: int) -> bytes:
    which = dice.random()
    if which < 0.35:
        return bytes([dice.randrange(256)])
    if which < 0.5:
        return bytes([a.data[at] ^ 1 << dice.randrange(8)])
    if which < 0.85:
        size = dice.choice((1, 2, 4, 8))
        number = dice.choice((
            dice.choice(NUMBERS),
            dice.randrange(len(a.data)),
            a.structures[0].start if a.structures else 0,
        ))
        return (number % (1 << 8 * size)).to_bytes(size, "little")
    size = dice.choice((1, 2, 4, 8, 8, 8, 16, 24, 40))
    start = _place(dice, a)
    return a.data[start : start + size]


def read(data: bytes, dice: random.Random, tally: Counter[str], library: Library | None = None) -> None:
    """Read a file with the kernels and, now and then, with the oracle or a library.

    Raises
    ------
    FoundError
        If both say something else. An error that is no error about a file is passed on.
    """
    body: Body = MemoryBody("x.nc", data)
    if dice.random() < AFTER_BLOCK:
        body = header.content(MemoryBody("x.nc", bytes(512) + data)) or body
    if dice.random() < RECALLED:
        _compare_headers(body)
    try:
        file = header.read_file(body)
    except (FormatError, Unusual) as error:
        tally[type(error).__name__] += 1
        if dice.random() < RECALLED:
            with contextlib.suppress(FormatError, Unusual):
                _read_ranges(data)
                raise FoundError("a file is read range by range, and not at once") from error
        return
    tally["read"] += 1
    if dice.random() < RECALLED:
        _compare_recalled(data, file)
    is_compared = dice.random() < COMPARED
    if is_compared:
        _compare(data, file, tally)
    with contextlib.suppress(FormatError, Unusual):
        with_links(file, netcdf=True)
    try:
        file, _ = with_links(file)
    except Unusual:
        tally["links: Unusual"] += 1
    with contextlib.suppress(FormatError, Unusual):
        check_unread(body)
        tally["structures that reading does not need: right"] += 1
    whole: list[tuple[Any, Any]] = []
    numbers: dict[str, Any] = {}
    as_text = dice.random() < 0.5
    for dataset in file.datasets:
        if _has_many_chunks(dataset) and dice.random() < 0.8:
            continue
        try:
            place = arrays.place_of(dataset)
            values, _ = arrays.values(body, place, as_text=as_text)
            whole.append((place, values))
            if dataset.type.kind == "number":
                numbers[dataset.name] = values
        except (FormatError, Unusual) as error:
            tally[f"values: {type(error).__name__}"] += 1
            continue
        tally["values: read"] += 1
        if is_compared and dataset.type.kind != "string":
            try:
                expected = reference.values(data, dataset)
            except (reference.WrongError, reference.UnknownError):
                tally["values: the oracle refuses"] += 1
                continue
            if exact(values) != exact(expected):
                raise FoundError(f"{dataset.name}: the kernel reads {values!r:.300}, the oracle {expected!r:.300}")
    if library is not None and dice.random() < library.share:
        library.compare(data, numbers, tally)
    places = [place for place, _ in whole]
    requests: list[Any] = [(place.shape, _finisher(place.dtype, as_text)) for place in places]
    together, left = arrays.small_values(body, places, requests, False)
    for i in {*range(len(whole))} - {*left}:
        expected = whole[i][1].astype(object) if places[i].dtype.kind == "S" else whole[i][1]
        if exact(together[i]) != exact(expected):
            raise FoundError(f"together with others, {together[i]!r:.300} is read in place of {expected!r:.300}")


def _finisher(dtype: Any, as_text: bool) -> Finisher:
    """Return what makes values as `arrays.values` does, but objects of characters."""
    kind = {"V": "string", "S": "char"}.get(dtype.kind, "number")
    return Finisher(kind, None, None, as_text and kind == "string", False, None)


class Library:
    """Compares values with those of h5py, in a process that may end.

    Parameters
    ----------
    share : float
        Of the files that the kernels read, how many are compared.
    """

    def __init__(self, share: float):
        self.share = share
        self._process: LibraryProcess | None = None

    def compare(self, data: bytes, values: dict[str, Any], tally: Counter[str]) -> None:
        """Compare the values of datasets.

        Raises
        ------
        FoundError
            If h5py reads others.
        """
        if self._process is None or not self._process.is_usable:
            self._process = LibraryProcess()
        try:
            expected = self._process.call("h5py", "x.nc", library_values, data, list(values))
        except FormatError:
            tally["h5py: crashed"] += 1
            return
        except Exception:  # noqa: BLE001  it refuses the file
            tally["h5py: refused the file"] += 1
            return
        for name, found in values.items():
            other = expected[name]
            if other is None:
                tally["h5py: refused values"] += 1
            elif found.shape != other.shape or found.tobytes() != other.astype(found.dtype).tobytes():
                raise FoundError(f"{name}: the kernel reads {found!r:.300}, h5py {other!r:.300}")
            else:
                tally["h5py: same values"] += 1


def _has_many_chunks(dataset: HDF5Dataset) -> bool:
    """Whether reading its values takes far longer than reading the rest of the file."""
    if dataset.shape is None or dataset.layout.chunk is None or 0 in dataset.layout.chunk:
        return False
    return math.prod(n // step for n, step in zip(dataset.shape, dataset.layout.chunk, strict=False)) > 20


def _compare_headers(body: Body) -> None:
    """Compare a file with one whose numbers of attributes are made without NumPy."""
    outcomes: list[Any] = []
    for read in (functools.partial(header.read_file, netcdf=True), header.read_header):
        try:
            outcomes.append(_without_numpy(read(body)))
        except (FormatError, Unusual) as error:
            outcomes.append((type(error), str(error)))
    if outcomes[0] != outcomes[1]:
        raise FoundError("numbers of attributes with and without NumPy differ")


def _without_numpy(value: Any) -> Any:
    """Return something that is equal for the same numbers of the same types."""
    if hasattr(value, "tolist"):
        return value.dtype.name, repr(value.tolist())
    if isinstance(value, dict):
        return {key: _without_numpy(item) for key, item in value.items()}
    return [_without_numpy(item) for item in value] if isinstance(value, list | tuple) else value


def _compare_recalled(data: bytes, file: HDF5File) -> None:
    """Compare a file with what is recalled from the ones before, and with what is put together from ranges."""
    found = different("of reading and recalling", header.read_file(MemoryBody("x.nc", data), share=True), file)
    found += different("of reading and reading ranges", _read_ranges(data), file)
    if found:
        raise FoundError("; ".join(found))


def _read_ranges(data: bytes) -> HDF5File:
    """Read a file as one that is far away and far larger: in small ranges, as they are needed."""
    with unittest.mock.patch.multiple(reading, FIRST_SIZE=128, BLOCK=64):
        return header.read_file(FarBody(data))


def _compare(data: bytes, file: HDF5File, tally: Counter[str]) -> None:
    try:
        expected = reference.parse(data)
    except (reference.WrongError, reference.UnknownError) as error:
        tally["the oracle refuses"] += 1
        tally[f"the oracle: {''.join(letter for letter in str(error) if not letter.isdigit())}"] += 1
        return
    tally["compared"] += 1
    found = different("of the kernel and the oracle", file, expected)
    if found:
        raise FoundError("; ".join(found))


def run(
    count: int, seed: str, seconds: float = SECONDS, store: Path | None = None, share: float = LIBRARY
) -> Iterator[Counter[str]]:
    """Mutate files and read them, and yield what happened, now and then.

    Parameters
    ----------
    count : int
    seed : str
    seconds : float
        That a file may take.
    store : Path, optional
        File for the bytes that are read next.
    share : float
        Of the files that the kernels read, how many h5py reads as well.

    Raises
    ------
    FoundError
        If one is not read as it must be.
    """
    dice = random.Random(seed)
    library = Library(share) if share else None
    files = seeds()
    room = 1 << 22
    with tempfile.TemporaryFile() if store is None else store.open("w+b") as kept:
        kept.truncate(room)
        memory = mmap.mmap(kept.fileno(), room)
        tally: Counter[str] = Counter()
        for i in range(count):
            a = dice.choice(files)
            data = mutated(dice, a)
            memory[:8] = len(data).to_bytes(8, "little")
            memory[8 : 8 + len(data)] = data
            before = resource.getrusage(resource.RUSAGE_SELF)
            start = time.process_time()
            try:
                read(data, dice if i % 2 else random.Random(i), tally, library)
            except FoundError:
                raise
            except Exception as error:
                raise FoundError(f"file {i}: {type(error).__name__}: {error}") from error
            taken = time.process_time() - start
            grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before.ru_maxrss) << 10
            if grown > MEMORY or taken > seconds:
                raise FoundError(f"file {i} took {taken:.1f} s and {grown >> 20} MB")
            tally["files"] += 1
            if i % 500 == 499:
                yield tally
        yield tally


def job(
    count: int, seed: str, seconds: float, store: Path | None, minutes: float, share: float
) -> tuple[Counter[str], str]:
    """Run to the end, or for so many minutes; return what happened, and what was found."""
    tally: Counter[str] = Counter()
    start = time.monotonic()
    try:
        for each in run(count, seed, seconds, store, share):
            tally = each
            if time.monotonic() - start > 60 * minutes:
                break
    except FoundError as error:
        return tally, f"seed {seed}, {store}: {error}"
    return tally, ""


def stored(path: Path) -> bytes:
    """Return the file that was read last."""
    data = path.read_bytes()
    return data[8 : 8 + int.from_bytes(data[:8], "little")]


def main(words: Sequence[str] | None = None) -> int:
    """Run in so many processes; return 1 if something was found."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=100_000, help="files, in all")
    parser.add_argument("--seed", default="1")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="that a file may take")
    parser.add_argument("--minutes", type=float, default=math.inf, help="after which it stops")
    parser.add_argument("--library", type=float, default=LIBRARY, help="share of the files that h5py reads, too")
    parser.add_argument("--store", type=Path, help="folder for what is read")
    arguments = parser.parse_args(words)
    names = [f"{arguments.seed}-{i}" for i in range(arguments.jobs)]
    stores = [arguments.store and arguments.store / name for name in names]
    start = time.perf_counter()
    seeds()  # before the processes are forked
    with ProcessPoolExecutor(arguments.jobs) as pool:
        jobs = [
            pool.submit(
                job,
                arguments.count // arguments.jobs,
                name,
                arguments.seconds,
                store,
                arguments.minutes,
                arguments.library,
            )
            for name, store in zip(names, stores, strict=True)
        ]
        found = [each.result() for each in jobs]
    tally = sum((each for each, _ in found), Counter())
    print(f"{tally['files']} files, {tally['files'] / (time.perf_counter() - start):.0f}/s")
    for name, n in tally.most_common():
        print(f"{n:8} {name}")
    errors = [error for _, error in found if error]
    print("\n".join(errors) or "nothing found")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
