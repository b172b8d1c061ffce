"""Other names of the objects of an HDF5 file: soft links inside of it, and further hard links.

The parser gives each object one name. This module adds the datasets and types that links name, in the order in which
a library lists them. h5py lists each group once, whatever links to it. The netCDF library follows every link to a
group. It would never return from a group that contains itself.
"""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from ..errors import FormatError, Unusual
from .records import HDF5Dataset, HDF5File

MAX_LINKS = 16
"""Soft links that lead to one object, as in HDF5: `H5L_NUM_LINKS`."""
MAX_GROUPS = 100_000
"""Names of all groups together, each group counted under each of its names."""


class LeftOut(NamedTuple):
    """A link that names no object of its own."""

    name: str
    """With its groups."""
    reason: str


def with_links(file: HDF5File, *, netcdf: bool = False) -> tuple[HDF5File, list[LeftOut]]:
    """Return a file with all names of its datasets and types, and the links that name nothing else.

    Parameters
    ----------
    file : HDF5File
        It is not changed.
    netcdf : bool
        Whether the netCDF library lists the objects: all links in their order. By default h5py does: hard links of a
        group come before its soft ones.

    Raises
    ------
    FormatError
        With `netcdf`, if a group is in itself, or groups have more than `MAX_GROUPS` names.
    Unusual
        If the links take too many steps to follow. With `netcdf`, if a link leads to a group, or nowhere.
    """
    if not file.links:
        return file, []
    paths = _Paths(file)
    datasets = {each.address: each for each in file.datasets}
    types = {type_.address: type_ for _, type_ in file.types}
    listed: dict[str, list[tuple[bool, int, str, HDF5Dataset]]] = {group.name: [] for group in file.groups}
    for each in file.datasets:
        group, _, base = each.name.rpartition("/")
        listed[group].append((False, each.order, base, each))
    added_types, to_groups, left_out = [], [], []
    for name, order, target in file.links:
        group, _, base = name.rpartition("/")
        is_soft = isinstance(target, str)
        address = paths.follow(group, target) if isinstance(target, str) else target
        if address is None:
            left_out.append((True, LeftOut(name, f'a soft link to "{target}", which leads nowhere')))
        elif address in datasets:
            named = datasets[address]._replace(name=name, order=order)
            listed[group].append((is_soft and not netcdf, order, base, named))
        elif address in types:
            added_types.append((name, types[address]))
        elif address in paths.groups:
            known = paths.groups[address]
            to_groups.append((group, known))
            reason = f'a link to the group "{known or "/"}", which is listed under that name'
            left_out.append((is_soft, LeftOut(name, reason)))
    if netcdf and left_out:
        _check_groups([group.name for group in file.groups], to_groups)
        raise Unusual(f'the link "{left_out[0][1].name}" is {left_out[0][1].reason}')
    every = [each for group in file.groups for *_, each in sorted(listed[group.name], key=lambda item: item[:3])]
    left_out.sort(key=lambda item: item[0])
    return file._replace(datasets=every, types=file.types + added_types), [each for _, each in left_out]


class _Paths:
    """Follows the paths of a file.

    Attributes
    ----------
    groups : dict
        Names of groups by their addresses.
    """

    def __init__(self, file: HDF5File):
        self.groups = {group.address: group.name for group in file.groups}
        self._root = file.groups[0].address
        self._objects: dict[str, int | str | None] = {each.name: each.address for each in file.groups}
        self._objects |= {each.name: each.address for each in file.datasets}
        self._objects |= {name: type_.address for name, type_ in file.types}
        self._objects |= {name: target for name, _, target in file.links}
        self._addresses = {name: address for address, name in self.groups.items()}
        self._steps = 100_000 + 100 * len(file.links)

    def follow(self, group: str, path: str) -> int | None:
        """Return the address to which a path leads from a group; None: to nothing."""
        found: int | None = self._addresses[group]
        parts: list[str] = []
        target: int | str | None = path
        for _ in range(MAX_LINKS):
            if not target or not isinstance(target, str):
                break
            self._steps -= target.count("/") + 1
            if self._steps < 0:
                raise Unusual("links that take too many steps")
            if target.startswith("/"):
                found = self._root
            parts += reversed(target.split("/"))
            found, target = self._walk(found, parts)
        return None if isinstance(target, str) else found

    def _walk(self, start: int | None, parts: list[str]) -> tuple[int | None, str | None]:
        """Take the last of some parts until the next soft link, and return the address, and the path of the link."""
        found = start
        while parts:
            part = parts.pop()
            if part in ("", "."):
                continue
            group = None if found is None else self.groups.get(found)
            if group is None:
                return None, None
            target = self._objects.get(f"{group}/{part}" if group else part)
            if isinstance(target, str):
                return found, target
            found = target
        return found, None


def _check_groups(names: list[str], links: list[tuple[str, str]]) -> None:
    """Refuse groups that the netCDF library would read forever; `links` are pairs of an outer and an inner group."""
    edges = [(name.rpartition("/")[0], name) for name in names if name] + links
    inner: dict[str, list[str]] = {name: [] for name in names}
    for outer, name in edges:
        inner[outer].append(name)
    remaining = Counter(name for _, name in edges)
    n_names = Counter({"": 1})
    ready = [] if remaining[""] else [""]
    n_done = 0
    while ready:
        outer = ready.pop()
        n_done += 1
        for name in inner[outer]:
            n_names[name] += n_names[outer]
            remaining[name] -= 1
            if not remaining[name]:
                ready.append(name)
    if n_done < len(names):
        raise FormatError("a link leads from a group to one that is around it")
    if n_names.total() > MAX_GROUPS:
        raise FormatError(f"links give groups more than {MAX_GROUPS} names")
