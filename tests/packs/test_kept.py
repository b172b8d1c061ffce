"""Packs that stay open between calls: what they read, when they are read again, and when they are closed."""

from __future__ import annotations

import io
import multiprocessing
import os
import random
import shutil
import threading
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ds_format as ds
from ds_format.body import packs
from ds_format.body.body import FileBody
from ds_format.body.directory import read
from ds_format.kernels.files import member as compiled, portable

from ..descriptors import n_open, needs_proc
from .conftest import central
from .test_hostile import archive

both = pytest.mark.parametrize("module", [compiled, portable], ids=["compiled", "portable"])
OLD = 0.03
"""Seconds after which a pack is remembered."""


@pytest.fixture(autouse=True)
def none_before() -> Iterator[None]:
    packs._local.clear()
    yield
    packs._local.clear()


def opened(module: Any, path: str) -> Any:
    with open(path, "rb") as file:
        status = os.fstat(file.fileno())
        directory = read(FileBody.open(path))
        return module.OpenPack(path, file.fileno(), status, directory.raw, directory.rows, directory.numbers)


class Pipe(io.BytesIO):
    """A file without positions, so that sizes follow the data."""

    def seekable(self) -> bool:
        return False

    def tell(self) -> int:
        raise OSError

    seek = tell  # type: ignore[assignment]


@both
@pytest.mark.parametrize("seed", range(6))
def test_any_members_in_any_order(module: Any, seed: int, tmp_path: Path) -> None:
    """Of packs with members of any size, some compressed, folders, long names, and bytes between them."""
    rng = random.Random(seed)
    out = Pipe() if seed == 1 else io.BytesIO()
    expected: dict[str, bytes | None] = {}
    with zipfile.ZipFile(out, "w") as archive:
        for i in range(rng.choice([1, 5, 200])):
            name = f"{'d' * rng.choice([1, 3, 600])}/m{i}"
            data = rng.randbytes(rng.choice([0, 1, 100, 5000, 70_000]))
            is_packed = rng.random() < 0.1
            with archive.open(zipfile.ZipInfo(name), "w") if seed == 1 else archive.open(name, "w") as one:
                one.write(data)
            expected[name] = data
            if is_packed and seed != 1:
                archive.writestr(name + "z", b"z" * 1000, zipfile.ZIP_DEFLATED)
                expected[name + "z"] = None
        archive.writestr("folder/", b"")
    path = str(tmp_path / "p.zip")
    Path(path).write_bytes(out.getvalue())
    pack = opened(module, path)
    known = [*expected, "none", "folder/"]
    for _ in range(40):
        some = rng.choices(known, k=rng.randint(0, 300))
        if rng.random() < 0.5:
            some.sort(key=known.index)
        limit = rng.choice([0, 100, 1 << 20])
        stamps = np.zeros((len(some), 3), np.int64)
        found = pack.read(some, limit, stamps)
        for name, content, row in zip(some, found, stamps.tolist(), strict=True):
            whole = expected.get(name)
            is_left = whole is None or len(whole) > limit or (content is None and len(name) > 480)
            assert content == (None if is_left else whole)
            assert row == [0, 0, 0] if name == "none" else row[2] == 0
            if whole is not None:
                assert row[0] == len(whole)


@both
def test_mutated_packs(module: Any, tmp_path: Path) -> None:
    """No member is read from outside of its bytes, whatever the directory and the local headers say."""
    good = archive("a.ds", "dir/b.ds", "c.nc", "d.ds", data=b"x" * 50)
    rng, path = np.random.default_rng(7), str(tmp_path / "p.zip")
    n_read = n_left = 0
    for i in range(1500):
        data = bytearray(good)
        low = central(good) if i % 2 else 0
        for at in rng.integers(low, len(good), rng.integers(1, 4)).tolist():
            data[at] = int(rng.choice(np.array([0, 1, 255, rng.integers(256)])))
        Path(path).write_bytes(data)
        try:
            pack = opened(module, path)
            directory = read(FileBody.open(path))
        except ds.DsError:
            continue
        names = [*directory.numbers]
        for name, content in zip(names, pack.read(names, 100), strict=True):
            try:
                place = directory.find(name, name)
                start = place.offset + directory.data_start(place, bytes(data[place.offset : place.limit]), name)
            except ds.DsError:
                assert content is None
                n_left += 1
            else:
                assert content == (data[start : start + place.size] if place.size <= 100 else None)
                n_read += 1
    assert n_read > 1000 and n_left > 100


@both
def test_another_file_is_not_read(module: Any, folder: Path) -> None:
    pack = opened(module, "st.zip")
    assert pack.read(["r0.ds"], 1 << 20) == [(folder / "st/r0.ds").read_bytes()]
    assert pack.read(["r0.ds", "r1.ds"], 3) == [None, None] and pack.read([], 3) == []
    assert pack.is_at(os.stat("st.zip")) and not pack.is_at(os.stat("st/r0.ds"))
    time.sleep(OLD)
    os.utime("st.zip")
    assert not pack.is_at(os.stat("st.zip")) and pack.read(["r0.ds"], 1 << 20) is None
    pack = opened(module, "st.zip")
    shutil.copy("st.zip", "copy.zip")
    os.replace("copy.zip", "st.zip")
    assert pack.read(["r0.ds"], 1 << 20) is None
    os.truncate("st.zip", 1000)
    assert pack.read(["r0.ds"], 1 << 20) is None
    os.unlink("st.zip")
    assert pack.read(["r0.ds"], 1 << 20) is None


