"""Station reports as members of a pack, beside the same files in a folder."""

from __future__ import annotations

import zipfile
from functools import partial
from pathlib import Path
from typing import Any

import ds_format as ds

from ..data import expect
from ..machine import MOST_THREADS
from ..reports import Reports
from ..runner import Bench, Case, Group
from ..stations import ORDINARY, SCALARS
from ..timing import Trial, Way, stopwatch
from ..ways import OURS, each

FILES, ZIPFILE = "files", "zipfile"
BY_NAME, JOINED = "pack, one report by name", "pack, read and join"


def _packed(bench: Bench, folder: Path) -> tuple[Reports, str, list[str]]:
    reports = Reports(bench, folder, ORDINARY)
    path = str(folder / "reports.zip")
    expect("members", ds.pack(reports.ours, path), reports.n)
    return reports, path, [f"{path}/{Path(one).name}" for one in reports.ours]


def by_name(bench: Bench, folder: Path) -> Trial:
    """Read each report by its name."""
    reports, path, members = _packed(bench, folder)

    def check() -> None:
        expect(OURS, ds.read(members[-1]).keys(), ds.read(reports.ours[-1]).keys())

    with zipfile.ZipFile(path) as archive:
        names = archive.namelist()
    opened = zipfile.ZipFile(path)
    return Trial(
        [
            each(OURS, ds.read, members, check, reports.n, note='ds.read("reports.zip/name")'),
            each(FILES, ds.read, reports.ours, lambda: None, reports.n, note="ds.read(path)"),
            each(ZIPFILE, opened.read, names, lambda: None, reports.n, note="bytes, not decoded"),
        ],
        n=reports.n,
        repetitions=(1, 5),
        close=opened.close,
    )


def joined(bench: Bench, folder: Path) -> Trial:
    """Read all reports as one dataset."""
    reports, path, members = _packed(bench, folder)
    read: Any = partial(ds.read_many, dim="time", stack=SCALARS)

    def way(name: str, paths: Any, note: str) -> Way:
        def check() -> None:
            expect(name, read(paths)["time"].tolist(), read(reports.ours)["time"].tolist())

        return Way(name, stopwatch(lambda: read(paths)), check, note)

    return Trial(
        [
            way(OURS, members, "ds.read_many(members, dim)"),
            way(f"{OURS}, pattern", f"{path}/*.ds", 'ds.read_many("reports.zip/*.ds", dim)'),
            way(FILES, reports.ours, "ds.read_many(paths, dim)"),
        ],
        n=reports.n,
        repetitions=(1, 5),
    )


def writing(bench: Bench, folder: Path) -> Trial:
    """Pack files."""
    reports, path, _ = _packed(bench, folder)

    def with_zipfile() -> None:
        with zipfile.ZipFile(folder / "theirs.zip", "w") as archive:
            for one in reports.ours:
                archive.write(one, Path(one).name)

    return Trial(
        [
            Way(OURS, stopwatch(lambda: ds.pack(reports.ours, path)), lambda: None, "ds.pack(paths, output)"),
            Way(ZIPFILE, stopwatch(with_zipfile), lambda: None, "ZipFile.write"),
        ],
        n=reports.n,
        repetitions=(1, 5),
    )


GROUP = Group(
    "Packs of small files",
    "Ordinary station reports in one ZIP archive, and as files in a folder; times per report.",
    (
        Case(BY_NAME, by_name),
        Case(JOINED, joined),
        Case("pack, write", writing),
    ),
    threads=f"may take {MOST_THREADS} threads",
)
