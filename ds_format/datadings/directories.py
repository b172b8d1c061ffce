"""Files of folders and members of ZIP archives as samples, selected by patterns or by lists of their paths."""

from __future__ import annotations

import glob
import os
import zipfile
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from itertools import takewhile
from typing import Any

from ..body import open_binary
from ..body.body import FileBody, Stream
from ..errors import FormatError
from .lists import ListReader, Sample, keep, read_lines

LABEL_MARK = "{LABEL}"
"""The component of a pattern that matches the label."""


class DirectoryReader(ListReader):
    """The files of folders, each with its bytes and a label.

    A sample has these entries: `key` is the path from the label on. `label` is a number, and `_label` its text. `path`
    is the path, `data` the bytes, and `_additional_info` a list of the further columns of a list of files.

    Parameters
    ----------
    patterns : path or sequence of paths
        Patterns of `glob`, in which `**` matches any number of folders. One component may be `{LABEL}`: the component
        of a path that it matches is the label. Files are sorted by path. Instead of a pattern, give a list: a file in
        UTF-8 with a path, a label and any further columns in each line. Keys do not contain the folders that all of
        several patterns begin with.
    labels, numeric_labels, initfun, convertfun
        As for `ListReader`.
    include, exclude : sequence of str
        Patterns of `fnmatch`, in which `*` also matches slashes. A path must match one of `include`, unless this is
        empty, and none of `exclude`.
    separator : str
        Separates the columns of a list.
    root_dir : path
        Folder of relative paths and patterns. The names of lists are relative to the current folder.

    Attributes
    ----------
    bytes_read : int
        Number of bytes read so far.

    Raises
    ------
    UnsupportedError
        If two files have the same key.
    ValueError
        If `{LABEL}` is only a part of a component.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from ds_format.datadings.directories import DirectoryReader
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> for name in ("cat/1.txt", "dog/2.txt"):
    ...     (folder / name).parent.mkdir()
    ...     _ = (folder / name).write_text("...")
    >>> reader = DirectoryReader("{LABEL}/*.txt", root_dir=folder)
    >>> reader.labels, reader[1]["key"], reader[1]["label"], reader[1]["data"]
    (['cat', 'dog'], 'dog/2.txt', 1, b'...')
    """

    def __init__(
        self,
        patterns: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
        labels: Iterable[Hashable] | str | os.PathLike[str] | None = None,
        numeric_labels: bool = True,
        initfun: Callable[[Sample], object] = keep,
        convertfun: Callable[[Sample], object] = keep,
        include: Sequence[str] = (),
        exclude: Sequence[str] = (),
        separator: str = "\t",
        root_dir: str | os.PathLike[str] = "",
    ):
        names = as_list(patterns)
        root = os.fspath(root_dir)
        common = _common_folder(names) if len(names) > 1 else ""

        def match(pattern: str) -> Iterator[str]:
            for path in sorted(set(glob.iglob(pattern, root_dir=root or None, recursive=True))):
                if os.path.isfile(os.path.join(root, path)):
                    yield path

        samples: list[dict[str, Any]] = [
            sample | {"path": os.path.join(root, sample["path"])}
            for sample in find_files(
                names, match, prefix=common, slash=os.sep, separator=separator, include=include, exclude=exclude
            )
        ]
        super().__init__(samples, labels, numeric_labels, initfun, convertfun)
        self.bytes_read = 0

    def load(self, sample: Sample) -> None:
        """Read the bytes of the file of a sample into its entry `data`."""
        with open_binary(sample["path"]) as file:
            sample["data"] = file.read()
        self.bytes_read += len(sample["data"])


def _common_folder(patterns: Sequence[str]) -> str:
    """Return the folders that all patterns begin with, with a slash at the end."""
    folders = [pattern.partition(LABEL_MARK)[0].split(os.sep)[:-1] for pattern in patterns]
    common = [level[0] for level in takewhile(lambda level: len(set(level)) == 1, zip(*folders, strict=False))]
    return os.sep.join([*common, ""])


