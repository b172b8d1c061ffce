"""Arguments → files: paths and addresses, and patterns as of `glob.glob`."""

from __future__ import annotations

import errno
import glob
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from .. import drivers
from ..body import MEMBER_MARK, Location, path_text
from ..errors import is_address
from ..views.subset import Input


def found_files(
    paths: Input | Iterable[Input], storage_options: Mapping[str, Any] | None, store: Any
) -> list[Location]:
    """Return the absolute paths of files, and addresses.

    Parameters
    ----------
    paths : path, pattern or iterable
        As of `ds_format.open_many`.
    storage_options, store
        As for `ds_format.read`.

    Raises
    ------
    FileNotFoundError
        If there is none.
    """
    is_one = drivers.is_one_file(paths)
    found = drivers.located_each([paths] if is_one else paths, storage_options, store)  # type: ignore[arg-type]
    if not found:
        raise FileNotFoundError(errno.ENOENT, "paths: found none, expected at least one file")
    if is_one:
        found = matches(found[0])
    folder = os.getcwd()
    return [
        one.absolute() if not isinstance(one, str) else one if one[:1] == os.sep else os.path.join(folder, one)
        for one in found
    ]


def matches(one: Location) -> list[Location]:
    """Return a file, or the sorted files that match a pattern.

    Raises
    ------
    FileNotFoundError
        If none matches.
    """
    found: list[Location]
    if isinstance(one, str):
        one = os.path.expanduser(one)
        one = drivers.located(one)
    if isinstance(one, str):
        if not glob.has_magic(one) or os.path.exists(one):
            return [one]
        found = sorted([*glob.glob(one, recursive=True), *_in_packs(one)], key=path_text)
    else:
        from ..body.remote.listing import addresses_matching, has_wildcard

        if not has_wildcard(one):
            return [one]
        found = [*addresses_matching(one)]
    if not found:
        reason = (
            "an address begins with a scheme and ://" if is_address(path_text(one)) else "no file matches the pattern"
        )
        raise FileNotFoundError(errno.ENOENT, reason, path_text(one))
    return found


def _in_packs(pattern: str) -> list[Location]:
    """Return the members that a pattern matches with wildcards in the names of packs or their folders."""
    found: list[Location] = []
    end = pattern.find(MEMBER_MARK) + len(MEMBER_MARK)
    while end >= len(MEMBER_MARK):
        packs = [one for one in glob.glob(pattern[: end - 1], recursive=True) if os.path.isfile(one)]
        for one in [drivers.located(f"{pack}/{pattern[end:]}") for pack in packs]:
            found += members_matching(one)
        end = pattern.find(MEMBER_MARK, end) + len(MEMBER_MARK)
    return found


def members_matching(one: Any) -> Sequence[Location]:
    """Return the member of a local pack that an address names, or those that match it; none if there is none."""
    from ..body.remote.listing import addresses_matching, has_wildcard

    if has_wildcard(one):
        return addresses_matching(one)
    return [one] if one.is_known() else []


def with_members(words: Sequence[str]) -> list[Location]:
    """Return paths as they are, except patterns of members of packs, which no shell replaces by their matches.

    Raises
    ------
    FileNotFoundError
        If no member matches.
    """
    found: list[Location] = []
    for word in words:
        found += matches(drivers.located(word)) if MEMBER_MARK in word else [word]
    return found
