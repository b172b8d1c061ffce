"""
Gaps in a time series
=====================

Missing values are left blank.
"""

# %%
# Make up a tide gauge that failed twice:
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
# Draw the whole series:
from pictures import sh

sh("ds plot level tide.ds -o tide.png")

# %%
# Draw three days, between two dates:
sh("ds plot level tide.ds between: { time: { 2026-03-02 2026-03-05 } } -o days.png")
