"""
A range of colours
==================

``limits:`` sets the values of the first and the last colour. Arrows at the colour bar mark values beyond them.
``colormap:`` is the name of a colour map of matplotlib.
"""

# %%
# Use fixed limits to compare maps of several days:
from pictures import sh

sh("ds plot pressure sample.nc sel: { time: 3 } limits: { 999 1002 } colormap: cividis -o colours.png")
