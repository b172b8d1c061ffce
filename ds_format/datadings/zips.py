"""The members of a ZIP archive as samples."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from typing import Any

from ..body.body import FileBody, Stream
from ..errors import FormatError
from .lists import ListReader, Sample, keep
from .patterns import as_list, find_files


class ZipFileReader(ListReader):
    """The files in a ZIP archive, each with its bytes and a label.

    Samples are like those of a `DirectoryReader`, in the order of the archive.

    Parameters
    ----------
    path : str or PathLike
        The archive.
    patterns : path or sequence of paths
        Patterns of `fnmatch`, for which `*` matches slashes, too, and in which one component may be `{LABEL}`. Or lists
        of names in the archive, as for a `DirectoryReader`.
    labels, numeric_labels, initfun, convertfun
        As for `ListReader`.
    include, exclude, separator
        As for `DirectoryReader`.

    Attributes
    ----------
    path : str
        The archive.
    bytes_read : int
        Bytes that were read so far, expanded.

    Raises
    ------
    FormatError
        If it is no archive, or a member of it is damaged.
    UnsupportedError
        If two members have the same key.

    Examples
    --------
    >>> import tempfile, zipfile
    >>> from ds_format.datadings.zips import ZipFileReader
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
        """Add the bytes of its member to a sample."""
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
        """Let go of the archive; it is closed when no other thread uses it any more."""
        self._archive = None

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_archive": None}
