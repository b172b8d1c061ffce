"""Reads mutated headers with the kernel and with the code that explains errors, and checks that both agree.

Run `python tests/fuzz_headers.py --count 5000000 --seed 1 --jobs 2`. It stops at the first difference, and prints what
was read before it, because the kernel reuses parts of one header for the next. For this reason it reads rows of
headers, in which mutated and original ones alternate. Now and then it modifies a returned object, which must not be
shared. Now and then it also reads a file with its body, both ways.
"""

from __future__ import annotations

import argparse
import collections
import functools
import marshal
import random
import sys
import time
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

sys.path.append(str(Path(__file__).parents[1]))  # as a script, this knows its own folder only

from ds_format.codec import line
from ds_format.datasets import Dataset
from ds_format.drivers.ds import whole
from ds_format.errors import DsError
from tests.headers.corpus import File, families
from tests.headers.mutations import mutated
from tests.same import same_dataset

Meta = dict[str, Any]
LONGEST = 20_000
"""Bytes of a header that is mutated further."""
ROWS = ("m", "mm", "bm", "bmb", "bmm", "mbm", "bbmbm", "bmbmb")
"""Headers that are read in a row: `m` is the mutated one, `b` an original one."""
BATCH = 10_000
PATH = "x.ds"


class Told(NamedTuple):
    """Result of parsing a header."""

    header: tuple[Any, ...]
    meta: Meta
    exact: bytes
    """The metadata, as `exact` returns them."""


class Tally(NamedTuple):
    """How many headers were read."""

    mutated: int
    others: int
    accepted: int
    """Mutated ones that the kernel did not leave to others."""


class DifferenceError(Exception):
    """The kernel and the code that explains errors do not agree; the message shows what was read last."""


def described(header: line.Header) -> tuple[Any, ...]:
    """Return all that a header says."""
    variables = [(key, header.variables[key].var, header.variables[key].error) for key in header.keys]
    return header.version, header.body, header.is_doubtful, variables


def exact(meta: Meta) -> bytes:
    """Return metadata as bytes that are equal if types, values and order are."""
    return marshal.dumps(meta, 0)


def explained(data: bytes) -> Told | str:
    """Return what is said of a header without the kernel, or why nothing can be."""
    try:
        header, meta = line.parse_any(data, line.find_end(data, whole=True))
    except (DsError, ValueError) as error:  # a ValueError: Python refuses integers of thousands of digits
        return f"{type(error).__name__}: {error}"
    return Told(described(header), meta, exact(meta))


