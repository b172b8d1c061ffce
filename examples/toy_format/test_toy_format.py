"""Toy files keep the contract of all formats."""

from __future__ import annotations

from typing import Any

import numpy as np
from toy_format import FORMAT

from ds_format.datasets import attrs
from ds_format.drivers.sink import count_payloads
from ds_format.testing import FormatContract, Loss, Passage, variables


class TestToyFormat(FormatContract):
    format = FORMAT

    def passage(self, dataset: dict[str, Any]) -> Passage:
        """Predict what becomes of a dataset that is written to a file."""
        passage = super().passage(dataset)
        if attrs(dataset["."]["."]):
            passage.errors.append(Loss(None, "has attributes"))
        for key, name, array, entry in variables(dataset):
            passage.dataset["."][key] = {".dims": ["i"]}
            if attrs(entry) or entry.get(".time"):
                passage.errors.append(Loss(name, "has attributes"))
            elif array is None or array.ndim != 1:
                passage.errors.append(Loss(name, "does not have one dimension"))
            elif array.dtype.str[1:] != "f8" or entry.get(".dims", ["i"]) != ["i"]:
                passage.errors.append(Loss(name, "is not float64 along i"))
            elif np.ma.is_masked(array) or count_payloads(array):
                passage.errors.append(Loss(name, "missing values, or NaN"))
            elif name.splitlines() != [name]:
                passage.errors.append(Loss(name, "is not one line"))
        return passage
