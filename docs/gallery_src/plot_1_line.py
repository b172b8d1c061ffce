"""
A line
======

A variable of one dimension becomes a line. The variable that is called as the dimension gives the axis, and times
become dates.
"""

# %%
# The measurements at one of the stations in ``sample.nc``, whose packed numbers are unpacked:
from pictures import sh

sh("ds plot temperature sample.nc sel: { station: 0 } -o line.png")
