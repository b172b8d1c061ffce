"""`python -m benchmarks.house`: the size of the package, how its modules import each other, and how many one call runs.

A test holds the rows about structure. A file runs if one of its functions is called when the same work is done for the
second time in a process: loading modules does not count.
"""

from __future__ import annotations

import ast
import json
import math
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path

import ds_format as ds

PACKAGE = Path(ds.__file__).parent
SAMPLE = Path(__file__).parents[1] / "examples" / "sample.nc"

WORK = {
    "ds.read with sel": """
import ds_format as ds
def work():
    ds.read("sample.ds", ["pressure"], {"time": 5})
""",
    "ds select, classic": """
from ds_format.cli import main
def work():
    main(["select", "classic.nc", "out.ds"])
""",
    "ds select, netCDF-4": """
from ds_format.cli import main
def work():
    main(["select", "sample.nc", "out.ds"])
""",
    "ds convert, two files": """
import shutil
from ds_format.cli import main
def work():
    shutil.rmtree("out", ignore_errors=True)
    main(["convert", "sample.nc", "classic.nc", "out"])
""",
    "engine ds, open and load": """
import xarray as xr
def work():
    with xr.open_dataset("sample.ds", engine="ds") as dataset:
        dataset.load()
""",
}
"""Title → a program that defines `work`. It runs in a folder with `sample.nc`, `classic.nc` and `sample.ds`."""

TRACE = """
import os, sys, threading
files = set()
def profile(frame, event, argument):
    if event == "call" and frame.f_code.co_name != "<module>":
        files.add(frame.f_code.co_filename)
stdout, sys.stdout = sys.stdout, sys.stderr
work()
sys.setprofile(profile)
threading.setprofile(profile)
work()
sys.setprofile(None)
print(*files, sep="\\n", file=stdout)
"""

READ = "import ds_format; ds_format.read('{}.ds')"
LOADED = """
import json, sys
print(json.dumps({name: getattr(module, "__file__", None) for name, module in sys.modules.items()}))
"""
TWICE = "import ds_format as ds; ds.read('deflated.nc'); open('mark', 'w').close(); ds.read('deflated.nc')"


