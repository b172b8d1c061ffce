"""Many files at once.

reading        read by the batch: into a list of datasets, or straight into one
folders        the files of a folder, read or indexed
converting     each to a file of its own: a folder
merging        into one file along a dimension, block by block
opening        as one dataset, whose variables are read when they are indexed
scanning       what files that are opened as one say, in one pass, and what they must have in common
pieces         files and datasets as pieces of a merged one
"""
