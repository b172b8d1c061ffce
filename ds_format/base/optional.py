"""Imports of optional libraries and compiled kernels, and the errors if they are missing."""

from __future__ import annotations

import importlib
import os
from typing import Any

from ..errors import DriverError
from . import PACKAGE


def library(name: str, install: str, use: str = "") -> Any:
    """Return a module of an optional library.

    Parameters
    ----------
    name : str
        Name of the module to import.
    install : str
        The package to install with pip: `ds-format-cython[extra]`, or the library itself if no extra has it.
    use : str, optional
        The feature that needs the library, for the message.

    Raises
    ------
    DriverError
        If it cannot be imported; see `unavailable`.

    Examples
    --------
    >>> from ds_format.base.optional import library
    >>> library("json", "json").dumps([1])
    '[1]'
    """
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise unavailable(error, name, install, use) from error


def string_dtype(use: str) -> Any:
    """Return the class `numpy.dtypes.StringDType`, which NumPy 1 does not have.

    Parameters
    ----------
    use : str
        The feature that needs it, for the message.

    Raises
    ------
    DriverError
        If NumPy does not have it.
    """
    numpy = library("numpy", "numpy")
    if not hasattr(numpy.dtypes, "StringDType"):
        raise DriverError(f"{use} needs NumPy 2, found NumPy {numpy.__version__}: pip install 'numpy>=2'")
    return numpy.dtypes.StringDType


def unavailable(error: ImportError, name: str, install: str, use: str = "") -> DriverError | ImportError:
    """Return the error to raise if a library, or a module of this package that imports it, cannot be imported.

    If the library is not installed, the message has the command that installs it. If it is installed but cannot be
    imported, the message has the reason, since installing it again may not help.

    Parameters
    ----------
    error : ImportError
    name : str
        Name of the library.
    install : str
        The package to install with pip.
    use : str, optional
        The feature that needs the library.

    Returns
    -------
    DriverError or ImportError
        An ImportError if the missing or broken module belongs to this package.
    """
    missing = error.name or name
    if missing.partition(".")[0] == PACKAGE:
        return not_compiled(missing) or ImportError(*error.args, name=error.name, path=error.path)
    if isinstance(error, ModuleNotFoundError):
        what = f"cannot import {missing}: pip install '{install}'"
    else:
        what = f"cannot import {missing}, which is installed: {error}"
    return DriverError(f"{use}: {what}" if use else what)


def not_compiled(name: str | None) -> ImportError | None:
    """Return the error to raise if the module that cannot be imported is a kernel, else None.

    A kernel is missing if Python runs in a clone without compiled kernels. Python then imports the sources of the
    clone, even if the package is installed elsewhere.
    """
    if name is None or not name.startswith(f"{PACKAGE}.kernels."):
        return None
    clone = os.path.abspath(os.path.join(os.path.dirname(__file__), *[os.pardir] * 2))
    what = f"{name} is not compiled in {clone}"
    return ImportError(f"{what}: run `pip install -e .` in this folder, or run Python in another one", name=name)
