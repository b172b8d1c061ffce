"""What the module of a driver has for small files, which are held in memory, and read many at a time."""

from __future__ import annotations

from collections.abc import Collection, Container, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from .base import Metadata

if TYPE_CHECKING:
    from ..dataset import Dataset


class Piece(Protocol):
    """One dataset, or several in a row that are alike in all that decides how they are merged."""

    @property
    def meta(self) -> Metadata:
        """As a Source has it; of several: where later ones override former ones."""
        ...

    @property
    def first(self) -> Metadata:
        """Of the first of several."""
        ...

    @property
    def paths(self) -> list[str]:
        """Of each dataset."""
        ...

    @property
    def noted(self) -> Sequence[Mapping[str, Any]]:
        """What each has of the attributes of the dataset of which this is wanted."""
        ...

    def read(self, key: str) -> Any:
        """Return one variable of all, as an array or MaskedArray of shape `(len(paths), *shape)`."""
        ...


class AlikeFiles(Piece, Protocol):
    """Small files in a row, held in memory; which ones are alike their driver decides.

    What is wanted of a file is taken as it comes. Metadata and variables are asked for once there are no more; each
    variable once. One of which that of the first file is enough comes as that of one file.
    """

    def add(self, path: str, held: Any) -> bool:
        """Take one more file, if it is alike; otherwise nothing is taken of it.

        Parameters
        ----------
        path : str
        held : object
            See `SmallFiles.held`.

        Raises
        ------
        FormatError
            If it is alike, but damaged; then nothing of it has been taken.
        """
        ...


class SmallFiles(Protocol):
    """What a driver has for small files, which are held in memory; see `formats.Driver`."""

    WHOLE_SIZE: int
    """Bytes up to which a file is small."""

    def held(self, path: str, content: bytearray) -> Any | None:
        """Return what is held of a small file; None: it is to be opened like a larger one.

        Parameters
        ----------
        path : str
            For messages.
        content : bytearray
            All bytes of the file.

        Raises
        ------
        FormatError
            If it is seen to be damaged.
        """
        ...

    def digest(self, held: Any) -> int:
        """Return 32 bits that tell the header of a file from others."""
        ...

    def from_held(self, path: str, held: Any, keys: Collection[str] | None, unpack: bool | None) -> Dataset:
        """Read a dataset, as the `read` of the driver does.

        Parameters
        ----------
        path : str
        held : object
            Once: it may be given away.
        keys : collection of str, optional
            Of the variables that are wanted; all by default. Those that do not exist are left out.
        unpack : bool or None
            As `packing.is_unpacked_by`.
        """
        ...

    def AlikeFiles(
        self,
        path: str,
        held: Any,
        keys: Container[str] | None = None,
        dim: str | None = None,
        attributes: Collection[str] = (),
    ) -> AlikeFiles:
        """Begin with the first of some files.

        Parameters
        ----------
        path : str
        held : object
            Once: it may be given away.
        keys : container of str, optional
            Of the variables to read; all by default.
        dim : str, optional
            Dimension along which files are joined: of variables without it those of the first file are enough.
        attributes : collection of str, optional
            Keys of attributes of the dataset of which the values of each file are wanted.

        Raises
        ------
        FormatError
            If the file is damaged.
        """
        ...
