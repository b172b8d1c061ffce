"""
A range of colours
==================

``limits:`` tells from which to which value colours go; arrows at the bar tell that there are values beyond.
``colormap:`` is a name that matplotlib knows.
"""

# %%
# The same kind of map in other colours, the same ones for whatever day is drawn:
from pictures import sh

sh("ds plot pressure sample.nc sel: { time: 3 } limits: { 999 1002 } colormap: cividis -o colours.png")
