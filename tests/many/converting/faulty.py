"""Ways to go wrong that processes which convert can import."""

from __future__ import annotations

import os
import signal
import time
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

from ds_format.api.conversion import convert
from ds_format.base.progress import Progress
from ds_format.body import Location
from ds_format.views.subset import Subset, open_subset


class Faulty(NamedTuple):
    """Converts, and does something to files with certain words in their names."""

    options: Mapping[str, Any] = {}
    jd: bool = False

    def convert(self, source: Location, target: str, progress: Progress | None, **options: Any) -> None:
        name = os.path.basename(source)
        convert(source, target, progress=progress, **options)
        if "killer" in name:
            os.kill(os.getpid(), signal.SIGKILL)
        elif "once" in name and not os.path.exists(f"{source}.seen"):
            with open(f"{source}.seen", "w"):
                os.kill(os.getpid(), signal.SIGKILL)
        elif "leaver" in name:
            os._exit(3)
        elif "changing" in name:
            with open(source, "ab") as file:
                file.write(b"\0")
        elif "damaged" in name:
            with open(target, "r+b") as file:
                file.seek(-1, 2)
                file.write(b"?")
        elif "printing" in name:
            os.write(1, b"something of a library\n")
        elif "warning" in name:
            warnings.warn(f"{target}: look out", stacklevel=1)
        elif "slow" in name:
            with open(f"{source}.begun-{os.getpid()}", "w"):
                pass
            for _ in range(600):
                if progress is not None:
                    progress(1, 600)
                time.sleep(0.05)
        elif "signed" in name:
            with open(f"{source}.by-{os.getpid()}", "w"):
                pass
        elif "wild" in name:
            raise RecursionError

    @contextmanager
    def opened(self, source: Location, *, verify: bool = False) -> Iterator[Subset]:
        with open_subset(source) as part:
            yield part

    def parameters(self) -> Mapping[str, Any]:
        return {}
