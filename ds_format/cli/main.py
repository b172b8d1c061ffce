"""The program: the words of a command line → exit status, with every message on stderr."""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import sys
import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from .._version import __version__
from ..base import messages, modes
from ..base.wording import on_one_line, visible
from . import arguments, commands, output
from .arguments import Request, UsageError


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command line.

    Parameters
    ----------
    argv : sequence of str, optional
        The words, the name of the program left out. Without them this is the program: they are the process's, and
        a signal that ends the command ends the process, after what has been begun is cleaned up.

    Returns
    -------
    int
        0; 1 after an error, or what the command has for one (2 of `ds diff`); 128 and the number of a signal that
        ended it.
    """
    if sys.stdout is None or sys.stderr is None:
        _part("closed").open_again()
    try:
        status = _run(sys.argv[1:] if argv is None else list(argv), is_program=argv is None)
        if argv is None:
            # The process ends now: a last search for garbage would take a tenth of the time of `ds ls`.
            gc.freeze()
        return status
    except (KeyboardInterrupt, BrokenPipeError) as error:
        signals = _part("signals")
        number: int = signals.number_of(error)
    if argv is None:
        signals.end(number)
    return 128 + number


def _part(name: str) -> Any:
    """Import a part of the program that few command lines need: most of the time of `ds ls` is that of imports."""
    return importlib.import_module(f"{__package__}.{name}")


def _run(argv: list[str], is_program: bool) -> int:
    label, verbose = "ds", False
    usage: Sequence[str] = ()
    row = commands.COMMANDS.get(argv[0]) if argv else None
    try:
        request = arguments.read(argv)
        verbose = bool(request.options.get("v"))
        arguments.check_flags(request.options, ())
        if not request.command:
            request = _part("hints").asking_for_help(request) or request
        if request.options.get("help"):
            explain = _part("help")
            output.put([explain.command(request.command) if request.command else explain.general()])
        elif request.options.get("version"):
            output.put([f"{__version__}\n"])
        elif request.options.get("print-completion"):
            output.put([_part("completion").script(request)])
        elif not request.command and not request.words:
            options = commands.load(commands.DEFAULT)[0].options
            arguments.check(request.options, (*arguments.READ, *arguments.WRITE, *options))
            raise UsageError("expected a command or a file")
        else:
            if not request.command:
                _part("hints").check(request)
            name = request.command or commands.DEFAULT
            row = commands.COMMANDS[name]
            label = f"ds {name}"
            command, run = commands.load(name)
            usage = command.usage
            known = (*arguments.READ, *arguments.WRITE, *command.options)
            words = request.words
            arguments.check(request.options, known, lambda *one: str(_part("hints").of_option(*one, words)))
            arguments.check_flags(request.options, known)
            if is_program and row.writes:
                _part("signals").mind()
            _execute(run, request, label, row)
    except commands.Ended as found:
        return found.status
    except UsageError as error:
        explain = _part("help")
        _say(
            f"{label}: {on_one_line(str(error))}\n{explain.usage(usage or explain.USAGE)}Use `{label} --help` for help."
        )
        return _trouble(row)
    except BrokenPipeError:
        raise
    except Exception as error:  # noqa: BLE001 - whatever goes wrong is told in one line
        if verbose:
            _say(_part("tracing").of(error))
        _say(f"{label}: {messages.with_meant(error)}")
        return _trouble(row)
    return 0


def _trouble(row: commands.CommandRow | None) -> int:
    return 1 if row is None else row.trouble


def _execute(run: Callable[[Request], Iterable[Any]], request: Request, label: str, row: commands.CommandRow) -> None:
    """Run a command, print what it returns, and its warnings as one line each."""
    options = request.options
    watched = not options.get("q") and sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
    bar = _part("progress").Progress(sys.stderr) if watched else None
    empty = "ignore" if options.get("allow-empty") else "raise" if row.writes else "warn"
    with modes.use(_mode(options), "strict", empty), bar or contextlib.nullcontext(), warnings.catch_warnings():

        def show(message: Warning | str, *about: object, **more: object) -> None:
            if bar is not None:
                bar.clear()
            _say(f"{label}: warning: {messages.one_line(str(message))}")

        warnings.showwarning = show
        items = run(request._replace(progress=bar))
        if bar is not None:
            items = _part("progress").between(items, bar, sys.stdout)
        output.write(items, as_json=bool(options.get("j")), indent=not options.get("noindent"))


def _mode(options: dict[str, Any]) -> str:
    """Return the strictest mode that the options ask for, or else the one of the environment: moderate, if none is."""
    asked = [name for letter, name in (("s", "strict"), ("m", "moderate"), ("t", "soft")) if options.get(letter)]
    return asked[0] if asked else modes.get("moderate")


def _say(text: str) -> None:
    """Print a message; what it cites of a file, a terminal may not obey."""
    with contextlib.suppress(OSError):
        print(visible(text), file=sys.stderr)
