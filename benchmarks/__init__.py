"""Speed of the package compared with NetCDF, bare system calls, NumPy and the reference: `python -m benchmarks`.

::

    __main__     the command line
    runner       runs the cases one after another, each in a folder of its own
    groups       all groups of cases, in the order of the report
    cases/       groups of cases, sizes by name
    targets      the targets, and the summary table
    ways         one program's way of doing the work of a case: how it is timed, how its result is checked
    timing       A B C A B C: medians, spreads, ratios
    peers        netCDF4, and bare system calls from Python
    versions     an older version of the package from a wheel, in turn with this one
    programs     programs that keep a dataset with its metadata
    stations     station reports, as typical small files
    reports      the files of station reports by all programs, and how they are read
    disk         a real disk, with files that are not cached
    worker/      other processes: the reference program in its own environment, and processes whose memory is measured
    data         arrays and datasets
    table        markdown
    readme       the tables of the documents, from reports
    machine      the machine of a report

Each case checks that all ways give equal values before it times them in turn. A ratio is the median of the ratios
within each round, so that a disturbance of a whole round does not count.
"""
