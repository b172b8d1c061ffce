"""Declarations that several formats share; nothing of it is compiled by itself.

words    loads, stores and byte swaps of words at any address
utf8     whether bytes are UTF-8
cursor   a place in a message, which never goes beyond its end
"""
