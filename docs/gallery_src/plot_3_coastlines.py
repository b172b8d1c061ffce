"""
A map of the world
==================

Longitudes and latitudes are recognised by their units, and coastlines are drawn.
"""

# %%
# Make up a temperature at the surface:
import numpy as np

import ds_format as ds

lat, lon = np.arange(-89.0, 90, 2), np.arange(-179.0, 180, 2)
cold = 45 * np.sin(np.radians(lat)) ** 2
waves = 6 * np.cos(np.radians(3 * lon)) * np.sin(np.radians(2 * lat))[:, np.newaxis]
ds.write(
    "world.ds",
    {
        "lat": lat,
        "lon": lon,
        "temperature": (28 - cold[:, np.newaxis] + waves).astype("f4"),
        ".": {
            "lat": {".dims": ["lat"], "units": "degrees_north"},
            "lon": {".dims": ["lon"], "units": "degrees_east"},
            "temperature": {".dims": ["lat", "lon"], "units": "degC", "long_name": "surface temperature"},
        },
    },
)

# %%
# Draw the map:
from pictures import sh

sh("ds plot temperature world.ds -o world.png")
