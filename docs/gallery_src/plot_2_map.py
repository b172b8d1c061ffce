"""
A map
=====

A variable of two dimensions becomes a map. Of more dimensions, select until two are left.
"""

# %%
# What was selected stands in the title:
from pictures import sh

sh("ds plot pressure sample.nc sel: { time: 0 } -o map.png")
