"""Numbers of bytes as people read them."""


def bytes_of(n: float) -> str:
    """Return a number of bytes with three digits and a unit.

    Examples
    --------
    >>> bytes_of(999), bytes_of(22532), bytes_of(1_500_000)
    ('999 B', '22.5 kB', '1.5 MB')
    """
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if n < 999.5:
            return f"{n:.3g} {unit}"
        n /= 1000
    return f"{n:.3g} PB" if n < 999.5 else f"{n:.0f} PB"
