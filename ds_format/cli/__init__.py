"""The command `ds`.

::

    main.py         the words of a command line → exit status
    arguments.py    which word is the command, which are options, which its arguments
    commands.py     the table of commands: name → module; how a command declares what it takes
    ls.py ...       one file per command: COMMAND declares, run(request) → data
    metadata.py     what a file holds
    patterns.py     patterns of names → names
    options.py      options of reading and writing → what the functions of the package take
    changes.py      what commands that change a dataset share
    pst.py          the notation of arguments and output
    output.py       data → stdout, as PST or JSON
    base/messages.py  an exception → one line
    tracing.py      an exception → where it came from
    help.py         what `--help` prints
    man.py          the manual pages
    completion.py   what `--print-completion` prints
    progress.py     a progress bar on stderr
    signals.py      ending by a signal

Commands that need only the header import neither NumPy nor netCDF4 for a ds file: the module of a command is imported
to run it. Imports are most of the time that they take. For the same reason modules on their way have no
`from __future__ import annotations` if they define a NamedTuple: typing would compile the text of each annotation.
"""

from __future__ import annotations

from .main import main

__all__ = ["main"]
