"""Random command lines that make sense: commands, files of the setups, their names, and options of reading."""

from __future__ import annotations

import random

SETUPS = """
ds set { time none time { 1 2 3 } long_name: time units: s } { temperature none time { 16. 18. 21. } units: celsius } title: 'A b' none base.ds
ds set { time none time { 4 5 6 } long_name: time units: s } { temperature none time { 23. 25. 28. } units: K } author: me none base2.ds
ds set { lat none lat { -10 0 10 } } { lon none lon { 0 90 } } { p none { lat lon } { { 1.5 2 } { 3 4 } { 5 6 } } units: Pa } none grid.ds
ds set { t float64 t { 0 1 2 } units: 'days since 2000-01-01' } { v none t { 10 20 30 } } none t.ds
ds select base.ds base.nc
ds select grid.ds grid.nc
ds select t.ds t.nc
"""  # noqa: E501
"""How to make the files."""
VARIABLES = {"base": ("time", "temperature"), "grid": ("lat", "lon", "p"), "t": ("t", "v")}
DIMS = {"base": ("time",), "grid": ("lat", "lon"), "t": ("t",)}
COORDINATES = {"time": (1, 2.4, 9), "lat": (-10, 0, 7), "lon": (0, 44, 90), "t": (0, 1.4, 2)}
HEADER_COMMANDS = ("attrs", "dims", "ls", "meta", "size", "type")
CHANGES = ("merge", "rename", "rename_dim", "rm", "select", "set")
N_AT_LEAST = 2
"""Values along each dimension."""


class Lines:
    """A generator of command lines.

    Parameters
    ----------
    seed : int
    """

    def __init__(self, seed: int):
        self._random = random.Random(seed)

    def line(self) -> list[str]:
        """Return the words of one command line; one that writes writes `out.ds` or `out.nc`."""
        pick = self._random.choice
        setup = pick([*VARIABLES])
        command = pick((*HEADER_COMMANDS, *CHANGES, *("cat", "cat", "cat", "stats", "dim", "select")))
        path = f"{setup}.{pick(('ds', 'nc'))}"
        if command in CHANGES:
            return [command, *getattr(self, f"_{command}")(setup, path), f"out.{pick(('ds', 'nc'))}"]
        flags = pick(([], [], [], ["-j"], ["--noindent"], ["-j", "--noindent"], ["-t"]))
        return [
            command,
            *flags,
            *getattr(self, f"_{command}", self._one_or_none)(setup),
            path,
            *self._part(command, setup),
        ]

    def _variable(self, setup: str) -> str:
        return self._random.choice((*VARIABLES[setup], *VARIABLES[setup], "nope"))

    def _pattern(self, setup: str) -> str:
        name = self._variable(setup)
        return self._random.choice((name, name, f"{name[0]}*", "*"))

    def _one_or_none(self, setup: str) -> list[str]:
        return self._random.choice(([], [self._variable(setup)]))

    def _attrs(self, setup: str) -> list[str]:
        return self._random.choice(([], [self._variable(setup)], [self._variable(setup), "units"], ["none", "title"]))

    def _dims(self, setup: str) -> list[str]:
        return [*self._random.choice(([], ["-z"], ["--size"])), *self._one_or_none(setup)]

    def _ls(self, setup: str) -> list[str]:
        options = self._random.choice(([], ["-l"], ["a:", "units"], ["a:", "{", "units", "long_name", "}"]))
        return [*options, *(self._pattern(setup) for _ in range(self._random.randrange(3)))]

    def _size(self, setup: str) -> list[str]:
        return [self._variable(setup)]

    _type = _stats = _size

    def _dim(self, setup: str) -> list[str]:
        return [self._random.choice((*DIMS[setup], "nope"))]

    def _cat(self, setup: str) -> list[str]:
        options = self._random.choice(([], [], ["-n"], ["-h"], ["--jd"]))
        names = self._random.choice(([self._pattern(setup)], [*VARIABLES[setup][:2]], [*VARIABLES[setup][1::-1]]))
        return [*options, *names]

    def _part(self, command: str, setup: str) -> list[str]:
        """Return an option of reading, for commands that read data; such as the reference gets right."""
        if command not in ("cat", "stats") or self._random.random() < 0.4:
            return []
        dim = self._random.choice(DIMS[setup])
        i, n = self._random.randrange(N_AT_LEAST), self._random.randint(1, N_AT_LEAST)
        value, other = (str(self._random.choice(COORDINATES[dim])) for _ in range(2))
        low, high = self._random.choice(COORDINATES[dim][:2]), self._random.choice(COORDINATES[dim][1:])
        return self._random.choice((
            ["sel:", "{", f"{dim}:", str(i), "}"],
            ["sel:", "{", f"{dim}:", str(-n), "}"],
            ["sel:", "{", f"{dim}:", "{", "1", "0", "}", "}"],
            ["range:", "{", f"{dim}:", "{", str(i), "none", "}", "}"],
            ["range:", "{", f"{dim}:", "{", str(-n), "none", "}", "}"],
            ["at:", "{", f"{dim}:", value, "}"],
            ["at:", "{", f"{dim}:", "{", value, other, "}", "}"],
            ["between:", "{", f"{dim}:", "{", str(low), "none", "}", "}"],
            ["between:", "{", f"{dim}:", "{", "none", str(high), "}", "}"],
        ))

    def _select(self, setup: str, path: str) -> list[str]:
        dim = self._random.choice(DIMS[setup])
        part = self._random.choice(([], [], [f"{dim}:", "1"], [f"{dim}:", "{", "1", "0", "}"]))
        return [*(self._pattern(setup) for _ in range(self._random.randrange(3))), *part, path]

    def _set(self, setup: str, path: str) -> list[str]:
        name, dim = self._random.choice(VARIABLES[setup]), self._random.choice(DIMS[setup])
        return [
            *self._random.choice((
                ["title:", "new title", "n:", "5"],
                [name, "units:", "kg m-2", "scale:", "2.5"],
                [name, self._random.choice(("float32", "float64", "int16"))],
                ["new", "float32", "k", "{", "1", "2", "3", "}", "units:", "m"],
                ["{", "new", "none", "none", "5", "}", "{", name, "comment:", "c", "}", "title:", "T"],
                ["new", "none", "{", dim, "b", "}", "{", "{", "1", "}", "}"],
            )),
            path,
        ]

    def _rm(self, setup: str, path: str) -> list[str]:
        name = self._variable(setup)
        return [*self._random.choice(([self._pattern(setup)], ["{", name, name, "}"], [name, "units"])), path]

    def _rename(self, setup: str, path: str) -> list[str]:
        name = self._random.choice(VARIABLES[setup])
        return [*self._random.choice(([f"{name}:", "new"], [f"{name}:", "none"], [name, "units:", "u"])), path]

    def _rename_dim(self, setup: str, path: str) -> list[str]:
        return [f"{self._random.choice((*DIMS[setup], 'nope'))}:", "new", path]

    def _merge(self, setup: str, path: str) -> list[str]:
        paths = [path, *self._random.choice(([], [path], ["base2.ds" if setup == "base" else path]))]
        new = self._random.choice(([], [], ["new:", "n"], ["jd:", "false"]))
        return [*new, self._random.choice((*DIMS[setup], "run")), *paths]
