"""Converting many files, one by one.

running      `convert_many`: from the arguments to a record of each file
workers      the place where files are converted: this process, threads, processes, or an executor of the user
processes    such processes, and what they do
task         one file: converted into the folder of the run, checked, renamed
workspace    the hidden files of a run in the folder of the outputs: journal, lock, unfinished outputs
inputs       arguments → files, and their outputs
"""
