"""How the functions of `ds_format.cmd` print where their options do not say: `ds_format.output`, `ds_format.indent`."""

output = "pst"
"""`json` is JSON, and anything else PST."""
indent = True
"""Whether an item may spread over lines."""
