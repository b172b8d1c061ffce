"""Merging datasets along a dimension: from metadata alone a plan, by which memory or a file is then filled.

plan        which variables become what: joined, stacked, or taken from the first
common      what variables must have in common: types, units, packing
assemble    arrays, allocated once and filled part by part
"""

from .assemble import Filler, Target, assemble, blank, joined
from .common import DECIDING, Convert, reconcile
from .plan import UNWRITTEN, Input, MergePlan, Part, Way, converted, make, size_along

__all__ = [
    "DECIDING",
    "UNWRITTEN",
    "Convert",
    "Filler",
    "Input",
    "MergePlan",
    "Part",
    "Target",
    "Way",
    "assemble",
    "blank",
    "converted",
    "joined",
    "make",
    "reconcile",
    "size_along",
]
