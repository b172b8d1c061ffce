"""Arrays of a merged dataset: allocated once, filled part by part."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..base.dtypes import TYPES
from ..datasets import META, Dataset, as_masked
from .constants import Constants
from .merge_plan import MergeInput, MergePart, MergePlan, Way, converted, plan_merge

Read = Callable[[str], Any]
"""Key of a variable of one input → array of shape (count, *shape), with one item for each dataset of the input."""


def assemble(
    inputs: Sequence[MergeInput],
    reads: Iterable[Read],
    dim: str,
    new: str | None = None,
    variables: Collection[str] | None = None,
    jd: bool | None = True,
    stack: Collection[str] = (),
    *,
    masks: bool = False,
) -> Dataset:
    """Merge datasets in memory. Report variables that are not merged, but differ.

    Parameters
    ----------
    inputs : sequence of MergeInput
    reads : iterable of Read
        One for each input.
    dim, new, variables, jd, stack
        See `plan_merge`.
    masks : bool
        Whether merged numbers always become masked arrays with a mask of their shape, even if no value is missing.
    """
    plans, meta = plan_merge(inputs, dim, new, variables, jd, stack)
    filler, constants = Filler(plans, len(inputs)), Constants(plans, inputs, dim)
    for i, read in enumerate(reads):
        filler.add(i, constants.compare(i, read))
    constants.report()
    merged = Dataset(filler.arrays())
    if masks:
        for plan in plans:
            is_string = TYPES[plan.type or "float64"].is_string
            if plan.shape is not None and plan.way is not Way.FIRST and not is_string:
                array = merged[plan.key]
                merged[plan.key] = np.ma.MaskedArray(np.ma.getdata(array), np.ma.getmaskarray(array), copy=False)
    merged[META] = {key: {n: value for n, value in entry.items() if n != ".missing"} for key, entry in meta.items()}
    return merged


class Filler:
    """The arrays of a merged dataset while they are filled, input by input.

    Parameters
    ----------
    plans : iterable of MergePlan
    n_inputs : int
    """

    def __init__(self, plans: Iterable[MergePlan], n_inputs: int):
        self.plans = list(plans)
        self._arrays = [_Array(plan) for plan in self.plans]
        self._parts: list[list[tuple[_Array, MergePart]]] = [[] for _ in range(n_inputs)]
        for array in self._arrays:
            for part in array.plan.parts:
                self._parts[part.input].append((array, part))

    def add(self, i: int, read: Read) -> None:
        """Copy the values of the input `i` into the arrays."""
        for array, part in self._parts[i]:
            array.put(part, read(array.plan.key))

    def arrays(self) -> dict[str, Any]:
        """Return the data of each variable by its key, once all inputs have been added."""
        return {array.plan.key: array.finish() for array in self._arrays}


class _Array:
    """One variable being filled."""

    def __init__(self, plan: MergePlan):
        self.plan = plan
        if plan.shape is None:
            return
        covered = sum(part.n for part in plan.parts)
        is_gappy = plan.way is not Way.FIRST and covered < plan.shape[plan.axis]
        self.target = MergedArray(plan.shape, plan.type, is_gappy)
        self.is_masked = False

    def put(self, part: MergePart, stack: Any) -> None:
        if isinstance(stack, np.ma.MaskedArray):
            self.is_masked = True
            if np.ma.getmask(stack) is np.ma.nomask:
                stack = np.ndarray.view(stack, np.ndarray)  # slicing a plain array is faster
        data = part_values(self.plan, part, stack)
        at = (slice(None),) * self.plan.axis + (slice(part.start, part.start + part.n),)
        if self.plan.way is Way.FIRST:
            at = ()
        self.target.put(at, data)

    def finish(self) -> Any:
        if self.plan.shape is None:
            return None
        values, mask = self.target.values, self.target.mask
        if mask is not None and mask.any():
            return np.ma.MaskedArray(values, mask, copy=False)
        if not self.plan.shape:
            return values[()]
        return as_masked(values) if self.is_masked else values


class MergedArray:
    """An array that is filled part by part.

    Parameters
    ----------
    shape : sequence of int
    type_name : str or None
        Name of the ds type; None means float64.
    is_gappy : bool
        Whether values that are not filled are missing.
    is_blank : bool
        Whether values that are not filled are 0 or empty. False only if all are filled, which takes less time.

    Attributes
    ----------
    values : ndarray
    mask : ndarray of bool or None
        None: no value is missing so far.
    """

    def __init__(self, shape: Sequence[int], type_name: str | None, is_gappy: bool = False, is_blank: bool = True):
        ds_type = TYPES[type_name or "float64"]
        is_blank = is_blank or is_gappy or ds_type.is_string
        self.values = blank(shape, type_name) if is_blank else np.empty(shape, ds_type.code)
        self.mask: NDArray[np.bool_] | None = np.ones(self.values.shape, np.bool_) if is_gappy else None

    def put(self, at: Any, data: Any) -> None:
        """Copy an array or MaskedArray to its position."""
        if data.__class__ is np.ndarray:  # faster than the functions of numpy.ma
            if self.mask is not None:
                self.mask[at] = False
            self.values[at] = data
            return
        mask = np.ma.getmask(data)
        if mask is not np.ma.nomask and self.mask is None and mask.any():
            self.mask = np.zeros(self.values.shape, np.bool_)
        if self.mask is not None:
            self.mask[at] = mask
        self.values[at] = np.ma.getdata(data)


def blank(shape: Sequence[int], type_name: str | None) -> NDArray[Any]:
    """Return an array of a ds type, filled with 0 or empty strings."""
    ds_type = TYPES[type_name or "float64"]
    if ds_type.is_string:
        values = np.empty(shape, object)
        values.fill(b"" if ds_type.name == "str" else "")  # `full` would make each object
        return values
    return np.zeros(shape, ds_type.code)


def part_values(plan: MergePlan, part: MergePart, stack: Any) -> Any:
    """Return the converted values of a part, in the shape that they have in the merged array.

    Parameters
    ----------
    plan : MergePlan
    part : MergePart
    stack : (count, *shape) array or MaskedArray
        The variable in each dataset of the input.
    """
    stack = converted(plan, part, stack)
    if plan.way is Way.FIRST:
        return stack[:1].reshape(plan.shape)
    if plan.way is Way.STACK:
        return stack
    if plan.way is Way.REPEAT:
        return stack.repeat(part.n // len(stack), axis=0)
    return joined(stack, plan.axis)


def joined(stack: Any, axis: int) -> Any:
    """Concatenate the arrays of a stack along an axis.

    Parameters
    ----------
    stack : (count, *shape) array or MaskedArray
    axis : int
        Axis of a single array of the stack.
    """
    if len(stack) == 1:
        return stack[0]
    moved = np.moveaxis(np.ma.getdata(stack), 0, axis)
    shape = (*moved.shape[:axis], len(stack) * stack.shape[axis + 1], *moved.shape[axis + 2 :])
    if np.ma.getmask(stack) is np.ma.nomask:
        return moved.reshape(shape)
    return np.ma.MaskedArray(moved.reshape(shape), np.moveaxis(np.ma.getmaskarray(stack), 0, axis).reshape(shape))