def modules() -> dict[str, Path]:
    """Return the Python modules of the package: dotted name → file."""
    names = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
        names[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return names


@cache
def trees() -> Mapping[str, ast.Module]:
    """Return the syntax trees of all modules by dotted name, which are parsed once."""
    return {name: ast.parse(path.read_text(encoding="utf-8")) for name, path in modules().items()}


def sizes() -> dict[str, object]:
    """Return the rows about the size of the code."""
    lines = [len(path.read_text().splitlines()) for path in modules().values() if path.name != "__init__.py"]
    kernels = sorted(PACKAGE.rglob("*.pyx"))
    return {
        "AST statements of .py": sum(
            isinstance(node, ast.stmt) for tree in trees().values() for node in ast.walk(tree)
        ),
        "lines of .pyx": sum(len(path.read_text().splitlines()) for path in kernels),
        "files of Python": len(modules()),
        "median lines without __init__": statistics.median(lines),
        "kernels": len(kernels) + 1,  # one more with the code that all kernels share
        "modules in the top folder": len(list(PACKAGE.glob("*.py"))),
    }


def shared_class_names() -> dict[str, list[str]]:
    """Return the names of classes that several modules define → these modules."""
    owners = defaultdict(list)
    for module, tree in trees().items():
        for node in tree.body:
            if isinstance(node, ast.ClassDef):
                owners[node.name].append(module)
    return {name: found for name, found in sorted(owners.items()) if len(found) > 1}


def loads_by_name() -> list[str]:
    """Return the calls of `import_module` that name a module of this package, as `module:line`."""
    known = modules()
    return [
        f"{module}:{call.lineno}"
        for module, tree in trees().items()
        for call in _import_calls(tree)
        if set(_named_modules(module, known[module], tree, call)) & known.keys()
    ]


def knows(word: str, outside: str = "") -> list[str]:
    """Return the modules whose code has a name or attribute `word`, without the kernels and one room, `outside`."""
    return [
        module
        for module, tree in trees().items()
        if not f"{module}.".startswith(("ds_format.kernels.", f"{outside or 'ds_format.kernels'}."))
        and any(
            word in (getattr(node, "id", None), getattr(node, "attr", None), getattr(node, "arg", None))
            for node in ast.walk(tree)
        )
    ]


def circles() -> list[list[str]]:
    """Return the groups of modules that import each other, in functions or for types too, the largest first."""
    graph = imports()
    order: list[str] = []
    for module in graph:
        _visit(module, graph, order, set(order))
    reverse: dict[str, set[str]] = {module: set() for module in graph}
    for module, targets in graph.items():
        for target in targets:
            reverse[target].add(module)
    done: set[str] = set()
    groups = []
    for module in reversed(order):
        if module not in done:
            group: list[str] = []
            _visit(module, reverse, group, done)
            done.update(group)
            groups.append(sorted(group))
    return sorted((group for group in groups if len(group) > 1), key=len, reverse=True)


def _visit(start: str, graph: Mapping[str, Iterable[str]], order: list[str], done: set[str]) -> None:
    """Append all modules that `start` leads to, and itself, to `order`, each after those that it leads to."""
    if start in done:
        return
    done.add(start)
    stack = [(start, iter(graph[start]))]
    while stack:
        module, targets = stack[-1]
        target = next((target for target in targets if target not in done), None)
        if target is None:
            order.append(module)
            stack.pop()
        else:
            done.add(target)
            stack.append((target, iter(graph[target])))


def imports() -> dict[str, set[str]]:
    """Return module → modules of the package that it imports. The top level loads on use, and has none."""
    known = modules()
    graph: dict[str, set[str]] = {}
    for module, tree in trees().items():
        package = module if known[module].name == "__init__.py" else module.rpartition(".")[0]
        targets: set[str] = set()
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom):
                base = package.rsplit(".", node.level - 1)[0] if node.level > 1 else package
                source = ".".join(filter(None, (base if node.level else "", node.module)))
                targets.update(name if (name := f"{source}.{alias.name}") in known else source for alias in node.names)
        for call in _import_calls(tree):
            targets.update(_named_modules(module, known[module], tree, call))
        graph[module] = (targets & known.keys()) - {module, "ds_format"}
    graph["ds_format"] = set()
    return graph


def _import_calls(tree: ast.Module) -> list[ast.Call]:
    return [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ("importlib.import_module", "import_module")
    ]


def _named_modules(module: str, path: Path, tree: ast.Module, call: ast.Call) -> Iterator[str]:
    """Iterate over the modules that a call may load: the one it names, or else every string of its file like a name."""
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    argument = call.args[0] if call.args else None
    nodes: Iterable[ast.AST] = [argument] if isinstance(argument, ast.Constant) else ast.walk(tree)
    for node in nodes:
        if (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and re.fullmatch(r"\.*\w+(\.\w+)*", node.value)
        ):
            name = node.value.lstrip(".")
            yield from (node.value, f"{package}.{name}", f"ds_format.{name}")


def prepare(folder: Path) -> None:
    """Create the files that the programs read."""
    shutil.copy(SAMPLE, folder / "sample.nc")
    ds.convert(SAMPLE, folder / "sample.ds")
    ds.write(folder / "plain.ds", {"x": [1.0, 2.0, 3.0], ".": {"x": {".dims": ["t"], "units": "m"}}})
    dataset = ds.read(SAMPLE, unpack=False)
    properties = dataset["."]["."].setdefault(".netcdf", {})
    properties["format"] = "NETCDF3_CLASSIC"
    ds.write(folder / "classic.nc", dataset)
    _write_deflated(folder / "deflated.nc")


def _write_deflated(path: Path) -> None:
    meta = {".dims": ["t"], ".netcdf": {"zlib": True, "chunks": [1000]}}
    ds.write(path, {"x": [float(i % 10) for i in range(10000)], ".": {"x": meta}})


