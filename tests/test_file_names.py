"""A system that cannot say what stands under a name: nothing is written over or left out for that."""

from __future__ import annotations

import errno
import os
import shutil
import stat
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import ds_format as ds
from ds_format import drivers
from ds_format.cli import main
from ds_format.datadings.reader import MsgpackReader
from ds_format.datadings.writer import FileWriter, reindex
from ds_format.kernels.files import names, portable
from ds_format.zds import ZDSStore
from ds_format.zds.archiving import unpack

from .formats import STRAIGHT

DATA: dict[str, Any] = {"x": [1.0, 2.0], ".": {"x": {".dims": ["t"], "units": "K"}}}


def fails_at(monkeypatch: pytest.MonkeyPatch, act: Callable[[], Any], look: int) -> bool:
    """Do something while one look of the system at a file fails; return whether so many looks were taken."""
    left = look

    def looking(real: Any) -> Any:
        def look_at(*arguments: Any, **options: Any) -> Any:
            nonlocal left
            left -= 1
            if left == -1:
                raise OSError(errno.EIO, os.strerror(errno.EIO), arguments[0])
            return real(*arguments, **options)

        return look_at

    with monkeypatch.context() as patch:
        patch.setattr(os, "stat", looking(os.stat))
        patch.setattr(os, "lstat", looking(os.lstat))
        with suppress(OSError, ds.DsError):
            act()
    return left < 0


@pytest.mark.parametrize("name", ["exists", "is_folder", "is_file", "is_link", "status", "real_path"])
@pytest.mark.parametrize("number", [errno.EIO, errno.EACCES, errno.ESTALE, errno.ELOOP])
def test_errors_are_raised(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, number: int) -> None:
    def fail(*_: Any, **__: Any) -> Any:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "stat", fail)
    monkeypatch.setattr(os, "lstat", fail)
    with pytest.raises(OSError, match=os.strerror(number)):
        getattr(names, name)(str(tmp_path))


def test_what_is_there(tmp_path: Path) -> None:
    file, link, loose = tmp_path / "file", tmp_path / "link", tmp_path / "loose"
    file.write_bytes(b"")
    link.symlink_to(tmp_path)
    loose.symlink_to(tmp_path / "none")
    absent = [tmp_path / "none", file / "below", loose]
    kinds = (names.exists, names.is_folder, names.is_file, names.is_link)
    assert [[kind(path) for kind in kinds] for path in (file, tmp_path, link)] == [
        [True, False, True, False], [True, True, False, False], [True, True, False, True]
    ]  # fmt: skip
    assert [[kind(path) for kind in kinds[:3]] for path in absent] == [[False] * 3] * 3
    assert names.exists(loose, follow=False) and names.is_link(loose)
    assert not names.exists(file / "below", follow=False)
    assert names.real_path(str(link / "file")) == str(file.resolve())
    assert names.real_path(str(loose)) == str(tmp_path.resolve() / "none")


class Case(NamedTuple):
    """Something that writes, and what has to be there whether it did or failed."""

    prepare: Callable[[Path], Any]
    act: Callable[[Path], Any]
    check: Callable[[Path], Any]


def samples(folder: Path) -> None:
    with FileWriter(folder / "a.msgpack") as out:
        for i in range(3):
            out.write({"key": f"k{i}"})


def append(folder: Path) -> None:
    with FileWriter(folder / "a.msgpack", append=True) as out:
        out.write({"key": "k3"})


def still_samples(folder: Path) -> None:
    assert [one["key"] for one in MsgpackReader(folder / "a.msgpack")][:3] == ["k0", "k1", "k2"]


def documents(folder: Path, name: str = "a") -> None:
    with ZDSStore.open(folder / name, "train", mode="a") as store:
        store.put("one", {"n": 1})
        store.put("two", {"n": 2})


def add(folder: Path, name: str = "a") -> None:
    with ZDSStore.open(folder / name, "train", mode="a") as store:
        store.put("three", {"n": 3})


def still_documents(folder: Path, name: str = "a") -> None:
    with ZDSStore.open(folder / name, "train", mode="a") as store:
        assert (store["one"]["n"], store["two"]["n"]) == (1, 2)


def interrupted(folder: Path) -> None:
    """Leave an archive with a writer that was killed beside it."""
    documents(folder, "a.zds")
    documents(folder, "b")
    (folder / ".a.zds.work").mkdir()
    (folder / "b").rename(folder / ".a.zds.work" / "store")
    with ZDSStore.open(folder / ".a.zds.work" / "store", "train", mode="a") as store:
        store.put("late", {})


def still_interrupted(folder: Path) -> None:
    with ZDSStore.open(folder / "a.zds", "train", mode="a") as store:
        assert "late" in store and "one" in store


def linked(folder: Path, suffix: str) -> None:
    (folder / "in").mkdir()
    ds.write(folder / f"in/a{suffix}", DATA)
    (folder / f"in/a{suffix}").chmod(0o600)
    (folder / f"a{suffix}").symlink_to(folder / f"in/a{suffix}")


