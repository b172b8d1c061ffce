"""Functions that chunks are computed by: worker processes import them from here."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any

import numpy as np


def fail(block: Any) -> Any:
    """Raise if the chunk has the value 7."""
    if (block == 7).any():
        raise ArithmeticError("found a 7")
    return block


def die_once(block: Any, marker: str = "") -> Any:
    """Kill the process that computes the chunk with the value 7, the first time."""
    if (block == 7).any() and not os.path.exists(marker):
        Path(marker).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return block


def log(block: Any, folder: str = "") -> Any:
    """Tell that a chunk was computed, by an empty file with a name of its own."""
    Path(folder, f"{os.getpid()}-{time.monotonic_ns()}-{int(np.ravel(block)[0])}").touch()
    return block


def forget(block: Any, folder: str = "") -> Any:
    """Remove all temporary files of a folder, as a host that does not see it would find it."""
    if (block == 7).any():
        for path in Path(folder).glob(".*.tmp"):
            path.unlink()
    return block


def interrupt(block: Any) -> Any:
    """Interrupt the main thread of this process from the chunk with the value 7, and go on for a while."""
    if (block == 7).any():
        signal.raise_signal(signal.SIGINT)
    return block


def longer(block: Any) -> Any:
    """Return one more value than promised."""
    return np.append(block, block[:1])


def other(block: Any) -> Any:
    """Return another dtype than promised."""
    return block.astype("f4") if block.dtype.kind != "O" else np.zeros(block.shape)


def slow(block: Any) -> Any:
    time.sleep(0.2)
    return block
