"""Small datasets made by the rules of the format alone, and the reference program in a process of its own."""

from __future__ import annotations

import json
import struct
import subprocess
from itertools import accumulate
from pathlib import Path
from typing import Any

import msgpack
import pytest

GOLDEN = Path(__file__).parents[1] / "golden" / "datadings"
REFERENCE_VERSION = "3.4.7"


def write(path: Path, messages: dict[str, bytes]) -> Path:
    """Write data, offsets and keys; the other files are optional."""
    path.write_bytes(b"".join(messages.values()))
    ends = accumulate(map(len, messages.values()), initial=0)
    Path(f"{path}.offsets").write_bytes(struct.pack(f">{len(messages) + 1}Q", *ends))
    Path(f"{path}.keys").write_bytes(msgpack.packb(list(messages)))
    return path


def write_numbers(path: Path, n: int, first: int = 0) -> Path:
    numbers = range(first, first + n)
    return write(path, {f"k{i}": msgpack.packb({"key": f"k{i}", "v": i, "b": bytes(i % 50)}) for i in numbers})


def values(samples: Any) -> list[int]:
    return [sample["v"] for sample in samples]


def skip_without_reference(python: str) -> None:
    told = "import importlib.metadata; print(importlib.metadata.version('datadings'))"
    done = subprocess.run([python, "-I", "-c", told], check=False, capture_output=True, text=True)
    if done.stdout.strip() != REFERENCE_VERSION:
        pytest.skip(f"the Python of --reference-python lacks datadings {REFERENCE_VERSION}")


def reference(python: str, code: str, folder: Path) -> Any:
    """Run code with datadings; return what it leaves in `result`, by way of JSON."""
    script = f"import json, warnings\nwarnings.simplefilter('ignore')\n{code}\nprint(json.dumps(result))"
    done = subprocess.run([python, "-I", "-c", script], check=True, capture_output=True, text=True, cwd=folder)
    return json.loads(done.stdout)
