"""Many files at once.

reading        into a list of datasets, or straight into one
folders        the files of a folder, read or indexed
converting     each to a file of its own: a folder
merging        into one file along a dimension, block by block
opening        as one dataset, whose variables are read when they are indexed
scanning       what files that are opened as one say, in one pass
schemas        what they must have in common
watched        files that are read again, if they are still the same
concatenation  a variable of many files as one array
pieces         files and datasets as pieces of a merged one
opened_files   files that are open, of which there are never too many
"""
