"""The foundation of all layers: names, types, modes, wording of messages, progress, optional imports."""

PACKAGE = __name__.partition(".")[0]
"""The name of the package itself."""
