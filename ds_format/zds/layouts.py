"""Which way a collection keeps its documents: as lines of data.jsonl, or in files of their own."""

from __future__ import annotations

from ..errors import UnsupportedError
from . import format
from .docfiles import DocFiles
from .places import Place

LINES, DOCS = "jsonl", "docs"
LAYOUTS = (LINES, DOCS)
_TOLD = {LINES: f"lines of {format.DATA}", DOCS: f"one file per document in {format.DOCS}/"}


def layout_of(place: Place, collection: str, docs: DocFiles) -> str | None:
    """Return the layout of a collection as it stands there; None if there is no collection yet.

    Where there are both lines and files, lines count, as they do for reading. Where there are no documents, the files
    tell that their writer left: only who keeps lines makes data.jsonl and index.bin, and of who does not, a manifest.

    Parameters
    ----------
    place : Place
    collection : str
    docs : DocFiles
        Of the collection.

    Examples
    --------
    >>> from ds_format.zds import ZDSStore
    >>> from ds_format.zds.docfiles import DocFiles
    >>> from ds_format.zds.faults import Faults
    >>> from ds_format.zds.layouts import layout_of
    >>> from ds_format.zds.places import Folder
    >>> with ZDSStore.open("notes", "drafts", mode="w", layout="docs") as store:
    ...     store.put("a", {"text": "one"})
    >>> place = Folder("notes")
    >>> layout_of(place, "drafts", DocFiles(place, "drafts", Faults()))
    'docs'
    """
    if _has_lines(place, collection):
        return LINES
    if docs.names:
        return DOCS
    if any(place.open(name(collection)) is not None for name in (format.data_name, format.index_name)):
        return LINES
    return None if place.open(format.manifest_name(collection)) is None else DOCS


def choose(wanted: str | None, place: Place, collection: str, docs: DocFiles) -> tuple[str, bool]:
    """Return the layout in which documents are put into a collection that stands there, and whether it begins anew.

    It is the one that the collection has; another one only where there are no documents, which then begins anew.

    Raises
    ------
    UnsupportedError
        If another one is wanted, and there are documents.
    """
    found = layout_of(place, collection, docs)
    layout = wanted or found or LINES
    has = {LINES: _has_lines(place, collection), DOCS: bool(docs.names)} if layout != found else {layout: True}
    if found is not None and not has[layout] and any(has.values()):
        raise UnsupportedError(
            f"the collection {collection!r} has {_TOLD[found]}, and keeps them: found the layout {layout!r}, which is "
            f"for a new collection, or one that is replaced",
            path=place.path,
        )
    return layout, not any(has.values())


def _has_lines(place: Place, collection: str) -> bool:
    region = place.open(format.data_name(collection))
    return region is not None and region.size > 0
