"""Files as samples."""

from __future__ import annotations

import glob
import os
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from itertools import takewhile
from typing import Any

from ..body import open_binary
from .lists import ListReader, Sample, keep
from .patterns import LABEL, as_list, find_files


class DirectoryReader(ListReader):
    """The files of folders, each with its bytes and a label.

    A sample has the entries `key`, the path from the label on; `label`, a number, and `_label`, its text; `path`;
    `data`, the bytes; and `_additional_info`, a list of the further columns of a list of files.

    Parameters
    ----------
    patterns : path or sequence of paths
        Patterns of `glob`, in which `**` stands for any number of folders, and one component may be `{LABEL}`: what
        stands there in a path is its label. Files come in the order of their paths. Or a list: a file in UTF-8 that
        has a path, a label and any more columns in each line. Folders that several patterns begin with are no part of
        keys.
    labels, numeric_labels, initfun, convertfun
        As for `ListReader`.
    include, exclude : sequence of str
        Patterns of `fnmatch`, for which `*` matches slashes, too. If there are any in `include` a path must match one,
        and it must match none in `exclude`.
    separator : str
        Between the columns of a list.
    root_dir : path
        Where relative paths and patterns begin. The names of lists begin in the current folder.

    Attributes
    ----------
    bytes_read : int
        Bytes that were read so far.

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
        """Add the bytes of its file to a sample."""
        with open_binary(sample["path"]) as file:
            sample["data"] = file.read()
        self.bytes_read += len(sample["data"])


def _common_folder(patterns: Sequence[str]) -> str:
    """Return the folders, with a slash at the end, that all patterns begin with."""
    folders = [pattern.partition(LABEL)[0].split(os.sep)[:-1] for pattern in patterns]
    common = [level[0] for level in takewhile(lambda level: len(set(level)) == 1, zip(*folders, strict=False))]
    return os.sep.join([*common, ""])
