"""Values that are read without the library."""
