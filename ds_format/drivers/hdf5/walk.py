"""All objects of a file: groups with their datasets, by way of hard, soft and external links."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import h5py

from ..library.guard import ERRORS
from .calls import Node, address_of

Report = Callable[[str, str], None]
"""Takes the path of what is left out, and the reason."""


def walk(file: Node, report: Report) -> Iterator[tuple[str, Node, list[tuple[str, bytes, Node]]]]:
    """Yield each group once, outer ones first, with its datasets in their order.

    Parameters
    ----------
    file : h5py.File
    report : callable

    Yields
    ------
    prefix : str
        Of the names inside of the group: `""`, `"g/"`, `"g/h/"`, ...
    group : h5py.Group
    datasets : list of (name, path, h5py.Dataset)
    """
    root = file["/"]
    seen = {address_of(root.id): "/"}
    waiting = [("", b"/", root)]
    while waiting:
        prefix, path, group = waiting.pop()
        datasets: list[tuple[str, bytes, Node]] = []
        groups: list[tuple[str, bytes, Node]] = []
        for raw in _links(group):
            name = prefix + raw.decode("utf-8", "surrogateescape")
            try:
                identifier = h5py.h5o.open(group.id, raw)
            except ERRORS as error:
                report(name, f"a link that leads nowhere ({error.args[0] if error.args else error})")
                continue
            if isinstance(identifier, h5py.h5d.DatasetID):
                datasets.append((name, path + raw, h5py.Dataset(identifier)))
            elif isinstance(identifier, h5py.h5g.GroupID):
                address = address_of(identifier)
                if address in seen:
                    report(name, f'a link to the group "{seen[address]}", which is listed there')
                    continue
                seen[address] = name
                groups.append((name + "/", path + raw + b"/", h5py.Group(identifier)))
        yield prefix, group, datasets
        waiting += reversed(groups)


def _links(group: Node) -> list[bytes]:
    """Return the names of a group's links: hard ones first, so that objects appear where they are."""
    names: list[bytes] = []
    others: list[bytes] = []

    def sort(name: bytes, info: Any) -> None:
        (names if info.type == h5py.h5l.TYPE_HARD else others).append(name)

    is_ordered = bool(group.id.get_create_plist().get_link_creation_order())
    order = h5py.h5.INDEX_CRT_ORDER if is_ordered else h5py.h5.INDEX_NAME
    group.id.links.iterate(sort, info=True, idx_type=order)
    return names + others
