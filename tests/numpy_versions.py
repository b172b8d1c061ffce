"""What tests need of NumPy 2: StringDType, and how it prints scalars. The oldest NumPy that we support has neither."""

from __future__ import annotations

import numpy as np
import pytest

NUMPY_2 = hasattr(np.dtypes, "StringDType")
needs_numpy_2 = pytest.mark.skipif(not NUMPY_2, reason="needs NumPy 2")
