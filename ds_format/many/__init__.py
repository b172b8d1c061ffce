"""Many files at once.

reading   into a list of datasets, or straight into one
folders   the files of a folder, read or indexed
merging   into one file along a dimension, block by block
pieces    files and datasets as pieces of a merged one
"""
