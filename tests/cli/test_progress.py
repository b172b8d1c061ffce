"""The progress bar."""

from __future__ import annotations

import io

import pytest

from ds_format.base.wording import bytes_of
from ds_format.cli import progress
from ds_format.cli.progress import Progress, render


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time, as a list of one item to change."""
    now = [100.0]
    monkeypatch.setattr(progress, "monotonic", lambda: now[0])
    return now


def test_short_work_has_no_bar(clock: list[float]) -> None:
    stream = io.StringIO()
    with Progress(stream) as bar:
        for _ in range(9):
            clock[0] += 0.1
            bar(1, 2)
    assert stream.getvalue() == ""


def test_long_work_has_a_bar_until_its_end(clock: list[float]) -> None:
    stream = io.StringIO()
    with Progress(stream) as bar:
        clock[0] += 2.5
        bar(250, 1000)
        shown = stream.getvalue()
        assert shown.startswith("\r[#########....")
        assert " 25%  250 B of 1 kB  100 B/s  0:08 left" in shown
        clock[0] += 0.05
        bar(300, 1000)
        assert stream.getvalue() == shown
        clock[0] += 0.1
        bar(1000, 1000)
        assert "100%  1 kB of 1 kB" in stream.getvalue()
    assert stream.getvalue().endswith("\r\x1b[K")


def test_the_bar_goes_at_an_error_too(clock: list[float]) -> None:
    stream = io.StringIO()

    def interrupted() -> None:
        with Progress(stream) as bar:
            clock[0] += 3
            bar(1, 2)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert stream.getvalue().endswith("\r\x1b[K")


@pytest.mark.parametrize(
    ("done", "total", "seconds", "width", "text"),
    [
        (0, 0, 3.0, 79, f"[{'.' * 40}]    0%  0 B of 0 B  0 B/s"),
        (5, 2, 1.0, 79, f"[{'#' * 40}]  100%  5 B of 2 B  5 B/s"),
        (0, 100, 0.0, 79, f"[{'.' * 40}]    0%  0 B of 100 B  0 B/s"),
        (10**9, 10**10, 1.0, 50, "[........]   10%  1 GB of 10 GB  1 GB/s  0:09 left"),
        (10**9, 10**10, 1.0, 20, " 10%  1 GB of 10 GB "),
    ],
)
def test_the_bar_fits(done: int, total: int, seconds: float, width: int, text: str) -> None:
    assert text == render(done, total, seconds, width)


@pytest.mark.parametrize(
    ("n", "text"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1000, "1 kB"),
        (999_999, "1 MB"),
        (1.5e9, "1.5 GB"),
        (2e12, "2 TB"),
        (5e15, "5 PB"),
        (5e18, "5000 PB"),
    ],
)
def test_sizes(n: float, text: str) -> None:
    assert text == bytes_of(n)