def reason(read: Callable[[], object]) -> str:
    """Return why something cannot be read, or nothing."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of older writers
        try:
            read()
        except (DsError, ValueError) as error:
            return f"{type(error).__name__}: {error}"
    return ""


def identical(left: Dataset, right: Dataset) -> bool:
    """Whether all data and metadata are the same, in the same order."""
    return list(left) == list(right) and list(left["."]) == list(right["."]) and same_dataset(left, right)


def damage(value: Any) -> None:
    """Change whatever can be changed in metadata."""
    if type(value) is dict:
        for inner in value.values():
            damage(inner)
        value["damaged"] = value.popitem() if value else None
    elif type(value) is list:
        for inner in value:
            damage(inner)
        value.append("damaged")


class Reader:
    """Reads one header after another with the kernel, and compares what it says with what others say.

    Parameters
    ----------
    dice : Random
    kernel : callable
        Header, and keys of the variables that are wanted → what `line.parse_usual` returns.
    """

    def __init__(self, dice: random.Random, kernel: Callable[..., Any]):
        self.dice = dice
        self.kernel = kernel
        self.told = functools.lru_cache(maxsize=1000)(explained)
        self.read: collections.deque[tuple[bytes, Collection[str] | None]] = collections.deque(maxlen=12)
        self.kept: collections.deque[tuple[bytes, Any, Told]] = collections.deque(maxlen=4)

    def accepts(self, data: bytes, keys: Collection[str] | None, body: bytes) -> bool:
        """Read a header, now and then with the body; return whether the kernel did not leave it to others.

        Raises
        ------
        Difference
            If others say something else.
        """
        self.read.append((data, keys))
        if self.dice.random() < 0.05:
            self._compare_files(data + self._changed(body), keys)
        found = self.kernel(data, keys)
        if found is None:
            return False
        told = self.told(data)
        if isinstance(told, str):
            raise self._difference(f"the kernel accepts what is refused: {told}")
        header, meta = found
        self._compare(data, header, told)
        wanted = told.exact
        if keys is not None:
            wanted = exact({key: entry for key, entry in told.meta.items() if key in keys or key == "."})
        if exact(meta) != wanted:
            raise self._difference(f"metadata: found {meta}, expected {marshal.loads(wanted)}")
        if self.dice.random() < 0.1:
            self.kept.append((data, header, told))
            self._compare(*self.kept[0])
        if self.dice.random() < 0.3:
            damage(meta)
        return True

    def _compare(self, data: bytes, compiled: Any, told: Told) -> None:
        header = line.header_of(compiled)
        found = described(header)
        if found != told.header:
            raise self._difference(f"header: found {found}, expected {told.header}")
        for key, entry in told.meta.items():
            is_packed = {"packed": True} in (entry.get(".netcdf"), entry.get(".hdf5"))
            if is_packed > header.may_be_packed or (".dtypes" in entry) > header.has_dtypes:
                raise self._difference(f"hints about {key!r}")

    def _changed(self, body: bytes) -> bytes:
        """Return the bytes of variables; now and then some of them are others, as of masks, lengths and text."""
        changed = bytearray(body)
        while changed and self.dice.random() < 0.5:
            changed[self.dice.randrange(len(changed))] = self.dice.choice((0, 1, 8, 127, 128, 255))
        return bytes(changed)

    def _compare_files(self, data: bytes, keys: Collection[str] | None) -> None:
        read, expected = Dataset(), Dataset()
        error = reason(lambda: read.update(whole.from_held(PATH, bytearray(data), keys, None)))
        content, share = bytearray(data), keys is None
        # as if the kernel had left all
        wrong = reason(lambda: whole._complete(expected, content, None, None, [], keys, False, False, None, share))
        if error.replace(f"{PATH}: ", "", 1) != wrong:
            raise self._difference(f"file: {error or 'no error'}, expected {wrong or 'no error'}")
        if not error and not identical(read, expected):
            raise self._difference(f"file: found {read}, expected {expected}")

    def _difference(self, what: str) -> DifferenceError:
        rows = "".join(f"    {row!r},\n" for row in self.read)
        return DifferenceError(f"{what}\nRead last, and the keys that were wanted:\n[\n{rows}]")


def run(count: int, seed: str) -> Iterator[Tally]:
    """Mutate headers and compare, and yield how many there were, now and then.

    Parameters
    ----------
    count : int
        Of mutated headers.
    seed : str

    Raises
    ------
    DifferenceError
    """
    dice = random.Random(seed)
    reader = Reader(dice, line.parse_usual)
    tally = Tally(0, 0, 0)
    known = [(family, _names(family)) for family in families()]
    base, file = b"", File(b"", b"")
    while tally.mutated < count:
        family, names = dice.choice(known)
        if not 0 < len(base) < LONGEST or dice.random() < 0.8:
            file = dice.choice(family)
            base = file.head
        data = mutated(dice, base)
        for which in dice.choice(ROWS):
            keys = [name for name in names if dice.random() < 0.3] if dice.random() < 0.2 else None
            if which == "b":
                other = dice.choice(family)
                reader.accepts(other.head, keys, other.body)
                tally = tally._replace(others=tally.others + 1)
            else:
                is_accepted = reader.accepts(data, keys, file.body)
        tally = tally._replace(mutated=tally.mutated + 1, accepted=tally.accepted + is_accepted)
        base = data
        if tally.mutated % BATCH == 0:
            yield tally
    yield tally


def _names(family: Iterable[File]) -> list[str]:
    """Return the variables of files."""
    found = (explained(file.head) for file in family)
    return sorted({key for told in found if isinstance(told, Told) for key in told.meta})


def job(count: int, seed: str) -> tuple[Tally, str]:
    """Run to the end, and tell how far that is; return what was found, too."""
    start = time.perf_counter()
    tally = Tally(0, 0, 0)
    try:
        for tally in run(count, seed):
            rate = tally.mutated / (time.perf_counter() - start)
            print(f"seed {seed}: {tally.mutated} mutated headers, {rate:.0f}/s", file=sys.stderr, flush=True)
    except DifferenceError as difference:
        return tally, f"seed {seed}, behind {tally.mutated} mutated headers: {difference}"
    return tally, ""


def main(words: Sequence[str] | None = None) -> int:
    """Run in so many processes; return 1 if there was a difference."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=100_000, help="mutated headers, in all")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    arguments = parser.parse_args(words)
    seeds = [f"{arguments.seed}/{i}" for i in range(arguments.jobs)]
    start = time.perf_counter()
    counts = [arguments.count // arguments.jobs] * arguments.jobs
    with ProcessPoolExecutor(arguments.jobs) as pool:
        found = list(pool.map(job, counts, seeds))
    seconds = time.perf_counter() - start
    total = Tally(*map(sum, zip(*(tally for tally, _ in found), strict=True)))
    print(
        f"{total.mutated} mutated headers, {total.accepted} of them read by the kernel, among {total.others} others: "
        f"{total.mutated / seconds:.0f}/s"
    )
    differences = [difference for _, difference in found if difference]
    print("\n".join(differences) or "no difference")
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main())
