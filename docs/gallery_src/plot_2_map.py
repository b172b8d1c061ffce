"""
A map
=====

A variable with two dimensions is drawn as a map. If it has more, select positions until two remain.
"""

# %%
# The title shows the selection:
from pictures import sh

sh("ds plot pressure sample.nc sel: { time: 0 } -o map.png")
