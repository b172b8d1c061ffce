"""The program: the words of a command line → exit status, with every message on stderr."""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import sys
import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from .. import mode
from .._version import __version__
from . import arguments, commands, messages, output, signals
from . import help as explain
from .arguments import Request, UsageError
from .progress import Progress


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
        0; 1 after an error; 128 and the number of a signal that ended it.
    """
    if argv is None:
        signals.mind()
    try:
        status = _run(sys.argv[1:] if argv is None else list(argv))
        if argv is None:
            # The process ends now: a last search for garbage would take a tenth of the time of `ds ls`.
            gc.freeze()
        return status
    except KeyboardInterrupt:
        number = int(signal.SIGINT)
    except BrokenPipeError:
        number = signals.PIPE
    except signals.Ended as error:
        number = error.number
    if argv is None:
        signals.end(number)
    return 128 + number


def _run(argv: list[str]) -> int:
    label, verbose = "ds", False
    usage: Sequence[str] = explain.USAGE
    try:
        request = arguments.read(argv)
        verbose = bool(request.options.get("v"))
        if request.options.get("help"):
            output.put([explain.command(request.command) if request.command else explain.general()])
        elif request.options.get("version"):
            output.put([f"{__version__}\n"])
        elif not request.command and not request.words:
            raise UsageError("expected a command or a file")
        else:
            name = request.command or commands.DEFAULT
            label = f"ds {name}"
            command, run = commands.load(name)
            usage = command.usage
            arguments.check(request.options, command)
            _execute(run, request, label)
    except UsageError as error:
        _say(f"{label}: {error}\n{explain.usage(usage)}Use `{label} --help` for help.")
        return 1
    except BrokenPipeError:
        raise
    except Exception as error:  # noqa: BLE001 - whatever goes wrong is told in one line
        if verbose:
            sys.__excepthook__(type(error), error, error.__traceback__)
        _say(f"{label}: {messages.describe(error)}")
        return 1
    return 0


def _execute(run: Callable[[Request], Iterable[Any]], request: Request, label: str) -> None:
    """Run a command, print what it returns, and its warnings as one line each."""
    options = request.options
    watched = not options.get("q") and sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
    with mode.use(_mode(options)), Progress(sys.stderr) as bar, warnings.catch_warnings():

        def show(message: Warning | str, *about: object, **more: object) -> None:
            bar.clear()
            _say(f"{label}: warning: {' '.join(str(message).split())}")

        warnings.showwarning = show
        items = run(request._replace(progress=bar if watched else None))
        output.write(items, as_json=bool(options.get("j")), indent=not options.get("noindent"))


def _mode(options: dict[str, Any]) -> str:
    """Return the strictest mode that the options ask for, or else the one of the environment."""
    asked = [name for letter, name in (("s", "strict"), ("m", "moderate"), ("t", "soft")) if options.get(letter)]
    return asked[0] if asked else mode.get()


def _say(text: str) -> None:
    with contextlib.suppress(OSError):
        print(text, file=sys.stderr)
