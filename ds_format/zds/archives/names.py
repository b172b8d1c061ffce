"""Which members of an archive are files of a store, and which are not fit to be used."""

from __future__ import annotations

import re
import stat

from ...errors import FormatError, UnsafeError
from .. import format
from ..places import Unused, is_litter, name_parts
from .directory import Member

_DRIVE = re.compile(r"[A-Za-z]:")


def judge(members: list[Member]) -> tuple[list[Member], list[Unused]]:
    """Tell members that can be used from those that cannot; what file managers leave behind is neither.

    The names of the first stay in the folder into which the archive is unpacked. They have forward slashes, those of
    folders one at their end.
    """
    used, unused = [], []
    for member in members:
        try:
            name = _clean_name(member)
        except UnsafeError as error:
            unused.append(Unused(member.name, error))
            continue
        if name and not is_litter(name):
            used.append(member._replace(name=name))
    return used, unused


def _clean_name(member: Member) -> str:
    """Return the name of a member with forward slashes and without `./` before it."""
    name = member.name.replace("\\", "/")
    if name.startswith("/") or _DRIVE.match(name):
        raise UnsafeError("an absolute name")
    while name.startswith("./"):
        name = name[2:]
    if not name:
        return name
    name_parts(name.removesuffix("/"))
    kind = stat.S_IFMT(member.info.external_attr >> 16)
    if kind == stat.S_IFLNK:
        raise UnsafeError("a link")
    if kind not in {0, stat.S_IFREG, stat.S_IFDIR}:
        raise UnsafeError("neither a file nor a folder")
    if kind == stat.S_IFDIR and not name.endswith("/"):
        name += "/"
    if name.endswith("/") and member.info.file_size:
        raise UnsafeError("a folder with data of its own")
    return name


def check_spelling(names: list[str]) -> None:
    """Check that names stay apart where file systems do not tell upper case from lower case.

    Raises
    ------
    UnsafeError
        If two of them would fall together, or a file would have to be a folder, too.
    """
    spelled: dict[str, str] = {}
    files = set(names)
    if len(files) < len(names):
        raise UnsafeError("there are two files of one name")
    for name in names:
        for end in (i for i, letter in enumerate(name + "/") if letter == "/"):
            path = name[:end]
            other = spelled.setdefault(path.casefold(), path)
            if other != path:
                raise UnsafeError(f"{other!r} and {path!r} are one file where upper and lower case are the same")
            if end < len(name) and path in files:
                raise UnsafeError(f"{path!r} is a file, and a folder with {name!r}")


def find_root(members: list[Member]) -> str:
    """Return the folder that is the root of the store, with a slash at its end; empty if that is the whole archive.

    Raises
    ------
    FormatError
        If there is no store, or more than one.
    """
    for marks in (f"{format.COLLECTIONS}/", format.STORE_FILE):
        roots = set()
        for name, _, _ in members:
            if name.startswith(marks):
                return ""
            top, _, rest = name.partition("/")
            if rest.startswith(marks):
                roots.add(top + "/")
        if len(roots) > 1:
            raise FormatError(f"more than one store: {', '.join(sorted(roots))}")
        if roots:
            return roots.pop()
    raise FormatError(f"neither {format.COLLECTIONS}/ nor {format.STORE_FILE}: no ZDS store")
