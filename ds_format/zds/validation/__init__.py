"""Whether a store is as the format wants it: everything that is wrong, and making anew what can be made.

The modules from low to high: `findings`; `lines`, `index`, `docs` and `metadata`, each for one kind of file;
`collection`; `examination`, which goes through a store; `reindexing`.
"""

from __future__ import annotations

from .collection import Counts
from .examination import Report, examine, validate
from .findings import ERROR, WARNING, Finding
from .reindexing import reindex

__all__ = ["ERROR", "WARNING", "Counts", "Finding", "Report", "examine", "reindex", "validate"]
