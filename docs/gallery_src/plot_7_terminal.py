"""
In the terminal
===============

Without ``-o`` the drawing is text, as wide as the terminal, and needs no other library.
"""

# %%
# A line:
from pictures import sh

sh("ds plot temperature sample.nc sel: { station: 0 }")

# %%
# A map:
sh("ds plot pressure sample.nc at: { time: 2026-01-05 }")
