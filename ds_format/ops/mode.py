"""The mode for a block of code: what happens when a name does not exist."""

from __future__ import annotations

from ..base.modes import use


def with_mode(mode: str) -> use:
    """Set the mode for a `with` block. Afterwards it is as it was, also after an exception.

    Parameters
    ----------
    mode : {"soft", "moderate", "strict"}
        Nothing, a warning, or an exception tells of a name that does not exist.

    Returns
    -------
    context manager

    Raises
    ------
    ValueError
        If there is no such mode.

    Examples
    --------
    >>> from ds_format.ops import var
    >>> with with_mode("strict"):
    ...     var({}, "x")
    Traceback (most recent call last):
    ...
    ds_format.errors.MissingError: x: variable not found
    """
    return use(mode)
