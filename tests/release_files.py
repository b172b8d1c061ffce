"""`python tests/release_files.py`: write files of each format with the installed version, for the tests of later ones.

Run it once for each release, with its version. It writes the files to `tests/golden/releases/VERSION`, and next to them
`expected.json` with what they hold. It reads each file once, to compare.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

import ds_format as ds
from ds_format import binpickle
from ds_format.datadings.reader import MsgpackReader
from ds_format.datadings.writer import FileWriter
from ds_format.zds import ZDSStore, pack

FOLDER = Path(__file__).parent / "golden" / "releases"
NUMBERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64")
Masked: Any = np.ma.MaskedArray


def dataset() -> dict[str, Any]:
    """Return a dataset with each type, plain and masked, text, scalars, groups, and attributes of each kind."""
    data: dict[str, Any] = {}
    for i, name in enumerate(NUMBERS):
        limits = np.iinfo(name) if name[0] in "iu" else np.finfo(name)
        values = np.array([limits.min, i, limits.max], name)
        data[name] = values
        data[f"masked_{name}"] = Masked(values, [False, True, False])
    data["float64"] = np.array([np.nan, -np.inf, 5e-324])
    flags = np.array([True, False, True])
    data |= {"bool": flags, "masked_bool": Masked(flags, [True, False, False])}
    text = np.array(["žluť", "", "a\nb"], object)
    data |= {"unicode": text, "masked_unicode": Masked(text, [False, False, True])}
    octets = np.array([b"\xff\x00", b"", b"abc"], object)
    data |= {"str": octets, "masked_str": Masked(octets, [False, True, False])}
    data |= {"scalar": np.float64(1.5), "word": "one", "none": Masked(np.int16(0), True)}
    data |= {"empty": np.zeros((0, 3), "f4"), "grid": np.arange(24, dtype="i4").reshape(2, 3, 4)}
    data["wind/speed"] = np.array([2.5, 3.5, 4.5], "f4")
    dims: dict[str, list[str]] = {name: ["n"] for name in data}
    dims |= {"scalar": [], "word": [], "none": [], "empty": ["z", "n"], "grid": ["t", "n", "x"]}
    meta: dict[str, Any] = {name: {".dims": dims[name]} for name in data}
    meta["grid"] |= {"units": "K", "scale": np.float32(0.5), "flags": np.array([1, 2], "u1"), "lost": float("nan")}
    meta["."] = {"title": "žluťoučký", "n": 7, "levels": [1.5, 2.5]}
    return {**data, ".": meta}


SAMPLES: list[dict[str, Any]] = [
    {"key": "a", "x": np.arange(6, dtype="u2").reshape(2, 3), "label": 1, "z": 1 + 2j, "text": "žluť", "raw": b"\xff"},
    {"key": "b/ž", "x": np.zeros((0, 3)), "label": None, "nested": {"a": [1, -(2**63), 2**64 - 1, 1.5, True]}},
    {"key": "c", "scalar": np.float32(0.1)},
]
DOCUMENTS: list[dict[str, Any]] = [
    {"_id": "a", "name": "žluť", "n": 2**53 + 1, "x": 0.1, "tags": ["p", None, {"q": True}]},
    {"_id": "b.c-d_e", "empty": {}, "list": []},
    {"_id": "last"},
]


def an_object() -> dict[str, Any]:
    """Return an object for BinPickle."""
    return {
        "weights": np.arange(12.0).reshape(3, 4),
        "fortran": np.asfortranarray(np.arange(6, dtype=">i4").reshape(2, 3)),
        "masked": Masked(np.array([1, 2], "i2"), [False, True]),
        "days": np.array(["2026-11-24"], "M8[D]"),
        "plain": [None, True, 1 << 70, 1.5, "ž", b"\xff", (1, 2), {"k": []}],
    }


def described(value: Any) -> Any:
    """Return a value as JSON that keeps its type: masked values are null, and numbers that JSON lacks are text."""
    if isinstance(value, np.ndarray):
        array: Any = value.astype("int64") if value.dtype.kind in "mM" else value
        kind = str(value.dtype.newbyteorder("="))
        return {"$array": kind, "shape": list(value.shape), "values": described(array.tolist())}
    if isinstance(value, np.generic):
        return {"$scalar": str(value.dtype), "value": described(value.item())}
    if isinstance(value, bytes):
        return {"$bytes": value.hex()}
    if isinstance(value, (float, complex)):
        return repr(value)
    if isinstance(value, tuple):
        return {"$tuple": described(list(value))}
    if isinstance(value, list):
        return [described(item) for item in value]
    if isinstance(value, dict):
        return {str(key): described(item) for key, item in value.items()}
    return value


def described_dataset(data: dict[str, Any]) -> dict[str, Any]:
    """Return the variables and attributes of a dataset as JSON: types, dimensions, values."""
    found: dict[str, Any] = {"attributes": described(ds.attrs(data))}
    for name in ds.vars(data):
        value = data[name]
        numbers = np.ma.asanyarray(value) if np.ma.isMaskedArray(value) else np.asarray(value)
        found[name] = {
            "type": ds.type(data, name),
            "dims": ds.dims(data, name),
            "values": described(numbers.tolist()),
            "attributes": described(ds.attrs(data, name)),
        }
    return found


def expected() -> dict[str, Any]:
    """Return what the files hold, as JSON, from what is written to them."""
    return {
        "dataset": described_dataset(dataset()),
        "samples": [described(sample) for sample in SAMPLES],
        "store": [described(document) for document in DOCUMENTS],
        "object": described(an_object()),
    }


def read(path: Path) -> Any:
    """Return what a file or folder holds, as JSON."""
    kind = kind_of(path)
    if kind == "dataset":
        return described_dataset(ds.read(path))
    if kind == "object":
        return described(binpickle.load(path))
    if kind == "samples":
        with MsgpackReader(path) as reader:
            found = [described(sample) for sample in reader]
            assert [described(reader.find(sample["key"])) for sample in found] == found
        return found
    with ZDSStore.open(path, "train") as store:
        found = [described(document) for document in store.scan()]
        assert [described(store[document["_id"]]) for document in found] == found
    return found


def kind_of(path: Path) -> str:
    """Return the first word of a name: the entry of `expected.json` for the file."""
    return path.name.partition(".")[0].partition("_")[0]


def files(folder: Path) -> list[Path]:
    """Return the files and folders to read, without indexes."""
    return sorted(path for path in folder.iterdir() if path.suffix in ("", ".bpk", ".ds", ".msgpack", ".zds"))


def write(folder: Path) -> None:
    """Write all files of a release, and what they hold."""
    folder.mkdir(parents=True)
    data = dataset()
    ds.write(folder / "dataset.ds", data)
    ds.write(folder / "dataset_checksum.ds", data, checksum=True)
    ds.write(folder / "dataset_2.0.1.ds", data, version="2.0.1")
    ds.write(folder / "dataset.bpk", data, mappable=False)
    for suffix in (".msgpack", ".zds"):
        ds.write(folder / f"dataset{suffix}", data, dim="n")
    with FileWriter(folder / "samples.msgpack") as writer:
        for sample in SAMPLES:
            writer.write(sample)
    stores: dict[str, Any] = {"store": {}, "store_binary": {"index": "binary"}, "store_docs": {"layout": "docs"}}
    for name, options in stores.items():
        with ZDSStore.open(folder / name, "train", mode="w", **options) as store:
            store.put_many(DOCUMENTS)
    pack(folder / "store", folder / "store.zds", compression="deflate")
    binpickle.dump(an_object(), folder / "object.bpk")
    binpickle.dump(an_object(), folder / "object_gz.bpk", codec="gz")
    binpickle.dump(an_object(), folder / "object_2.bpk", version=2)
    lines = (f" {json.dumps(name)}: {json.dumps(entry, ensure_ascii=False)}" for name, entry in expected().items())
    (folder / "expected.json").write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
    for path in files(folder):
        assert read(path) == expected()[kind_of(path)], path


if __name__ == "__main__":
    write(Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER / ds.__version__)
