"""A quick look at a variable.

::

    scene.py     an open file → what is drawn: a line or a map, with axes, thinned to what can be seen
    picture.py   a scene → a file, by matplotlib
    terminal.py  a scene → text
"""
