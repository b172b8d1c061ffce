"""The samples of a reader in another order, a part of them, or all of them several times.

An order is a list of positions, one for each *epoch*: each pass through the samples. It depends on nothing but the
number of samples, a seed and the number of the epoch, so that every pass can be had again, from every place in it.

Iterating without `start` and `stop` goes on where the latest iterator stopped, and at the end of an epoch with the next
one: what a training run that is resumed needs. `seek` and `tell` set and tell this place, which counts on from
epoch to epoch: `epoch * len(order) + i`.

Sources: the orders that datadings 3.4.7 makes with `random.Random` of Python.
"""

from __future__ import annotations

from .base import Order
from .repeat import Cycler, Range, Repeater
from .shuffle import QuasiShuffler, Shuffler

__all__ = ["Cycler", "Order", "QuasiShuffler", "Range", "Repeater", "Shuffler"]
