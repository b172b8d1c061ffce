"""Small files read whole, and the first bytes of larger ones: the compiled function and the one for other systems."""

from __future__ import annotations

import errno
import os
import socket
from pathlib import Path
from typing import Any

import pytest

from ds_format.kernels.files import opening as compiled
from ds_format.kernels.files import portable
from tests.descriptors import n_open

pytestmark = pytest.mark.parametrize("opening", [compiled, portable], ids=["compiled", "portable"])


@pytest.mark.parametrize("limit", [5, 6, 1 << 20])
def test_all_of_a_small_file(opening: Any, limit: int, tmp_path: Path) -> None:
    path = tmp_path / "ä file"
    path.write_bytes(b"hello")
    for name in (path, str(path), os.fsencode(path)):
        assert opening.open_first(name, limit)[:3] == (-1, 5, bytearray(b"hello"))
    path.write_bytes(b"")
    assert opening.open_first(path, 0)[:3] == (-1, 0, bytearray())


@pytest.mark.parametrize("limit", [0, 4])
def test_the_first_bytes_of_a_larger_file(opening: Any, limit: int, tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"hello")
    fd, size, data, _ = opening.open_first(path, limit)
    try:
        assert (size, data) == (5, bytearray(b"hello"[:limit]))
        assert not os.get_inheritable(fd)
        assert os.fstat(fd).st_size == 5
    finally:
        os.close(fd)


def test_a_file_that_ends_before_its_size(opening: Any) -> None:
    """As one does that is cut while it is read: those of the kernel of Linux say that they have a whole page."""
    path = Path("/sys/kernel/mm/transparent_hugepage/enabled")
    if not path.is_file() or path.stat().st_size <= len(path.read_bytes()):
        pytest.skip("there is no such file")
    assert opening.open_first(path, 1 << 16)[:3] == (-1, path.stat().st_size, path.read_bytes())


@pytest.mark.skipif(os.name != "posix", reason="needs pipes with names")
def test_what_is_no_file(opening: Any, tmp_path: Path) -> None:
    """Each leaves no descriptor behind, and none waits."""
    os.mkfifo(tmp_path / "pipe")
    os.symlink("nothing", tmp_path / "link")
    with socket.socket(socket.AF_UNIX) as end:
        end.bind(os.path.relpath(tmp_path / "socket"))
        kinds = {"": errno.EISDIR, "pipe": errno.ESPIPE, "link": errno.ENOENT, "nope": errno.ENOENT}
        for name, number in kinds.items():
            with pytest.raises(OSError) as caught:  # noqa: PT011 - its number and name are looked at
                opening.open_first(tmp_path / name, 9)
            assert (caught.value.errno, str(caught.value.filename)) == (number, str(tmp_path / name))
        with pytest.raises(OSError, match="socket"):
            opening.open_first(tmp_path / "socket", 9)
        assert not n_open(tmp_path, tmp_path / "pipe", tmp_path / "socket")
    with pytest.raises(ValueError, match="null"):
        opening.open_first("a\0b", 9)
    with pytest.raises(TypeError):
        opening.open_first(5.0, 9)
