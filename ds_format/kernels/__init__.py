"""Compiled loops and system calls: buffers in, buffers out. One folder for what each serves.

files       calls of the system
ds          datasets and arrays of the ds format
header      header lines of the ds format
json        JSON
msgpack     messages of msgpack
datadings   hashes and keys of datadings
zds         collections of ZDS
pickle      pickles
common      declarations that several of them share
"""
