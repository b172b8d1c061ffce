"""The commands as functions, `ds_format.cmd`: arguments are the words of a command line, keywords its options.

What a command prints goes to stdout; errors are raised. `CMDS` has all functions by the names of the commands.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

from . import arguments, commands, output, style


def _function(name: str) -> Callable[..., None]:
    def run(*args: Any, **opts: Any) -> None:
        command, execute = commands.load(name)
        arguments.check(opts, (*arguments.READ, *arguments.WRITE, *command.options))
        items = execute(arguments.Request(name, list(args), opts))
        as_json = bool(opts.get("j")) or style.output == "json"
        with contextlib.suppress(commands.Ended):  # what it found was printed
            output.write(items, as_json=as_json, indent=style.indent and not opts.get("noindent"))

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
