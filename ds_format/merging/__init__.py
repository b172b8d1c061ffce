"""Merging datasets along a dimension: from metadata alone a plan, by which memory or a file is then filled.

plan        which variables become what: joined, stacked, or taken from the first
common      what variables must have in common: types, units, packing
assemble    arrays, allocated once and filled part by part
"""

from .assemble import assemble, blank
from .common import DECIDING
from .plan import Input, MergePlan, Part, Way, converted, make, size_along

__all__ = ["DECIDING", "Input", "MergePlan", "Part", "Way", "assemble", "blank", "converted", "make", "size_along"]
