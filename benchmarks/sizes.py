"""The amount of data in each case."""

from __future__ import annotations

from typing import NamedTuple


class Sizes(NamedTuple):
    """Counts of values, unless a field has another unit. The defaults are those of the full run."""

    files: int = 2000
    """Number of different small files that a round reads or writes."""
    calls: int = 2000
    """Number of calls in sequence, if one is too short for timing."""
    large: int = 50_000_000
    """float64: 400 MB."""
    masked: int = 20_000_000
    booleans: int = 10_000_000
    strings: int = 300_000
    fifty: int = 100_000
    """In each of fifty variables."""
    kernel: int = 10_000_000
    converted: int = 200_000_000
    """Bytes of the file that is converted."""
    larger: int = 1_500_000_000
    """Bytes of the file that must not be held in memory."""
    archive: int = 3_000
    """Small NetCDF files that are converted."""
    classic: int = 1_000_000_000
    """Bytes of a classic file."""
    compressed: int = 500_000_000
    """Bytes, in memory, of a compressed variable."""
    many: int = 50_000
    """Tiny files that one call reads."""
    claimed: int = 100_000
    """Number of files in a claim of the documentation of the format."""
    folder: int = 2_000
    """Files of ten variables that are merged in memory."""
    merged: int = 1_000_000_000
    """Bytes of all files that are merged into one."""
    chunked: int = 2_000_000_000
    """Bytes of a dask array."""
    slab: int = 125_000_000
    """float64: 1 GB, of which one hundredth is read."""
    samples: int = 20_000
    """Samples of 1 kB."""
    keys: int = 1_000_000
    """Number of samples of a dataset that is opened."""
    documents_few: int = 10_000
    """JSON documents of 207 bytes."""
    documents: int = 100_000
    documents_many: int = 1_000_000
    rows: int = 500_000
    """Of a table."""
    objects: int = 10_000
    """Number of small arrays in one object."""
    remote: int = 128_000_000
    """Bytes of a file on a web server, of which 1/480 is read."""
    described: int = 9_000_000
    """Bytes of a netCDF-4 file on a web server whose metadata are read."""
    remote_reports: int = 300
    latency: float = 0.02
    """Seconds from the arrival of a request at that server to its answer."""
    starts: int = 10
    """Minimum number of runs of a program."""


FULL = Sizes()
SMOKE = Sizes(
    files=50,
    calls=100,
    large=500_000,
    masked=200_000,
    booleans=1_000_000,
    strings=10_000,
    rows=5_000,
    fifty=2_000,
    kernel=500_000,
    converted=4_000_000,
    larger=0,
    archive=60,
    classic=16_000_000,
    compressed=4_000_000,
    many=500,
    claimed=200,
    folder=20,
    merged=4_000_000,
    chunked=4_000_000,
    slab=500_000,
    samples=300,
    keys=5_000,
    documents_few=100,
    documents=300,
    documents_many=1_000,
    objects=300,
    remote=2_000_000,
    described=500_000,
    remote_reports=20,
    latency=0.002,
    starts=3,
)
