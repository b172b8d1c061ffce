"""The command `ds`.

::

    main.py         the words of a command line → exit status
    arguments.py    which word is the command, which are options, which its arguments; kinds of options
    commands.py     the table of commands
    lookup.py       the header of a file, and patterns of names → names in it
    pst.py          the notation of arguments and output; data → stdout, as PST or JSON
    progress.py     a progress bar on stderr
    process.py      ending by a signal; closed streams
    help.py         what `--help` prints, and the manual pages
    hints.py        what a wrong command line may have meant
    completion.py   what `--print-completion` prints

    header.py       attrs, dim, dims, ls, size, type
    values.py       cat, stats
    info            info, meta
    plot.py         plot
    select_.py      select; options of reading and writing
    convert.py      convert
    merge.py        merge
    change.py       rename, rename_dim, rm, set
    diff.py         diff
    verify.py       verify
    records         records
    containers.py   inspect, pack, reindex, unpack

A file of commands has `COMMANDS`: name → `Command`, which declares what the command takes, and has the function that
runs it. Commands that need only the header import neither NumPy nor netCDF4 for a ds file: the module of a command is
imported to run it. Imports are most of the time that they take. For the same reason modules on their way have no
`from __future__ import annotations` if they define a NamedTuple: typing would compile the text of each annotation.
"""

from __future__ import annotations

from .main import main

__all__ = ["main"]
