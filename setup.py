"""The compiled kernels; everything else about the package is in pyproject.toml."""

import os
import platform
import sys
from glob import glob

import numpy as np
from Cython.Build import cythonize
from setuptools import Extension, setup

CHECKED = os.environ.get("DS_FORMAT_CHECKED") == "1"  # bounds checks on, for the tests
POSIX_ONLY = {"files"}  # elsewhere kernels/portable.py takes its place

LINUX_X86 = sys.platform == "linux" and platform.machine() == "x86_64"
FLAGS = ["-O3", *(["-march=x86-64-v2"] if LINUX_X86 else [])] if os.name == "posix" else []  # v2: what NumPy asks for

names = sorted(os.path.splitext(os.path.basename(path))[0] for path in glob("ds_format/kernels/*.pyx"))
kernels = [
    Extension(
        f"ds_format.kernels.{name}",
        [f"ds_format/kernels/{name}.pyx"],
        include_dirs=[np.get_include()],
        define_macros=[("NPY_NO_DEPRECATED_API", "NPY_2_0_API_VERSION"), ("NPY_TARGET_VERSION", "NPY_2_0_API_VERSION")],
        extra_compile_args=FLAGS,
    )
    for name in names
    if os.name == "posix" or name not in POSIX_ONLY
]
directives = {
    "language_level": 3,
    "boundscheck": CHECKED,
    "initializedcheck": CHECKED,
    "wraparound": False,
    "cdivision": True,
    "freethreading_compatible": True,
}
setup(ext_modules=cythonize(kernels, compiler_directives=directives, force=CHECKED))
