"""A file seen in part: a subset, one group, variables that are read when they are indexed."""
