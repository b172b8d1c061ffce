"""The script that changes the package finds what tests do not."""

from __future__ import annotations

from pathlib import Path

import pytest

from . import mutants

SOURCE = """\
def sign(x):
    \"\"\"Say it.\"\"\"
    if x < 0 and not x == 7:
        x = -1 + 2
    return f(x)
"""
KERNEL = """\
cdef int first(const uint8_t* p, Py_ssize_t n) noexcept nogil:
    cdef int i = <int> p[0]
    return i
"""


@pytest.mark.parametrize(
    ("path", "source", "expected"),
    [
        (
            "x.py",
            SOURCE,
            [
                "if x <= 0",
                "if x < 1",
                "x < 0 or not",
                "0 and  x",
                "x != 7",
                "x == 8",
                "pass",
                "2 + 2",
                "1 - 2",
                "1 + 3",
                "return None",
            ],
        ),
        ("x.pyx", KERNEL, ["p[1]", "return 0"]),
    ],
)
def test_each_change_is_of_one_place(path: str, source: str, expected: list[str]) -> None:
    changed = [one.apply(source) for one in mutants.mutants(path, source)]
    assert len(changed) == len(expected)
    for text in expected:
        assert sum(text in one for one in changed) == 1, text


def test_a_room_is_the_folder_next_to_a_module() -> None:
    for path, room in {
        "many/converting/task.py": ["tests/many/converting"],
        "kernels/hdf5/small.pyx": ["tests/kernels", "tests/hdf5"],
        "base/forks.py": ["tests/test_forks.py"],
        "dataset.py": [],
    }.items():
        assert mutants.room_of(mutants.TOP, f"ds_format/{path}") == room


@pytest.mark.slow
def test_survivors_are_those_that_no_test_finds(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)  # options of this package's tests
    top = tmp_path / "clone"
    for path, text in {
        "ds_format/__init__.py": "",
        "ds_format/a/one.py": "def f(x):\n    return x + 1\n",
        "ds_format/a/__init__.py": "UNUSED = 4\n",
        "tests/a/test_one.py": "from ds_format.a.one import f\ndef test_f():\n    assert f(1) == 2\n",
    }.items():
        (top / path).parent.mkdir(parents=True, exist_ok=True)
        (top / path).write_text(text)
    before = {path: path.read_bytes() for path in top.rglob("*") if path.is_file()}
    assert mutants.main(top, 9, 0, "ds_format") == 1
    assert {path: path.read_bytes() for path in top.rglob("*") if path.is_file()} == before
    printed = capsys.readouterr().out.splitlines()
    assert sorted(line.split(":")[0] for line in printed[:-1]) == [
        "SURVIVES ds_format/a/__init__.py",
        *["room     ds_format/a/one.py"] * 3,
    ]
    assert printed[-1] == "1 of 4 survive"