def _python(folder: Path, program: str, *prefix: str) -> str:
    environment = {**os.environ, "PYTHONPATH": str(PACKAGE.parent)}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # users have compiled modules
    command = [*prefix, sys.executable, "-c", program]
    return subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True, text=True).stdout


def files_that_run(folder: Path, program: str) -> list[str]:
    """Return the Python files of the package whose functions run when a program works for the second time."""
    paths = map(Path, _python(folder, program + TRACE).splitlines())
    return sorted(str(path.relative_to(PACKAGE)) for path in paths if path.is_relative_to(PACKAGE))


def loaded(folder: Path, program: str) -> dict[str, str | None]:
    """Return the modules that a program loads, and the file of each."""
    files: dict[str, str | None] = json.loads(_python(folder, f"{program}\n{LOADED}"))
    return files


def first_read(folder: Path, name: str = "sample") -> tuple[list[str], list[str]]:
    """Return the Python modules and the kernels of the package that the first read of a process loads."""
    files = loaded(folder, READ.format(name))
    ours = {module: file for module, file in files.items() if module.partition(".")[0] == "ds_format"}
    kernels = sorted(module for module, file in ours.items() if not str(file).endswith(".py"))
    return sorted(ours.keys() - set(kernels)), kernels


def start_up(folder: Path, name: str, rounds: int = 15) -> float:
    """Return the additional time, in ms, of a process that reads a small file, compared with importing NumPy."""
    programs = (f"import numpy; {READ.format(name)}", "import numpy")
    least = [math.inf, math.inf]
    for _ in range(rounds):
        for i, program in enumerate(programs):
            start = time.perf_counter()
            _python(folder, program)
            least[i] = min(least[i], time.perf_counter() - start)
    return 1000 * (least[0] - least[1])


def path_calls(folder: Path) -> str:
    """Return how often one read of a compressed netCDF-4 file opens it, and requests its status; needs strace."""
    if shutil.which("strace") is None:
        return "needs strace"
    _python(
        folder, TWICE, "strace", "-f", "-y", "-o", "calls", "-e", "trace=open,openat,stat,lstat,newfstatat,statx,fstat"
    )
    _, _, calls = (folder / "calls").read_text().partition('"mark"')
    lines = [line for line in calls.splitlines() if "deflated.nc" in line]
    opens = sum(re.search(r"\bopen(at)?\(", line) is not None for line in lines)
    paths = sum(
        re.search(r'\b(stat|lstat|newfstatat|statx)\(.*"[^"]*deflated\.nc"', line) is not None for line in lines
    )
    return f"{opens} + {paths}"


def rows() -> Iterator[tuple[str, object]]:
    """Iterate over the rows of the table."""
    yield from sizes().items()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        prepare(folder)
        for title, program in WORK.items():
            yield f"files that run: {title}", len(files_that_run(folder, program))
        python, kernels = first_read(folder)
        yield "modules of ours that the first read loads", len(python) + len(kernels)
        yield "kernels among them", len(kernels)
        yield "time of a process that reads, above `import numpy`", f"{start_up(folder, 'plain'):.0f} ms"
        yield "the same with a mask, which loads `numpy.ma`", f"{start_up(folder, 'sample'):.0f} ms"
        yield "opens + stats, one read of a compressed netCDF-4 file", path_calls(folder)
    yield "modules that import each other in circles", sum(map(len, circles()))
    yield "class names that two modules define", len(shared_class_names())
    yield "modules of ours that are loaded by name", len(loads_by_name())
    yield "modules outside of body that know `fd`", len(knows("fd", outside="ds_format.body"))
    yield "modules outside of body that call `os.fsdecode`", len(knows("fsdecode", outside="ds_format.body"))


def main() -> None:
    """Print the table."""
    for title, value in rows():
        print(f"| {title} | {value} |", flush=True)


if __name__ == "__main__":
    main()