def relinked(folder: Path, suffix: str) -> None:
    ds.write(folder / f"a{suffix}", DATA)


def still_linked(folder: Path, suffix: str) -> None:
    assert (folder / f"a{suffix}").is_symlink()
    assert stat.S_IMODE((folder / f"in/a{suffix}").stat().st_mode) == 0o600
    ds.read(folder / f"a{suffix}")


def exported(folder: Path) -> None:
    samples(folder)
    (folder / "out.json").write_text("mine")
    (folder / "b.msgpack").write_text("mine")
    (folder / "b.ds").write_text("mine")


def still_mine(folder: Path) -> None:
    for name in ("out.json", "b.msgpack", "b.ds"):
        assert (folder / name).read_text() == "mine"


def sidecars(folder: Path) -> None:
    ds.write(folder / "a.msgpack", DATA)
    shutil.copyfile(folder / "a.msgpack", folder / "b.msgpack")


def with_sidecar(folder: Path) -> None:
    if not main(["records", "shuffle", "-y", str(folder / "a.msgpack"), str(folder / "b.msgpack")]):
        assert ds.attrs(ds.read(folder / "b.msgpack"), "x") == {"units": "K"}


def filled(folder: Path) -> None:
    documents(folder, "a.zds")
    (folder / "to").mkdir()
    (folder / "to" / "mine").write_text("mine")


def still_filled(folder: Path) -> None:
    assert (folder / "to" / "mine").read_text() == "mine"


def links(folder: Path) -> None:
    documents(folder)
    (folder / "a" / "collections" / "train").rename(folder / "else")
    (folder / "a" / "collections" / "train").symlink_to(folder / "else")


def outside(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in (folder / "else").rglob("*") if path.is_file()}


def still_outside(folder: Path) -> None:
    assert b"three" not in b"".join(outside(folder).values())


CASES = {
    "append samples": Case(samples, append, still_samples),
    "new samples": Case(samples, lambda folder: FileWriter(folder / "a.msgpack").close(), still_samples),
    "reindex samples": Case(samples, lambda folder: reindex(folder / "a.msgpack"), still_samples),
    "copy samples": Case(sidecars, with_sidecar, lambda _: None),
    "documents": Case(documents, add, still_documents),
    "documents in an archive": Case(
        lambda folder: documents(folder, "a.zds"),
        lambda folder: add(folder, "a.zds"),
        lambda folder: still_documents(folder, "a.zds"),
    ),
    "an archive whose writer was killed": Case(interrupted, lambda folder: add(folder, "a.zds"), still_interrupted),
    "reindex documents": Case(documents, lambda folder: main(["reindex", str(folder / "a")]), still_documents),
    "unpack": Case(
        filled,
        lambda folder: unpack(folder / "a.zds", folder / "to"),
        still_filled,
    ),
    "a link in a store": Case(links, add, still_outside),
    "export": Case(
        exported,
        lambda folder: main(["records", "export", str(folder / "a.msgpack"), str(folder / "out.json")]),
        still_mine,
    ),
    "copy without -y": Case(
        exported,
        lambda folder: main(["records", "shuffle", str(folder / "a.msgpack"), str(folder / "b.msgpack")]),
        still_mine,
    ),
    "merge of nothing": Case(exported, lambda folder: main(["merge", "t", str(folder / "b.ds")]), still_mine),
    **{
        f"{suffix} through a link": Case(
            partial(linked, suffix=suffix),
            partial(relinked, suffix=suffix),
            partial(still_linked, suffix=suffix),
        )
        for suffix in STRAIGHT
    },
}


@pytest.mark.filterwarnings("ignore")  # of work that is taken up, and of what CSV cannot hold
@pytest.mark.parametrize("name", CASES)
def test_one_look_that_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    case = CASES[name]
    for look in range(300):
        folder = tmp_path / str(look)
        folder.mkdir()
        case.prepare(folder)
        failed = fails_at(monkeypatch, partial(case.act, folder), look)
        case.check(folder)
        if not failed:
            break
    assert not failed
    assert look > 0


@pytest.mark.parametrize("name", ["a.ds", "a.json"])
def test_small_files_without_calls_of_the_kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(b"old")
    path.chmod(0o600)
    for look in range(9):
        if not fails_at(monkeypatch, lambda: portable.write_file(path, [b"new"]), look):
            break
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert path.read_bytes() == b"new" and look == 1


def look_for_store(path: Path, found: list[Any]) -> None:
    found.append(drivers.of_folder(path) is not None)


def test_a_folder_that_cannot_be_looked_at_is_no_format(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    documents(tmp_path)
    for look in range(9):
        found: list[Any] = []
        if not fails_at(monkeypatch, partial(look_for_store, tmp_path / "a", found), look):
            break
        assert found in ([], [True])
