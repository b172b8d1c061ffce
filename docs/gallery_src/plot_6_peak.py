"""
A million values
================

Of a long line each stretch keeps its least and its greatest value, so that no peak is lost.
"""

# %%
# Noise, and one value that stands out:
import numpy as np

import ds_format as ds

noise = np.random.default_rng(1).normal(size=1_000_000).astype("f4")
noise[654_321] = 25
ds.write("noise.ds", {"signal": noise, ".": {"signal": {".dims": ["sample"], "units": "mV"}}})

# %%
# All of them are read, in blocks:
from pictures import sh

sh("ds plot signal noise.ds -o noise.png")
