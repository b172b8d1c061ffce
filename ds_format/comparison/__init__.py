"""Differences between two datasets, in memory or in files of any formats, block by block; hashes of their content.

::

    values.py    the blocks of two variables → how many differ, the first and the largest difference; two attributes
    records.py   one difference as data, and as a line of text
    datasets.py  two sources → all differences; a dataset in memory → a source
    content.py   a source → digests of its variables, and of the dataset
"""
