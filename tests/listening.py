"""Children that listen to Ctrl-C, even if a shell that runs the tests in the background has them ignore it."""

from __future__ import annotations

import signal


def listen() -> None:
    """Take SIGINT as usual: for `preexec_fn`."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
