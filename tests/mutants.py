"""Changes the package in one place after another, and names the changes that no test finds.

Run `make mutants ARGS="N SEED PATH"`: N changes below PATH, drawn by the number SEED. Each is made in a copy of the
checkout in the folder for temporary files. Kernels are built. The tests of its room come first, then all that are not
slow. Changes that do not compile are drawn again. A survivor either lacks a test, or changes nothing that can be seen.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import keyword
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import tokenize
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

TOP = Path(__file__).parents[1]
UNCOPIED = (".git", "__pycache__", "_build", "build", "dist", "wheels", ".venv*", "jupyter_execute")
LIMIT = 3600.0
"""Seconds for anything."""
OTHERS = {"==": "!=", "!=": "==", "<": "<=", "<=": "<", ">": ">=", ">=": ">", "+": "-", "-": "+"}
OTHERS |= {"and": "or", "or": "and", "True": "False", "False": "True", "not": ""}
"""What operators and names become. Operators of one operand, and the types of Cython, have no space after them."""
UNREMOVED = frozenset(keyword.kwlist) - {"assert", "break", "continue", "del", "raise"}
UNREMOVED |= {"@", "cdef", "cimport", "cpdef", "ctypedef", "include", "match", "case"}
"""First words of lines that are no statement to remove."""


class Mutant(NamedTuple):
    """A change of a file."""

    path: str
    line: int
    start: int
    """Position in the text of the file, in characters."""
    end: int
    text: str
    """What is there instead."""

    def apply(self, source: str) -> str:
        return source[: self.start] + self.text + source[self.end :]


def mutants(path: str, source: str) -> Iterator[Mutant]:
    """All changes of an operator, a number, a condition or a returned value, and all removals of a statement."""
    starts = [0]
    for line in io.StringIO(source):
        starts.append(starts[-1] + len(line))
    tokens: list[tokenize.TokenInfo] = []
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type in (tokenize.INDENT, tokenize.DEDENT, tokenize.NL, tokenize.COMMENT):
            continue
        if token.type != tokenize.NEWLINE:
            tokens.append(token)
            continue
        places = [(starts[one.start[0] - 1] + one.start[1], starts[one.end[0] - 1] + one.end[1]) for one in tokens]
        first, last = tokens[0], places[-1][1]
        if first.string == "return" and len(tokens) > 1:
            yield Mutant(path, first.start[0], places[1][0], last, "0" if path.endswith(".pyx") else "None")
        elif first.start[1] and first.string not in UNREMOVED and first.type != tokenize.STRING:
            yield Mutant(path, first.start[0], places[0][0], last, "pass")
        for one, (start, end), follower in zip(tokens, places, [*tokens[1:], token], strict=True):
            if one.string in OTHERS and source[end] in " \n" and source[start - 1] in " (" and follower.string != "in":
                yield Mutant(path, one.start[0], start, end, OTHERS[one.string])
            elif one.type == tokenize.NUMBER and one.string.isdecimal():
                yield Mutant(path, one.start[0], start, end, str(int(one.string) + 1))
        tokens = []


def draw(top: Path, path: str, seed: int) -> Iterator[Mutant]:
    """Yield all changes of the modules and kernels below `path`, in random order."""
    below = top / path
    files = [below] if below.is_file() else sorted(file for kind in ("*.py", "*.pyx") for file in below.rglob(kind))
    found = [one for file in files for one in mutants(file.relative_to(top).as_posix(), file.read_text())]
    random.Random(seed).shuffle(found)
    yield from found


def room_of(top: Path, path: str) -> list[str]:
    """The tests of a module: those of its folder, or of the next one above that has some, and those of its names."""
    module = Path(path).relative_to("ds_format")
    folders = [f"tests/{one}" for one in module.parents if one.parts and (top / "tests" / one).is_dir()]
    named = [*(f"tests/{name}" for name in module.parts[1:-1]), f"tests/test_{module.stem}.py"]
    return [*folders[:1], *(name for name in dict.fromkeys(named) if (top / name).exists())]


class Trial:
    """A copy of the checkout in which changes are tried."""

    def __init__(self, top: Path):
        self.top = top
        self._limits: dict[str, float] = {}

    def find(self, mutant: Mutant) -> str | None:
        """Return what finds a change: `room`, `all` tests, or None; `build` if it does not compile."""
        path = self.top / mutant.path
        before = path.read_text()
        is_kernel = path.suffix == ".pyx"
        room = room_of(self.top, mutant.path)
        limit = self._limit(room)
        try:
            path.write_text(mutant.apply(before))
            if not (self._build() if is_kernel else _compiles(path)):
                return "build"
            if room and not self._passes(room, limit):
                return "room"
            return None if self._passes([], LIMIT) else "all"
        finally:
            path.write_text(before)
            if is_kernel:
                self._build()

    def _limit(self, tests: list[str]) -> float:
        """Return the seconds after which a run of tests counts as one that fails: three times what they need.

        Raises
        ------
        RuntimeError
            If they fail without a change.
        """
        key = " ".join(tests)
        if tests and key not in self._limits:
            begin = time.monotonic()
            if not self._passes(tests, LIMIT):
                raise RuntimeError(f"{key}: these tests fail without a change")
            self._limits[key] = 3 * (time.monotonic() - begin) + 10
        return self._limits.get(key, LIMIT)

    def _passes(self, tests: list[str], limit: float) -> bool:
        return self._run(["-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-m", "not slow", *tests], limit)

    def _build(self) -> bool:
        return self._run(["setup.py", "-q", "build_ext", "--inplace"], LIMIT)

    def _run(self, words: list[str], limit: float) -> bool:
        """Run Python in the copy, without bytecode, which could be that of another change in the same second."""
        environment = {**os.environ, "PYTHONPATH": str(self.top), "PYTHONDONTWRITEBYTECODE": "1"}
        null = subprocess.DEVNULL
        command = [sys.executable, *words]
        how: dict[str, Any] = {"stdin": null, "stdout": null, "stderr": null, "start_new_session": True}
        with subprocess.Popen(command, cwd=self.top, env=environment, **how) as process:
            try:
                return process.wait(limit) == 0
            except subprocess.TimeoutExpired:
                return False
            finally:
                with contextlib.suppress(ProcessLookupError):  # none of its session is left
                    os.killpg(process.pid, signal.SIGKILL)


def _compiles(path: Path) -> bool:
    try:
        compile(path.read_text(), path, "exec")
    except SyntaxError:
        return False
    return True


def main(top: Path, n: int, seed: int, path: str) -> int:
    """Try changes, print each with what finds it, and return the number of survivors."""
    survivors = done = 0
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        copy = Path(folder) / "checkout"
        shutil.copytree(top, copy, ignore=shutil.ignore_patterns(*UNCOPIED), symlinks=True)
        trial = Trial(copy)
        for mutant in draw(copy, path, seed):
            if done == n:
                break
            source = (copy / mutant.path).read_text()
            found = trial.find(mutant)
            if found == "build":
                continue
            done += 1
            survivors += found is None
            old = " ".join(source[mutant.start : mutant.end].split())
            print(f"{found or 'SURVIVES':8} {mutant.path}:{mutant.line}: {old!r} → {mutant.text!r}", flush=True)
    print(f"{survivors} of {done} survive")
    return survivors


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("n", type=int, nargs="?", default=10)
    parser.add_argument("seed", type=int, nargs="?", default=0)
    parser.add_argument("path", nargs="?", default="ds_format")
    given = parser.parse_args()
    sys.exit(main(TOP, given.n, given.seed, given.path) > 0)
