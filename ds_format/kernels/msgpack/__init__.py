"""Messages of msgpack.

walk           steps over values
keys           any of many strings, without objects of the others
pack, unpack   usual messages ↔ Python objects and arrays
"""
