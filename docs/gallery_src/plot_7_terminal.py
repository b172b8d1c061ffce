"""
In the terminal
===============

Without ``-o`` the plot is text, as wide as the terminal. It needs no other library.
"""

# %%
# Draw a line:
from pictures import sh

sh("ds plot temperature sample.nc sel: { station: 0 }")

# %%
# Draw a map:
sh("ds plot pressure sample.nc at: { time: 2026-01-05 }")
