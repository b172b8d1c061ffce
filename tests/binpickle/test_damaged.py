"""Hostile files: each is refused as its note says, in little memory, and nothing of it runs."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ..conftest import cases
from . import golden

FILES = sorted(path.name for path in golden.CORRUPT.glob("*.bpk"))
MEMORY = 1 << 30
"""Bytes of address space beyond what the libraries take."""
PWNED = Path("/tmp/binpickle_pwned")
"""What the files would make."""
PROGRAM = """
import json, os, resource, sys, time, tracemalloc
import numpy, numcodecs.blosc, scipy.sparse
from ds_format import binpickle
from ds_format.binpickle.buffers import BLOCK, SMALL
from ds_format.errors import DsError

events = []
FORBIDDEN = ("os.system", "os.exec", "os.posix_spawn", "subprocess.Popen", "pickle.find_class", "exec", "compile")
armed = False

def watch(event, arguments):
    if armed and event in FORBIDDEN:
        events.append(event)
        raise RuntimeError(f"a file would have caused {event}")

def attempt(action):
    try:
        return ["done", action()]
    except DsError as error:
        return [type(error).__name__, str(error)]
    except BaseException as error:
        return ["!" + type(error).__name__, str(error)]

def look(path, direct):
    try:
        file = binpickle.BinPickleFile(path, direct=direct)
    except DsError as error:
        return {"open": [type(error).__name__, str(error)]}
    with file:
        tracemalloc.start()
        errors = attempt(file.find_errors)
        found = {"open": ["done", None], "find_errors": errors, "load": attempt(lambda: file.load() and None)}
        found["peak"] = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    return found

for path in sys.argv[3:5]:
    binpickle.load(path)
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + int(sys.argv[1]),) * 2)
sys.addaudithook(watch)
armed = True
results = {}
for name in sys.argv[5:]:
    for direct in (False, True):
        results[f"{name} {direct}"] = look(os.path.join(sys.argv[2], name), direct)
armed = False
print(json.dumps({"results": results, "events": events}))
"""


@pytest.fixture(scope="module")
def outcome() -> dict[str, Any]:
    pytest.importorskip("numcodecs")
    pytest.importorskip("scipy")
    if not Path("/proc/self/statm").exists():
        pytest.skip("no limit for memory")
    PWNED.unlink(missing_ok=True)
    warm = [golden.FOLDER / "v1" / "nested_arrays.bpk", golden.FOLDER / "v2" / "codec_lzma_gzip.bpk"]
    command = [sys.executable, "-c", PROGRAM, str(MEMORY), str(golden.CORRUPT), *map(str, warm), *FILES]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_nothing_of_a_file_runs(outcome: dict[str, Any]) -> None:
    assert outcome["events"] == []
    assert not PWNED.exists()


def test_all_files_are_here(outcome: dict[str, Any]) -> None:
    assert len(FILES) == 181
    assert len(outcome["results"]) == 2 * 181


# what the refusal of some says; of those that may be read or not, which it is
MESSAGES = {
    "v1_adler_collision": "",
    "v1_bomb_64MiB": "entry 0: codec 'zlib': decodes to more than 40 bytes",
    "v1_bomb_chain_256MiB": "268435594 bytes in all, expected at most",
    "v2_bomb_chain_256MiB": "268435594 bytes in all, expected at most",
    "v1_buffer_checksum_wrong": "entry 0: checksum: found 2650012b, expected 02bc002e",
    "v1_codec_extra_config": "",
    "v2_codec_extra_config": "",
    "v2_codec_pickle_rce": "codec 'pickle': decoding it could run code",
    "v1_codec_list_chain_nested": "",
    "v1_entries_alias_300": "entry 1: offset: found 16, expected 100 or more, where entry 0 ends",
    "v2_entry_same_region": "entry 1: offset: found 16, expected 56 or more, where entry 0 ends",
    "v1_entry_overlap": "entry 1: offset: found 36, expected 56 or more",
    "v1_index_extra_key": "'zzz', expected offset, enc_length",
    "v1_length_minus1": "length: found -1",
    "v1_pickle_os_system": "posix.system",
    "v2_pickle_os_system": "posix.system",
    "v1_pickle_unknown_class": "mymodel.Model",
    "v2_big_endian_flag": "",
    "v2_trailer76_mac_nonzero": "reserved: found a signature",
    "v1_zlib_trailing_bytes": "4 bytes after the end of the stream",
    "v2_zlib_dec_length_huge": "1099511627914 bytes in all, expected at most",
}


@pytest.mark.parametrize("direct", [False, True], ids=["copied", "mapped"])
@cases("name", FILES)
def test_each_is_refused_or_read(name: str, direct: bool, outcome: dict[str, Any]) -> None:
    found = outcome["results"][f"{name} {direct}"]
    told = golden.MANIFEST[name]
    kinds = [part[0] for key, part in found.items() if key != "peak"]
    assert not any(kind.startswith("!") for kind in kinds), found
    refused = next((part for key in ("open", "load") if (part := found.get(key, ["done"]))[0] != "done"), None)
    is_seen = refused is not None or (direct and found["find_errors"][1])
    expected = told["expect"]
    assert expected in {"accept", "reject", "load fails", "any"}
    if expected == "accept":
        assert refused is None, refused
    elif expected != "any":
        assert is_seen, found
    if expected == "load fails":
        assert found["open"][0] == "done"
    message = MESSAGES.get(name.removesuffix(".bpk"))
    if message is not None and not (direct and refused is None):
        assert (refused is None) == (not message), found
    if message and refused is not None:
        assert message in refused[1]
        assert refused[1].startswith(str(golden.CORRUPT / name))
    assert found.get("peak", 0) < 80_000_000


@pytest.mark.parametrize("name", [name for name in FILES if golden.MANIFEST[name]["kind"] != "security"])
def test_looking_for_errors_raises_none(name: str, outcome: dict[str, Any]) -> None:
    for direct in (False, True):
        found = outcome["results"][f"{name} {direct}"]
        if "find_errors" in found:
            kind, errors = found["find_errors"]
            assert kind == "done"
            if golden.MANIFEST[name]["expect"] == "accept":
                assert errors == []
