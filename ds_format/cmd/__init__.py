"""The commands as functions, named as in ds-format 5.0.2.

Positional arguments are the words of a command line, keyword arguments its options. Commands print to stdout and raise
errors. `CMDS` maps the names of the commands to the functions.

This module is a folder, as in ds-format: if that was installed before, its folder would hide a file of this name.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from ..cli import commands, pst
from ..cli.arguments import Finished, Request, UsageError

__all__ = ["CMDS", "UsageError", *(f"{name}_" if name in ("set", "type") else name for name in commands.COMMANDS)]

style = SimpleNamespace(output="pst", indent=True)
"""Defaults for printing: `output` (`json`, or any other text for PST) and `indent` (whether an item may take several
lines)."""


def _function(name: str) -> Callable[..., None]:
    def run(*args: Any, **opts: Any) -> None:
        command = commands.load(name)
        items = command.run(Request(name, list(args), opts).check(command.all_options))
        as_json = bool(opts.get("j")) or style.output == "json"
        with contextlib.suppress(Finished):  # the result was printed
            pst.write(items, as_json=as_json, indent=style.indent and not opts.get("noindent"))

    run.__name__ = run.__qualname__ = name
    run.__doc__ = f"{commands.COMMANDS[name].caption} See `ds {name} --help`."
    return run


CMDS: dict[str, Callable[..., None]] = {name: _function(name) for name in commands.COMMANDS}
"""All commands by name."""


def __getattr__(name: str) -> Callable[..., None]:
    command = name.removesuffix("_")
    if command in CMDS:
        return CMDS[command]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
