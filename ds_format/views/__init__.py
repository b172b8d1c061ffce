"""Parts of a file: a subset, one group, and variables that are read when you index them."""
