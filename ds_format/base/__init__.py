"""What everything else stands on: names, types, modes, the text of messages, progress, optional imports."""

PACKAGE = __name__.partition(".")[0]
"""The name of the package itself."""
