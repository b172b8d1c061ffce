"""Variables read alone, in part, in blocks, by handles, with many files and by commands, compared with a whole read."""

from __future__ import annotations

import contextlib
import io
import json
import pickle
import warnings
from operator import getitem
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

import ds_format as ds
from ds_format.base.text import escape, unescape
from ds_format.cli import main

from .comparing import Comparisons, Failure, array_of, attempt, attributes_of, same_entry

MAX_N = 5000
"""Values up to which a variable is read in tiny blocks."""


def compare(name: str, path: Path, base: Any, raw: Any, random: Random, compared: Comparisons) -> None:
    """Compare all parts of a file.

    Parameters
    ----------
    name : str
        Name of the file in disagreements.
    path : Path
    base, raw : Dataset
        All of the file, and the same packed.
    random : Random
    compared : Comparisons
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with (
            ds.open(path) as opened,
            ds.open(path, unpack=False) as packed,
        ):
            keys = [escape(variable) for variable in opened if escape(variable) in base]
            compared.equal(f"open {name}", "read", "order of variables", "", keys, [key for key in base if key != "."])
            for key in keys:
                _alone(name, path, key, base, compared)
                one, other = opened[unescape(key)], packed[unescape(key)]
                compared.values(f"open {name}", "read", key, attempt(getitem, one, ...), base[key])
                compared.values(f"open {name} packed", "read packed", key, attempt(getitem, other, ...), raw[key])
                if base[key] is not None:
                    _indexed(name, key, one, other, base[key], raw[key], random, compared)
                    _blocks(name, key, one, base[key], compared)
                    _selected(name, path, key, one.dims, base[key], random, compared)
    _many(name, path, base, compared)
    _commands(name, path, base, compared)


def _alone(name: str, path: Path, key: str, base: Any, compared: Comparisons) -> None:
    found = attempt(ds.read, path, unescape(key), full=True)
    if isinstance(found, Failure):
        compared.equal(f"read {name} alone", "read", "opens", key, found, None)
    else:
        compared.values(f"read {name} alone", "read", key, found.get(key), base[key])
        same_entry(f"read {name} alone", "read", key, found["."].get(key), base["."][key], compared)


def random_index(shape: tuple[int, ...], random: Random) -> tuple[Any, ...]:
    """Return an index of positions, slices and lists."""
    index: list[Any] = []
    for n in shape:
        kind = random.choice(("int", "slice", "slice", "list") if n else ("slice",))
        if kind == "int":
            index.append(random.randrange(n))
        elif kind == "list":
            index.append([random.randrange(n) for _ in range(random.randint(1, 4))])
        else:
            start = random.randrange(n + 1)
            index.append(slice(start, random.randrange(start, n + 1), random.choice([1, 1, 2])))
    return tuple(index)


def select(values: Any, index: tuple[Any, ...]) -> Any:
    """Return the part that an index selects, lists as a grid."""
    axis, found = 0, array_of(values)
    for item in index:
        found = found[(slice(None),) * axis + (item, ...)]
        axis += not isinstance(item, int)
    return found


def _indexed(
    name: str, key: str, one: Any, other: Any, expected: Any, stored: Any, random: Random, compared: Comparisons
) -> None:
    """Compare a part of a variable that was opened, and the same by a handle that was pickled."""
    index = random_index(array_of(expected).shape, random)
    compared.values(f"open {name}", "read", key, attempt(getitem, one, index), select(expected, index), "part")
    handle = attempt(lambda: pickle.loads(pickle.dumps(other.handle())))
    if isinstance(handle, Failure):
        compared.equal(f"handle {name}", "read", "opens", key, handle, None)
        return
    compared.values(f"handle {name}", "read packed", key, attempt(handle.read), stored)
    part = select(stored, index)
    compared.values(f"handle {name}", "read packed", key, attempt(getitem, handle, index), part, "part")


def _blocks(name: str, key: str, variable: Any, expected: Any, compared: Comparisons) -> None:
    """Compare the blocks of a variable, joined, with all of it."""
    flat = array_of(expected).reshape(-1)
    for budget in (16, 1 << 16) if flat.size < MAX_N else (1 << 16,):
        found = attempt(lambda budget=budget: [*variable.blocks(budget)])
        if isinstance(found, Failure):
            compared.values(f"blocks {name}", "read", key, found, flat)
        elif not found:
            compared.equal(f"blocks {name}", "read", "number of values", key, 0, flat.size)
        else:
            joined = np.ma.concatenate([np.ma.asarray(block).reshape(-1) for block in found])
            compared.values(f"blocks {name}", "read", key, joined, flat)


def _selected(
    name: str, path: Path, key: str, dims: tuple[str, ...], expected: Any, random: Random, compared: Comparisons
) -> None:
    """Compare parts that `sel` and `range_` select."""
    array = array_of(expected)
    if not dims or len({*dims}) < len(dims):
        return
    index = random_index(array.shape, random)
    names = [unescape(dim) for dim in dims]
    found = attempt(lambda: ds.read(path, unescape(key), sel=dict(zip(names, index, strict=True)))[key])
    compared.values(f"sel {name}", "read", key, found, select(expected, index), "part")
    if array.shape[0]:
        start = random.randrange(array.shape[0])
        stop = random.randint(start + 1, array.shape[0])
        found = attempt(lambda: ds.read(path, unescape(key), range_={names[0]: (start, stop)})[key])
        compared.values(f"range {name}", "read", key, found, array[start:stop], "part")


def _many(name: str, path: Path, base: Any, compared: Comparisons) -> None:
    """Compare functions for many files: a list of one file, and one or two files along a dimension."""
    found = attempt(ds.read_many, [path], skip_unsupported=True)
    keys = [key for key in base if key != "."]
    if isinstance(found, Failure):
        compared.equal(f"read_many {name}", "read", "opens", "", found, None)
        return
    for key in keys:
        compared.values(f"read_many {name}", "read", key, found[0].get(key), base[key])
        one, two = attributes_of(found[0]["."].get(key)), attributes_of(base["."][key])
        compared.equal(f"read_many {name}", "read", "attributes", key, one, two)
    firsts = [
        base["."][key][".dims"][0] for key in keys
        if base["."][key].get(".dims") and base["."][key].get(".type") != "compound"
    ]  # fmt: skip
    for n in (1, 2) if firsts else ():
        reader, dim = f"read_many {name} dim {n}", firsts[0]
        found = attempt(ds.read_many, [path] * n, dim=unescape(dim), skip_unsupported=True)
        if isinstance(found, Failure):
            compared.equal(reader, "read", "opens", "", found, None)
            continue
        for key in keys:
            if base[key] is not None:
                dims, expected = base["."][key].get(".dims", []), array_of(base[key])
                if dim in dims:
                    expected = np.ma.concatenate([expected] * n, axis=dims.index(dim))
                compared.values(reader, "read", key, found.get(key), expected)


def _commands(name: str, path: Path, base: Any, compared: Comparisons) -> None:
    """Compare what the commands `cat` and `stats` print."""
    for key, values in base.items():
        if key == "." or values is None:
            continue
        variable, array = json.dumps(unescape(key), ensure_ascii=False), array_of(values)
        status, out = _run("cat", "-F", "-j", "--noindent", variable, str(path))
        rows = [json.loads(line) for line in out.splitlines()[1:]] if status == 0 else status
        expected = _plain(array.tolist())
        compared.equal(f"cat {name}", "read", "values", key, _plain(rows), expected if array.ndim else [expected])
        if array.dtype.kind not in "iuf":
            continue
        status, out = _run("stats", "-F", "-j", variable, str(path))
        found = json.loads(out) if status == 0 else status
        if isinstance(found, dict):
            _statistics(f"stats {name}", key, found, np.ma.compressed(array), compared)
        else:
            compared.equal(f"stats {name}", "read", "exit status", key, found, None if not array.size else 0)


def _statistics(reader: str, key: str, found: dict[str, Any], present: Any, compared: Comparisons) -> None:
    compared.equal(reader, "read", "count", key, found["count"], len(present))
    values = present[~np.isnan(present)] if present.dtype.kind == "f" else present
    if values.size and np.isfinite(values).all():
        compared.equal(reader, "read", "min", key, float(found["min"]), float(values.min()))
        compared.equal(reader, "read", "max", key, float(found["max"]), float(values.max()))
        with np.errstate(all="ignore"):
            wide = values.astype("f8")
            mean = float(wide.mean())
        is_close = np.isclose(found["mean"], mean, rtol=1e-9, atol=1e-9 * np.abs(wide).max())
        compared.equal(reader, "read", "mean", key, mean if is_close else found["mean"], mean)


def _run(*words: str) -> tuple[int, str]:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = main(words)
    return status, out.getvalue()


def _plain(value: Any) -> Any:
    """Return values as JSON has them, bytes as text."""
    if isinstance(value, list):
        return [*map(_plain, value)]
    return value.decode(errors="surrogateescape") if isinstance(value, bytes) else value
