"""Pickles.

machine   opcodes of a pickle → objects, without importing or running anything, within a budget of memory
"""
