"""The index of datadings.

hashes   hashes of many strings, and Bloom filters of them
lookup   from the hash of a key to its number
pieces   bytes, cut into pieces

Declaration: `blake2s`.
"""
