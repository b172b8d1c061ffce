"""The command `ds`.

::

    main.py         the words of a command line → exit status
    arguments.py    words → command, options and arguments; kinds of options
    commands.py     the table of commands
    lookup.py       the header of a file, and patterns of names → names in it
    pst.py          the notation of arguments and output; data → stdout, as PST or JSON
    progress.py     a progress bar on stderr
    process.py      ending by a signal; closed streams
    help.py         `--help` and the manual pages
    hints.py        suggestions for a wrong command line
    completion.py   `--print-completion`: scripts for shells, and the names that they offer

    header.py       attrs, dim, dims, ls, size, type
    values.py       cat, stats
    info            info, meta
    plot.py         plot
    select_.py      select; options of reading and writing
    convert.py      convert
    merge.py        merge
    change.py       rename, rename_dim, rm, set
    diff.py         diff
    hash_.py        hash
    verify.py       verify
    vrt.py          vrt
    records         records
    containers.py   inspect, pack, reindex, unpack

A module of commands has `COMMANDS`: name → `Command`, which has arguments, options and the function to run. A command's
module is imported only to run it. For a ds file, commands that need only the header import neither NumPy nor netCDF4,
because imports take most of their time. For the same reason, modules imported by these commands do not use
`from __future__ import annotations` if they define a NamedTuple: typing would compile each annotation.
"""

from __future__ import annotations

from .main import main

__all__ = ["main"]
