"""The program: the words of a command line → exit status, with every message on stderr.

Modules that few command lines need are imported in functions, because imports take most of the time of `ds ls`.
"""

from __future__ import annotations

import contextlib
import gc
import os
import sys
import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from .._version import __version__
from ..base import error_text, modes
from ..base.text import on_one_line, visible
from . import commands, pst
from .arguments import Finished, Request, UsageError, check_local


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command line.

    Parameters
    ----------
    argv : sequence of str, optional
        The words without the name of the program. By default the arguments of the process are used; a signal that
        ends the command then ends the process, after temporary files are removed.

    Returns
    -------
    int
        0 after success. 1 after an error (2 for `ds diff`). 128 plus the number of the signal that ended it.
    """
    if sys.stdout is None or sys.stderr is None:
        from .process import open_closed_streams

        open_closed_streams()
    try:
        status = _run(sys.argv[1:] if argv is None else list(argv), is_program=argv is None)
        if argv is None:
            # The process ends now. A last garbage collection would take a tenth of the time of `ds ls`.
            gc.freeze()
        return status
    except (KeyboardInterrupt, BrokenPipeError) as error:
        from . import process

        number = process.signal_of(error)
    if argv is None:
        process.end(number)
    return 128 + number


def _run(argv: list[str], is_program: bool) -> int:
    label, verbose = "ds", False
    usage: Sequence[str] = ()
    row = commands.COMMANDS.get(argv[0]) if argv else None
    try:
        request = commands.read(argv)
        verbose = request.flag("v")
        request.check_flags()
        if not request.command:
            from . import hints

            request = hints.asking_for_help(request) or request
        if _explain(request):
            return 0
        name = request.command or commands.DEFAULT
        if not request.command and not request.words:
            request.check(commands.load(name).all_options)
            raise UsageError("expected a command or a file")
        if not request.command:
            hints.check(request)
        row = commands.COMMANDS[name]
        label = f"ds {name}"
        command = commands.load(name)
        usage = command.usage
        request = request.check(command.all_options, _meant(request.words))
        request.check_flags()
        check_local(request.words if row.is_local else ())
        if is_program and row.writes:
            from .process import handle_signals

            handle_signals()
        _execute(command.run, request, label, row)
    except Finished as finished:
        return finished.status
    except UsageError as error:
        from . import help as explain

        _say(
            f"{label}: {on_one_line(str(error))}\n{explain.usage(usage or explain.USAGE)}Use `{label} --help` for help."
        )
        return 1 if row is None else row.trouble
    except BrokenPipeError:
        raise
    except Exception as error:  # noqa: BLE001 - every error is printed as one line
        if verbose:
            import traceback

            _say("".join(traceback.format_exception(error)).rstrip("\n"))
        _say(f"{label}: {error_text.describe_with_hint(error)}")
        if isinstance(error, (AttributeError, ImportError)):
            from ..base import rival

            if rival.warning():
                _say(f"{label}: {rival.warning()}")
        return 1 if row is None else row.trouble
    return 0


def _explain(request: Request) -> bool:
    """Print the help, the version or a script if the request is for one of them, and return whether it is."""
    if request.flag("help"):
        from . import help as explain, hints

        hints.check_help(request)
        pst.put([explain.text(request.command)])
    elif request.flag("version"):
        from ..base import rival

        pst.put([f"{__version__}\n"])
        if rival.warning():
            _say(f"ds: warning: {rival.warning()}")
    elif request.flag("print-completion"):
        from . import completion

        pst.put([completion.script(request)])
    else:
        return False
    return True


def _meant(words: Sequence[Any]) -> Callable[[str, Any, Iterable[str]], str]:
    """Return a function that suggests a replacement for an unknown option."""

    def meant(name: str, value: Any, known: Iterable[str]) -> str:
        from . import hints

        return hints.of_option(name, value, known, words)

    return meant


def _execute(run: Callable[[Request], Iterable[Any]], request: Request, label: str, row: commands.CommandRow) -> None:
    """Run a command, and print the items that it returns; print each warning as one line."""
    watched = not request.flag("q") and sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
    bar: Any = None
    if watched:
        from . import progress

        bar = progress.Progress(sys.stderr)
    empty = "ignore" if request.flag("allow-empty") else "raise" if row.writes else "warn"
    with modes.use(_mode(request), "strict", empty), bar or contextlib.nullcontext(), warnings.catch_warnings():

        def show(message: Warning | str, *about: object, **more: object) -> None:
            if bar is not None:
                bar.clear()
            _say(f"{label}: warning: {error_text.one_line(str(message))}")

        warnings.showwarning = show
        items = run(request._replace(progress=bar))
        if bar is not None:
            items = progress.between(items, bar, sys.stdout)
        pst.write(items, as_json=request.flag("j"), indent=not request.flag("noindent"))


def _mode(request: Request) -> str:
    """Return the strictest mode among the options, or else the one of the environment; moderate by default."""
    asked = [name for letter, name in (("s", "strict"), ("m", "moderate"), ("t", "soft")) if request.flag(letter)]
    return asked[0] if asked else modes.get("moderate")


def _say(text: str) -> None:
    """Print a message. Escape control characters, because a message may cite a file."""
    with contextlib.suppress(OSError):
        print(visible(text), file=sys.stderr)