class ZipFileReader(ListReader):
    """The files in a ZIP archive, each with its bytes and a label.

    Samples are like those of a `DirectoryReader`, in the order of the archive.

    Parameters
    ----------
    path : str or PathLike
        The archive.
    patterns : path or sequence of paths
        Patterns of `fnmatch`, in which `*` also matches slashes, and one component may be `{LABEL}`. Or lists of names
        in the archive, as for a `DirectoryReader`.
    labels, numeric_labels, initfun, convertfun
        As for `ListReader`.
    include, exclude, separator
        As for `DirectoryReader`.

    Attributes
    ----------
    path : str
        The archive.
    bytes_read : int
        Number of bytes read so far, after decompression.

    Raises
    ------
    FormatError
        If it is not an archive, or a member is damaged.
    UnsupportedError
        If two members have the same key.

    Examples
    --------
    >>> import tempfile, zipfile
    >>> from ds_format.datadings.directories import ZipFileReader
    >>> path = tempfile.mkdtemp() + "/animals.zip"
    >>> with zipfile.ZipFile(path, "w") as archive:
    ...     archive.writestr("cat/1.txt", "miaow")
    ...     archive.writestr("dog/2.txt", "wuff")
    >>> with ZipFileReader(path) as reader:
    ...     print(reader.labels, reader.find("dog/2.txt")["data"])
    ['cat', 'dog'] b'wuff'
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        patterns: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] = "{LABEL}/**",
        labels: Iterable[Hashable] | str | os.PathLike[str] | None = None,
        numeric_labels: bool = True,
        initfun: Callable[[Sample], object] = keep,
        convertfun: Callable[[Sample], object] = keep,
        include: Sequence[str] = (),
        exclude: Sequence[str] = (),
        separator: str = "\t",
    ):
        self.path = os.fspath(path)
        self._archive: zipfile.ZipFile | None = None
        members = [info.filename for info in self._open().infolist() if not info.is_dir()]

        def match(pattern: str) -> Iterator[str]:
            return (name for name in members if fnmatchcase(name, pattern))

        samples = find_files(as_list(patterns), match, separator=separator, include=include, exclude=exclude)
        super().__init__(samples, labels, numeric_labels, initfun, convertfun)
        self.bytes_read = 0

    def load(self, sample: Sample) -> None:
        """Read the bytes of the member of a sample into its entry `data`."""
        try:
            sample["data"] = self._open().read(sample["path"])
        except (KeyError, zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError) as error:
            raise FormatError(f"member {sample['path']!r}: {error}", path=self.path) from None
        self.bytes_read += len(sample["data"])

    def _open(self) -> zipfile.ZipFile:
        archive = self._archive
        if archive is None:
            try:
                self._archive = archive = zipfile.ZipFile(Stream(FileBody.open(self.path)))
            except zipfile.BadZipFile as error:
                raise FormatError(f"not a ZIP archive: {error}", path=self.path) from None
        return archive

    def close(self) -> None:
        """Release the archive. It is closed as soon as no other thread uses it."""
        self._archive = None

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_archive": None}


def as_list(patterns: Any) -> list[str]:
    """Return one pattern, or several, as a list."""
    return [os.fspath(pattern) for pattern in ([patterns] if isinstance(patterns, str | os.PathLike) else patterns)]


def find_files(
    patterns: Sequence[str],
    match: Callable[[str], Iterable[str]],
    *,
    prefix: str = "",
    slash: str = "/",
    separator: str = "\t",
    include: Sequence[str] = (),
    exclude: Sequence[str] = (),
) -> Iterator[dict[str, Any]]:
    r"""Iterate over dicts with the entries key, label, path and _additional_info, one for each file.

    Parameters
    ----------
    patterns : sequence of str
        Patterns, in which one component may be `{LABEL}`. Or names of lists: files in UTF-8 with a path, a label and
        any further columns in each line.
    match : callable
        Iterates over the files that match a pattern, in which `*` replaces the label.
    prefix : str
        Start of a path that is removed to get the key. If empty: the start of the pattern up to the label.
    slash : str
        Separates the components of a path.
    separator : str
        Separates the columns of a list.
    include, exclude : sequence of str
        Only files that match a pattern of the first, unless it is empty, and none of the second.

    Raises
    ------
    ValueError
        If `{LABEL}` is only a part of a component.
    """
    for pattern in patterns:
        for path, label, more, front in _named(pattern, match, slash, separator):
            if (not include or _matches(path, include)) and not _matches(path, exclude):
                yield {
                    "key": path.removeprefix(prefix or front),
                    "label": label,
                    "path": path,
                    "_additional_info": more,
                }


def _named(
    pattern: str, match: Callable[[str], Iterable[str]], slash: str, separator: str
) -> Iterator[tuple[str, str | None, list[str], str]]:
    """Iterate over path, label, further columns and the start of the pattern up to the label, for each file."""
    if os.path.isfile(pattern):
        for line in read_lines(pattern):
            path, *columns = line.split(separator)
            if path:
                yield path, columns[0] if columns else None, columns[1:], ""
        return
    front, found, _ = pattern.partition(LABEL_MARK)
    parts = pattern.split(slash)
    if found and LABEL_MARK not in parts:
        raise ValueError(f"pattern {pattern!r}: {LABEL_MARK} must stand alone between two {slash!r}")
    for path in match(pattern.replace(LABEL_MARK, "*", 1)):
        yield path, path.split(slash)[parts.index(LABEL_MARK)] if found else None, [], front


def _matches(path: str, patterns: Sequence[str]) -> bool:
    return any(fnmatchcase(path, pattern) for pattern in patterns)
