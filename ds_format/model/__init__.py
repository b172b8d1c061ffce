"""What is true of datasets in memory: packing, conventions, statistics."""
