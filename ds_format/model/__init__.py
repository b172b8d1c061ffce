"""Rules for datasets that do not depend on where their values are.

::

    conventions    attributes by which one variable names others, and kinds of coordinates
    settings       the properties `.netcdf` and `.hdf5`
    missing        numbers that mean "missing" ↔ masks
    packing        packed numbers ↔ the numbers that they represent
    selection      `sel`, `range_`, `at`, `between` → one index for each dimension
    index          indexes, checked and applied
    merge_plan     metadata of several datasets → the parts and conversions of each merged variable
    merged_arrays  arrays of a merged dataset, allocated once and filled part by part
    stats          statistics of numbers in bounded memory
"""