@both
def test_arguments_are_checked(module: Any, folder: Path) -> None:
    directory = read(FileBody.open("st.zip"))
    with open("st.zip", "rb") as file:
        status = os.fstat(file.fileno())
        with pytest.raises(ValueError, match="5 columns, expected 6"):
            module.OpenPack("st.zip", file.fileno(), status, directory.raw, directory.rows[:, :5].copy(), {})
        pack = module.OpenPack("st.zip", file.fileno(), status, directory.raw, directory.rows, {"a": 99, "b": -1})
    assert pack.read(["a", "b"], 1 << 20) == [None, None]
    if module is compiled:
        with pytest.raises(ValueError, match="2 stamps, expected 1"):
            pack.read(["a"], 1, np.zeros((2, 3), np.int64))


@needs_proc
def test_few_packs_stay_open(folder: Path) -> None:
    names = [f"p{i}.zip" for i in range(packs.MAX_PACKS + 5)]
    for name in names:
        shutil.copy("st.zip", name)
    time.sleep(OLD)
    for _ in range(2):
        for name in names:
            ds.read(f"{name}/r0.ds")
            ds.read_many(f"{name}/*.ds")
    assert n_open(*names) == packs.MAX_PACKS
    shutil.copy("st.zip", "new.zip")
    time.sleep(OLD)
    deleted = [os.open(name, os.O_RDONLY) for name in names]
    for name in names:
        os.unlink(name)
    ds.read("new.zip/r0.ds")
    assert list(packs._local) == ["new.zip"]  # the others do not keep their content on the disk
    for fd in deleted:
        os.close(fd)
    packs._local.clear()
    assert n_open("new.zip") == 0


@needs_proc
def test_a_pack_that_was_replaced_is_closed(folder: Path) -> None:
    time.sleep(OLD)
    ds.read("st.zip/r0.ds")
    with open("st.zip", "rb") as old:
        ds.pack("st/*.ds", "st.zip")
        time.sleep(OLD)
        ds.read("st.zip/r0.ds")
        assert n_open("st.zip") == 1
        assert n_open(f"/proc/self/fd/{old.fileno()}") == 1  # its own
    os.unlink("st.zip")
    with pytest.raises(FileNotFoundError):
        ds.read("st.zip/r0.ds")
    assert not packs._local


def test_any_order_of_changes_to_packs_that_are_remembered(folder: Path) -> None:
    rng = np.random.default_rng(2)
    values: dict[str, list[int]] = {}
    for i in range(24):
        name = f"c{rng.integers(0, 3)}.zip"
        for j in range(2):
            ds.write(f"m{j}.ds", {"x": [100 * i + j]})
        order = ["m0.ds", "m1.ds"] if rng.integers(0, 2) else ["m1.ds", "m0.ds"]
        ds.pack(order, "new.zip")
        if rng.integers(0, 2):  # in place
            Path(name).write_bytes(Path("new.zip").read_bytes())
        else:
            os.replace("new.zip", name)
        values[name] = [100 * i, 100 * i + 1]
        if rng.integers(0, 2):
            time.sleep(OLD)
        for name, expected in values.items():
            assert [ds.read(f"{name}/m{j}.ds")["x"].item() for j in range(2)] == expected
            assert [one["x"].item() for one in ds.read_many(f"{name}/*.ds")] == expected


def _values(queue: Any) -> None:
    queue.put([ds.read(f"st.zip/r{i}.ds")["time"][0] for i in range(5)])


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")
def test_a_forked_process_reads_it_too(folder: Path) -> None:
    time.sleep(OLD)
    expected = [ds.read(f"st.zip/r{i}.ds")["time"][0] for i in range(5)]
    context = multiprocessing.get_context("fork")
    queue = context.SimpleQueue()
    children = [context.Process(target=_values, args=(queue,)) for _ in range(3)]
    for child in children:
        child.start()
    found = [queue.get() for _ in children]
    for child in children:
        child.join()
    assert found == [expected] * 3 and "st.zip" in packs._local


def test_threads_read_while_it_is_replaced(folder: Path) -> None:
    failed: list[BaseException] = []
    is_done = threading.Event()

    def run() -> None:
        try:
            while not is_done.is_set():
                assert ds.read("st.zip/r1.ds")["time"][0] == 4
                assert len(ds.read_many("st.zip/*.ds")) == 5
        except BaseException as error:  # noqa: BLE001 - the test fails by it
            failed.append(error)

    threads = [threading.Thread(target=run) for _ in range(3)]
    for thread in threads:
        thread.start()
    for i in range(10):
        ds.pack("st/*.ds" if i % 2 else "st/*", "st.zip")
        time.sleep(0.03)
    is_done.set()
    for thread in threads:
        thread.join()
    assert not failed
