"""Children that respond to signals, even if the tests run in the background or under `nohup`."""

from __future__ import annotations

import signal

STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def listen() -> None:
    """Restore the default action of signals that end a process: for `preexec_fn`.

    A child inherits ignored signals. A shell ignores SIGINT for background jobs, and `nohup` ignores SIGHUP.
    """
    for number in STOPPING:
        signal.signal(number, signal.SIG_DFL)
