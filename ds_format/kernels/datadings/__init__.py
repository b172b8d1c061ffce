"""The index of datadings.

index   hashes of many keys, Bloom filters, look-up of keys by their hashes; samples of a block

Declaration: `blake2s`.
"""
