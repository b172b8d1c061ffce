"""Messages of msgpack.

walk      steps over values; any of many strings, without objects of the others
objects   usual messages ↔ Python objects and arrays
"""
