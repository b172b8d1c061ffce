"""The command `ds`.

::

    main.py         the words of a command line → exit status
    arguments.py    which word is the command, which are options, which its arguments
    commands.py     the table of commands: name → module; how a command declares what it takes
    ls.py ...       one file per command: COMMAND declares, run(request) → data
    metadata.py     what a file holds
    patterns.py     patterns of names → names
    pst.py          the notation of arguments and output
    output.py       data → stdout, as PST or JSON
    messages.py     an exception → one line
    help.py         what `--help` prints
    progress.py     a progress bar on stderr
    signals.py      ending by a signal

`ds --version` and `ds ls` on a ds file import neither NumPy nor netCDF4: the module of a command is imported to run it.
"""

from __future__ import annotations

from .main import main

__all__ = ["main"]
