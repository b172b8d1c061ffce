"""
Gaps in a time series
=====================

What is missing stays blank.
"""

# %%
# A gauge of tides that failed twice:
import numpy as np

import ds_format as ds

hours = np.arange(24.0 * 10)
level = 1.5 * np.sin(2 * np.pi * hours / 12.42) + 0.4 * np.sin(2 * np.pi * hours / 300)
failed = ((hours > 60) & (hours < 85)) | ((hours > 170) & (hours < 178))
ds.write(
    "tide.ds",
    {
        "time": hours,
        "level": np.ma.array(level, mask=failed),
        ".": {
            "time": {".dims": ["time"], "units": "hours since 2026-03-01"},
            "level": {".dims": ["time"], "units": "m", "long_name": "sea level"},
        },
    },
)

# %%
# All of it:
from pictures import sh

sh("ds plot level tide.ds -o tide.png")

# %%
# Three days of it, between two dates:
sh("ds plot level tide.ds between: { time: { 2026-03-02 2026-03-05 } } -o days.png")
