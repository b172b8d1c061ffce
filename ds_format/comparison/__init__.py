"""What differs between two datasets, files of any formats among them, block by block.

::

    values.py    the blocks of two variables → how many differ, the first and the largest difference; two attributes
    records.py   what is known of one difference, and as a line of text
    datasets.py  two sources → all that differs; a dataset in memory → a source
"""
