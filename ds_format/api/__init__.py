"""The public functions on whole files: read, write, convert, diff, digest, verify."""
