"""What is said about a store that is not as it should be, and can be read nevertheless."""

from __future__ import annotations


class ZdsWarning(UserWarning):
    """Something in a store is not as the format wants it: it was left out, or read anyway, as the text says."""
