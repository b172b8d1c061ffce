"""NetCDF files of any format.

describe   an ordinary dataset → variables and values as a file has them
"""
