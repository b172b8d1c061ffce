"""The engine "ds" of xarray. Other modules are imported when a file is opened."""

from __future__ import annotations

import os
import stat
from typing import Any

from xarray.backends import BackendEntrypoint

MARKS = (b"ds-", b"{")
"""First bytes of a ds file: its version or, in the older layout, its header, like other files of JSON."""
SUFFIX = ".ds"
SERIES = "series.json"
"""The file that makes a folder a series."""
OPENED_BY = 'the engine "ds"'


class DsBackendEntrypoint(BackendEntrypoint):
    """Opens ds files, lazily, in any number of threads and processes, and leaves none of them open.

    NetCDF files, too, if the engine is given by its name.

    In addition to the options that xarray has for all engines:

    group : str
        The group to open.
    default_fill : {"value", "missing"}
        How masked numbers are shown that were left unwritten in the NetCDF file from which a ds file was converted: as
        the default fill value of the NetCDF library, or as NaN.
    storage_options, store
        As of `ds_format.read`, for files that are elsewhere.
    """

    description = "Open ds files (.ds) of ds_format"
    supports_groups = True
    open_dataset_parameters = (
        "filename_or_obj",
        "mask_and_scale",
        "decode_times",
        "concat_characters",
        "decode_coords",
        "drop_variables",
        "use_cftime",
        "decode_timedelta",
        "default_fill",
        "group",
        "storage_options",
        "store",
    )

    def guess_can_open(self, filename_or_obj: Any) -> bool:
        """Whether a path is a regular file with the first bytes of a ds file, or a series."""
        if not isinstance(filename_or_obj, (str, os.PathLike)):
            return False
        path = os.path.expanduser(filename_or_obj)
        try:
            if not stat.S_ISREG(os.stat(path).st_mode):
                return os.path.isfile(os.path.join(path, SERIES))
            with open(path, "rb") as file:
                first = file.read(len(MARKS[0]))
        except (OSError, ValueError):
            return False
        return first == MARKS[0] or (first.startswith(MARKS[1]) and os.fsdecode(path).lower().endswith(SUFFIX))

    def open_dataset(
        self,
        filename_or_obj: Any,
        *,
        group: str | None = None,
        storage_options: dict[str, Any] | None = None,
        store: Any = None,
        **options: Any,
    ) -> Any:
        """Open one group of a file as a dataset; see `ds_format.xarray_.engine.open_dataset`."""
        from . import engine, lazy_variables

        path = engine.located_input(filename_or_obj, storage_options, store)
        return engine.open_dataset(path, lazy_variables.asked(OPENED_BY, options), group)

    def open_groups_as_dict(
        self,
        filename_or_obj: Any,
        *,
        group: str | None = None,
        storage_options: dict[str, Any] | None = None,
        store: Any = None,
        **options: Any,
    ) -> dict[str, Any]:
        """Open all groups of a file, each as a dataset; see `ds_format.xarray_.engine.open_groups`."""
        from . import engine, lazy_variables

        path = engine.located_input(filename_or_obj, storage_options, store)
        return engine.open_groups(path, lazy_variables.asked(OPENED_BY, options), group)

    def open_datatree(
        self,
        filename_or_obj: Any,
        *,
        group: str | None = None,
        storage_options: dict[str, Any] | None = None,
        store: Any = None,
        **options: Any,
    ) -> Any:
        """Open all groups of a file as a tree; see `ds_format.xarray_.engine.open_datatree`."""
        from . import engine, lazy_variables

        path = engine.located_input(filename_or_obj, storage_options, store)
        return engine.open_datatree(path, lazy_variables.asked(OPENED_BY, options), group)
