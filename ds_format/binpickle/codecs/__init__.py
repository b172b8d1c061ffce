"""Codecs: what buffers go through on their way to a file and back.

libraries   numcodecs and python-blosc, imported when they are needed
steps       the words of the index, in both versions → one list of steps
lists       arrays as lists of JSON and msgpack
decoders    a fixed table: the id of a step → how to undo it, with a bound for what comes out
encoders    what users say → codecs, and their words in the index
"""  # noqa: A005 - its name in BinPickle

from .encoders import CODECS, GZ, NC, Blosc, Chain, Codec, Null, make_codec

__all__ = ["CODECS", "GZ", "NC", "Blosc", "Chain", "Codec", "Null", "make_codec"]
