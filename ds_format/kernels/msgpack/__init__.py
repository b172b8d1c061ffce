"""Messages of msgpack.

walk      steps over values; access to single strings out of many
objects   usual messages ↔ Python objects and arrays
"""
