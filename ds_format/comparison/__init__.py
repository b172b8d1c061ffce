"""What differs between two datasets, files of any formats among them, block by block.

::

    elements.py    two arrays → which values differ, and by how much
    values.py      the blocks of two variables → how many differ, the first and the largest difference
    attributes.py  two attributes → whether they are the same
    stored.py      two variables on disk → whether their bytes are the same
    records.py     what is said of one difference
    places.py      a position → its coordinates
    datasets.py    two sources → all that differs
    memory.py      a dataset in memory → a source
    told.py        differences → lines to be read by people
"""
