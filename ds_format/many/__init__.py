"""Many files at once.

reading        reading in batches: into a list of datasets, or directly into a merged one
folders        the files of a folder, read or indexed
converting     each file converted to another one in a folder
merging        merging into one file along a dimension, block by block
opening        opening as one dataset, whose variables are read when they are indexed
scanning       one pass over files to be opened as one: metadata, and checks of common values
querying       many files as a dataset of pyarrow, and SQL
patterns       paths and patterns → files
pieces         files and datasets as pieces of a merged one
"""
