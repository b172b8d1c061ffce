"""How fast the package is beside NetCDF, bare system calls, NumPy and the reference: `python -m benchmarks`.

::

    __main__     the command line
    runner       one case after another, each in a folder of its own
    groups       what is measured, in the order of the report
    cases/       groups of cases, sizes by name
    targets      what must be reached, and the summary table
    ways         one program's way of doing the work of a case: how it is timed, how its result is checked
    timing       A B C A B C: medians, spreads, ratios
    peers        netCDF4, and the system calls as Python has them
    versions     an older version of the package from a wheel, in turn with this one
    programs     those that keep a dataset with its metadata
    stations     reports of stations: small files as they are
    reports      their files, by all programs, and how they are read
    disk         a real disk, whose files no cache holds
    worker/      other processes: the reference program in its own environment, and those whose memory is measured
    data         arrays and datasets
    table        markdown
    readme       the tables of the documents, from reports
    machine      what it ran on

Each case checks that all ways give equal values before it times them in turn. A ratio is the median of the ratios
within each round, so that what disturbs a round as a whole does not count.
"""
