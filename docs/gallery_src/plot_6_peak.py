"""
A million values
================

A long line is reduced to the minimum and maximum of each interval, so no peak is lost.
"""

# %%
# Make up noise with one large value:
import numpy as np

import ds_format as ds

noise = np.random.default_rng(1).normal(size=1_000_000).astype("f4")
noise[654_321] = 25
ds.write("noise.ds", {"signal": noise, ".": {"signal": {".dims": ["sample"], "units": "mV"}}})

# %%
# All values are read, in blocks:
from pictures import sh

sh("ds plot signal noise.ds -o noise.png")
