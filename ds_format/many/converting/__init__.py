"""Many files converted, one by one.

running      `convert_many`: what is asked for → a record of each file
bookkeeping  a run: what is to be done, what is done, who is told
execution    who converts: this process, threads, processes, or somebody's executor
lanes        a thread of this process for each thread or process that converts
worker       the process that converts, and the talk with it
task         one file: converted into the folder of the run, checked, moved to its name
wanted       what is wanted of each file
comparing    what was written, against what was to be written
warned       the warnings of each file
journal      what is done, on the disk
workspace    the hidden files of a run in the folder of the outputs
plan         which file becomes which
inputs       words → files
records      what became of each file
"""
