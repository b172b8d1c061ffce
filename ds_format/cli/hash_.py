"""`ds hash`: print hashes of the content of files, and check files against a list of them."""

from __future__ import annotations

import re
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from ..api.digests import digest, digests, of_dataset
from ..base.error_text import describe_with_hint
from ..base.text import on_one_line
from ..body import path_text
from ..errors import DsError, DsWarning, plain_path
from .arguments import ArgumentError, Command, Finished, Option, Request
from .pst import Text
from .select_ import SKIP_UNSUPPORTED
from .verify import files_of

LINE = re.compile(rb"(\\?)([0-9A-Fa-f]{64}) [ *](.+)", re.DOTALL)
"""A line of a list as of sha256sum: a backslash if the path has escapes, the hash, a mark of the mode, the path."""
ESCAPES = {"\\": "\\\\", "\n": "\\n", "\r": "\\r"}
"""Characters of paths that are escaped in lists."""
ESCAPED = {escape: character for character, escape in ESCAPES.items()}


def run(request: Request) -> Iterator[Any]:
    """Yield a line for each file or variable, or for each line of a list.

    Raises
    ------
    Finished
        At the end, if a file cannot be read, or differs from the list.
    OSError
        If a list cannot be read.
    """
    if request.flag("check"):
        if request.flag("l") or request.flag("j"):
            raise ArgumentError("--check prints a line for each file: leave out -l and -j")
        yield from _checked(request)
        return
    has_failed = False
    for name in request.names("FILE..."):
        for path in _attempt(request, partial(files_of, name)) or [None]:
            found = path and _attempt(request, partial(digests, path, **_options(request)))
            has_failed |= not found
            if found:
                yield from _shown(plain_path(path_text(path)), found, request)
    if has_failed:
        raise Finished(1)


def _options(request: Request) -> dict[str, Any]:
    flags = {name: request.flag(name) for name in ("unpack", "skip-unsupported")}
    return {**{name.replace("-", "_"): given for name, given in flags.items()}, "progress": request.progress}


def _attempt(request: Request, work: Callable[[], Any]) -> Any:
    """Return a result, or None after printing the error."""
    try:
        return work()
    except (DsError, OSError) as error:
        if request.progress is not None:
            request.progress.clear()  # type: ignore[attr-defined]  # it is the bar of `progress`
        print(on_one_line(f"ds hash: {describe_with_hint(error)}"), file=sys.stderr)
        return None


def _shown(path: str, found: dict[str, str], request: Request) -> Iterator[Any]:
    """Yield the output for one file."""
    whole = of_dataset(found)
    if request.flag("j"):
        yield {"path": path, "hash": whole, **({"variables": found} if request.flag("l") else {})}
    elif request.flag("l"):
        yield from ([hexadecimal, key, path] for key, hexadecimal in found.items())
    else:
        mark, text = _escaped(path)
        yield Text(f"{mark}{whole}  {text}")


def _escaped(path: str) -> tuple[str, str]:
    """Return a path for a list, and the backslash that begins its line if it has escapes."""
    text = "".join(ESCAPES.get(character, character) for character in path)
    return "\\" if text != path else "", text


def _checked(request: Request) -> Iterator[Any]:
    """Yield a line for each file in lists, and warn of those that fail."""
    has_failed = False
    for name in request.names("[LIST]...") or ["-"]:
        counts: Counter[str] = Counter()
        for line in _lines(name):
            if (match := LINE.fullmatch(line)) is None:
                counts["malformed"] += 1
                continue
            path = path_text(match[3])
            if match[1]:
                path = re.sub(r"\\[\\nr]", lambda escape: ESCAPED[escape[0]], path)
            found = _attempt(request, partial(digest, path, **_options(request)))
            outcome = (
                "FAILED open or read" if found is None else "OK" if found == match[2].decode().lower() else "FAILED"
            )
            counts[outcome] += 1
            if outcome != "OK" or not request.flag("q"):
                yield Text("{}{}: {}".format(*_escaped(path), outcome))
        has_failed |= _warned(name, counts)
    if has_failed:
        raise Finished(1)


def _lines(name: str) -> Iterator[bytes]:
    """Yield the lines of a list, or of standard input for `-`, without comments."""
    with open(sys.stdin.fileno() if name == "-" else name, "rb", closefd=name != "-") as file:
        yield from (line.rstrip(b"\r\n") for line in file if not line.startswith(b"#"))


def _warned(name: str, counts: Counter[str]) -> bool:
    """Warn of lines and files that failed. Return whether the command fails: not for malformed lines among others."""
    n, malformed = counts.total(), counts.pop("malformed", 0)
    failed = {"not read": counts["FAILED open or read"], "with another hash": counts["FAILED"]}
    messages = [f"files {what}: {k} of {counts.total()}" for what, k in failed.items() if k]
    if malformed:
        messages.insert(0, f"malformed lines: {malformed} of {n}, expected a hash of 64 digits, two blanks and a path")
    if not counts.total():
        messages.append("found no line with a hash and a path")
    for message in messages:
        warnings.warn(on_one_line(f"{name}: {message}"), DsWarning, stacklevel=2)
    return any(failed.values()) or not counts.total()


COMMANDS = {
    "hash": Command(
        usage=("ds hash [OPTIONS] [--] FILE...", "ds hash --check [LIST]..."),
        about="Prints a hash of the content of each file: names, dimensions, types, values, missing values and "
        "attributes. A file and its conversion to another format have the same hash, unless the conversion warned of a "
        "loss. Lines are those of sha256sum: the hash (BLAKE2b of 32 bytes), two blanks, and the path. The exit status "
        "is 1 if a file cannot be read, or with --check if one differs.",
        arguments=(
            (
                "FILE",
                (
                    "A file of any format, a folder that is a dataset, another folder, or a pattern with *, ?, [...] "
                    "or **. Addresses are hashed, too."
                ),
            ),
            ("LIST", "With --check, a file with lines that this command printed. Standard input if it is - or absent."),
        ),
        options=(
            Option(
                "check", "Compare files with the hashes in LIST, and print OK or FAILED for each; with -q only FAILED."
            ),
            Option(
                "l",
                "Print a line with hash, name and path for each variable. The name of the attributes of the dataset is "
                "a dot.",
            ),
            SKIP_UNSUPPORTED,
            Option("unpack", "Hash the values that packed numbers represent, instead of the stored numbers."),
        ),
        examples=(
            ("Compare a file with its conversion:", "ds hash data.nc data.ds"),
            ("Check files against a list:", "ds hash --check list.txt"),
            ("Find out which variables differ:", "ds hash -l run1.nc run2.nc"),
        ),
        status="0 after success, 1 if a file cannot be read or has another hash.",
        run=run,
    ),
}
