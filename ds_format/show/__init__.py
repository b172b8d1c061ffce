"""Datasets and variables → readable overviews and drawings.

::

    overview.py   a dataset or metadata → an overview of its variables, as text or HTML
    scene.py      a line or a map to draw, with axes; dates on an axis, and its ticks
    making.py     an open file → a scene, thinned to the resolution of the drawing
    geography.py  the cells of a grid of longitudes and latitudes, and the coasts in a window
    picture.py    a scene → a file, by matplotlib
    terminal.py   a scene → text
"""
