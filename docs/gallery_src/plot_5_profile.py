"""
Depth
=====

An axis with the CF attribute ``positive: down`` is drawn downward.
"""

# %%
# Make up a year of temperatures below the surface of a lake:
import numpy as np

import ds_format as ds

day, depth = np.arange(0.0, 365, 5), np.arange(0.0, 40, 1)
season = 1 - np.cos(2 * np.pi * (day - 30) / 365)
temperature = 4 + 9 * season[:, np.newaxis] * np.exp(-((depth / 12) ** 2))
ds.write(
    "lake.ds",
    {
        "time": day,
        "depth": depth,
        "temperature": temperature,
        ".": {
            "time": {".dims": ["time"], "units": "days since 2026-01-01"},
            "depth": {".dims": ["depth"], "units": "m", "positive": "down"},
            "temperature": {".dims": ["depth", "time"][::-1], "units": "degC", "long_name": "water temperature"},
        },
    },
)

# %%
# Draw a section:
from pictures import sh

sh("ds plot temperature lake.ds -o section.png")

# %%
# Draw a profile at the day nearest to a date:
sh("ds plot temperature lake.ds at: { time: 2026-08-01 } -o profile.png")
