"""What is true of datasets, wherever their values are.

::

    conventions    attributes by which one variable names others, and kinds of coordinates
    settings       the properties `.netcdf` and `.hdf5`
    missing        numbers that mean "missing" ↔ masks
    packing        integers that stand for other numbers
    selection      `sel`, `range_`, `at`, `between` → one index for each dimension
    index          what an index selects, checked and applied
    merge_plan     metadata of several datasets → what each merged variable is made of
    merged_arrays  arrays of a merged dataset, allocated once and filled part by part
    stats          statistics of numbers in bounded memory
"""
