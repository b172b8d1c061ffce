"""Many files converted, one by one.

running      `convert_many`: what is asked for → a record of each file
workers      who converts: this process, threads, processes, or somebody's executor
task         one file: converted into the folder of the run, checked, moved to its name
workspace    the hidden files of a run in the folder of the outputs: journal, lock, unfinished outputs
inputs       words → files, and which becomes which
"""
