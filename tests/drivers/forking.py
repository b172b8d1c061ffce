"""Threads that read, beside forks: started as a program, with what the threads do and what the children do.

    python -m tests.drivers.forking FOLDER NAME NAME

A file of the first name is read by two threads, one of the second name by children. Prints how each child ended.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import warnings
from collections import Counter

import ds_format as ds

N = 20
SECONDS = 20
"""After which a child hangs."""


def main(folder: str, busy: str, wanted: str) -> None:
    """See above."""
    warnings.filterwarnings("ignore", ".*fork.*", DeprecationWarning)
    expected = ds.read(f"{folder}/{wanted}")["x"].sum()
    for _ in range(N):
        # until all libraries are there: one that is imported beside a fork complains of what it then finds unlocked
        ds.read(f"{folder}/{busy}")
    stop = threading.Event()
    counts = [0, 0]

    def run(i: int) -> None:
        while not stop.is_set():
            ds.read(f"{folder}/{busy}")
            counts[i] += 1

    threads = [threading.Thread(target=run, args=(i,), daemon=True) for i in range(len(counts))]
    for thread in threads:
        thread.start()
    ends: Counter[int] = Counter()
    for _ in range(N):
        before = sum(counts)
        child = os.fork()
        if not child:
            signal.alarm(SECONDS)
            is_right = ds.read(f"{folder}/{wanted}")["x"].sum() == expected
            os._exit(0 if is_right else 1)
        ends[os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])] += 1
        while sum(counts) == before and all(thread.is_alive() for thread in threads):
            stop.wait(0.001)
    stop.set()
    for thread in threads:
        thread.join()
    print(dict(ends))


if __name__ == "__main__":
    main(*sys.argv[1:])
