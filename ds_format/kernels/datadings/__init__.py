"""The index of datadings.

index   hashes of many keys, Bloom filters of them, from the hash of a key to its number; samples cut out of a block

Declaration: `blake2s`.
"""
