"""The format of a file by its first bytes: for messages, and for files without a known suffix."""

from __future__ import annotations

N = 64
"""Bytes that are compared."""
HDF5 = b"\x89HDF\r\n\x1a\n"
HDF5_START = 512
"""Bytes of the smallest user block, after which an HDF5 file may begin. Each larger one has twice the size."""
CLASSIC_NETCDF = (b"CDF\x01", b"CDF\x02", b"CDF\x05")
ARROW = b"ARROW1"
DS = b"ds-1.0\n"
PARQUET = b"PAR1"
BINPICKLE = b"BPCK"
ZIP = b"PK\x03\x04"

SIGNATURES = (
    (HDF5, "a NetCDF-4 or HDF5 file"),
    (CLASSIC_NETCDF[0], "a classic NetCDF file"),
    (CLASSIC_NETCDF[1], "a classic NetCDF file (64-bit offset)"),
    (CLASSIC_NETCDF[2], "a classic NetCDF file (CDF-5)"),
    (DS, "a ds file"),
    (b'{"', "a JSON object, or a ds file of the layout 2.0.1"),
    (BINPICKLE, "a BinPickle file"),
    (PARQUET, "a Parquet file"),
    (b"PARE", "an encrypted Parquet file"),
    (ARROW, "an Arrow file"),
    (b"\xff\xff\xff\xff", "an Arrow stream"),
    (b"FEA1", "a Feather file of version 1"),
    (b"\x80\x04\x95", "a pickle"),
    (b"\x93NUMPY", "a NumPy file"),
    (ZIP, "a ZIP archive"),
    (b"PK\x05\x06", "an empty ZIP archive"),
    (b"\x1f\x8b", "a file compressed with gzip"),
    (b"BZh", "a file compressed with bzip2"),
    (b"\xfd7zXZ\x00", "a file compressed with xz"),
    (b"\x28\xb5\x2f\xfd", "a file compressed with Zstandard"),
    (b"GRIB", "a GRIB file"),
    (b"\x0e\x03\x13\x01", "an HDF4 file"),
    (b"II*\x00", "a TIFF picture"),
    (b"MM\x00*", "a TIFF picture"),
    (b"\x89PNG\r\n", "a PNG picture"),
    (b"%PDF", "a PDF document"),
    (b"version https://git-lfs", "a pointer of Git LFS: the file itself was not fetched"),
)
"""First bytes → description of the file, from the specifications of these formats."""

MARKUP = ((b"<!doctype html", "an HTML page"), (b"<html", "an HTML page"), (b"<?xml", "XML"))
"""The same for markup, compared without case and after white space."""


def describe(first: bytes | bytearray | memoryview) -> str:
    r"""Return a description of a file that begins with some bytes, which can follow "it looks like".

    Examples
    --------
    >>> (
    ...     describe(b"CDF\x01\0\0\0\0"),
    ...     describe(b"<!DOCTYPE html>"),
    ...     describe(b"station;rain"),
    ...     describe(b"\0\1"),
    ... )
    ('a classic NetCDF file', 'an HTML page', "text: 'station;rain'", "b'\\x00\\x01'")
    """
    start = bytes(first[:N])
    if not start:
        return "an empty file"
    for signature, kind in SIGNATURES:
        if start.startswith(signature):
            return kind
    for signature, kind in MARKUP:
        if start.lstrip().lower().startswith(signature):
            return kind
    if not start.strip(b"\0"):
        return "zeros"
    text = start.decode("utf-8", "ignore")  # a character may be cut
    if len(text.encode()) > len(start) - 4 and all(char.isprintable() or char in "\t\r\n" for char in text):
        return f"text: {text[:16]!r}"
    return repr(start[:16])


def of_file(path: str) -> str:
    """Return a description of a file by its first bytes; see `describe`.

    Raises
    ------
    OSError
        As `open` would.
    """
    with open(path, "rb", buffering=0) as file:
        try:
            return describe(file.read(N))
        except OSError as error:
            error.filename = path  # reading does not name it, as opening does
            raise
