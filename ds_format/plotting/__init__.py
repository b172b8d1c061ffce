"""A quick look at a variable.

::

    scene.py        what is drawn: a line or a map, with axes
    times.py        values of a variable of time → dates on an axis, and where its ticks are
    coordinates.py  an open file → the axes of a variable, or its grid of longitudes and latitudes
    lines.py        many values → those of a line that can be seen, broken at gaps
    making.py       an open file → a scene, thinned to what can be seen
    colours.py      values → the range of colours, and which ones
    cells.py        the middles of cells of a curvilinear grid → their corners
    coastlines.py   what a map shows → the coasts in it
    maps.py         a map → axes of matplotlib
    picture.py      a scene → a file, by matplotlib
    terminal.py     a scene → text
"""
