"""
A line
======

A variable with one dimension is drawn as a line. The variable named like the dimension is the axis, and times become
dates.
"""

# %%
# Draw the temperature at one station in ``sample.nc``. Packed values are unpacked:
from pictures import sh

sh("ds plot temperature sample.nc sel: { station: 0 } -o line.png")
