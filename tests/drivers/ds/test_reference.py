"""ds-format 5.0.2 reads what is written here, with equal values."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import numpy as np

import ds_format as ds

from ... import golden_ds as golden
from ...same import same_value

READ = """
import json, sys
import numpy as np, ds_format as ds
dataset = ds.read(sys.argv[1])
out = {}
for key, data in dataset.items():
    if key != ".":
        value = data.tolist() if isinstance(data, (np.ndarray, np.generic)) else data
        dtype = str(getattr(data, "dtype", type(data).__name__))
        out[key] = [dtype, list(np.shape(data)), ds.dims(dataset, key), value]
out["."] = {key: {k: v for k, v in entry.items() if not k.startswith(".")} for key, entry in dataset["."].items()}
json.dump(out, sys.stdout, default=lambda value: {"$bytes": value.hex()})
"""


def read(python: str, path: Path) -> dict[str, Any]:
    done = subprocess.run([python, "-I", "-c", READ, str(path)], capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def masked(data: Any, mask: Any) -> Any:
    return np.ma.MaskedArray(data, mask)


def every_type() -> dict[str, Any]:
    """Return one variable of every kind that the reference can read back."""
    dataset: dict[str, Any] = {}
    for code in ("f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"):
        dataset[f"{code}_2d"] = np.arange(12).reshape(3, 4).astype(code)
        dataset[f"{code}_be"] = np.arange(5).astype(f">{code}")
        dataset[f"{code}_0d"] = np.dtype(code).type(7)
        dataset[f"{code}_masked"] = masked(np.arange(9).astype(code), [0, 1, 0, 0, 1, 1, 0, 0, 1])
        dataset[f"{code}_large"] = np.arange(3000).astype(code)
    dataset["bool_16"] = np.arange(16) % 3 == 0
    dataset["text"] = np.array([["a", "žluť"], ["", "d\0"]], object)
    dataset["text_0d"] = "hello"
    dataset["text_masked"] = masked(np.array(["a", "b", "c"], object), [0, 1, 0])
    dataset["bytes"] = np.array([b"a", b"\xff\0"], object)
    dataset["fortran"] = np.asfortranarray(np.arange(6.0).reshape(2, 3))
    dataset["strided"] = np.arange(10.0)[::3]
    meta = {key: {"units": "K", "number": np.int16(3), "list": [1, 2.5], "nan": float("nan")} for key in dataset}
    meta["fortran"][".dims"] = ["j", "i"]
    meta["."] = {"title": "T", "version": np.float32(0.5)}
    dataset["."] = meta
    return dataset


def test_the_reference_reads_files_written_here(reference_python: str, tmp_path: Path) -> None:
    dataset = every_type()
    ds.write(tmp_path / "whole.ds", dataset)
    ds.convert(tmp_path / "whole.ds", tmp_path / "streamed.ds")
    for name in ("whole.ds", "streamed.ds"):
        found = read(reference_python, tmp_path / name)
        assert found.keys() == dataset.keys()
        again = ds.read(tmp_path / name)
        for key, data in again.items():
            if key == ".":
                continue
            dtype, shape, dims, value = found[key]
            assert same_value(golden.value(value), golden.as_list(data)), key
            assert shape == list(np.shape(data))
            if isinstance(data, (np.ndarray, np.generic)):
                assert dtype == str(data.dtype)
            assert dims == (["j", "i"] if key == "fortran" else [f"{key}_{i + 1}" for i in range(len(shape))])
        assert found["."]["."] == {"title": "T", "version": 0.5}
        expected = {"units": "K", "number": 3, "list": [1, 2.5], "nan": float("nan")}
        assert all(same_value(found["."][key], expected) for key in again if key != ".")
