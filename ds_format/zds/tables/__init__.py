"""Documents as tables.

From low to high::

    optional     libraries that need not be installed
    shapes       the type that all values of a column have
    columns      documents → columns of Arrow
    rows         rows → documents
    pandas_, arrow_, duckdb_   the same for each library
"""
