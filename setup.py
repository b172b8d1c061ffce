"""The compiled kernels. Everything else about the package is in pyproject.toml."""

import os
import re
import shlex
import sysconfig
from pathlib import Path

import numpy as np
from Cython.Build import cythonize
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

CHECKED = os.environ.get("DS_FORMAT_CHECKED") == "1"  # for the tests: bounds checks, no vector instructions
POSIX = os.name == "posix"
# Elsewhere `portable` does their work, or nobody.
POSIX_ONLY = {"batch", "document_fetch", "files", "member", "ranges", "slabs"}
# Of the platform that is compiled for, which is another one when cross-compiling. Newer NumPys require this processor.
MARCH = os.environ.get("DS_FORMAT_MARCH", "x86-64-v2" if sysconfig.get_platform() == "linux-x86_64" else "")
# The oldest NumPy that a kernel can be imported with. It is compiled with the headers of a newer one.
NUMPY = {"numpy_strings": "NPY_2_0_API_VERSION"}
OLDEST_NUMPY = "NPY_1_25_API_VERSION"  # that of NumPy 1.26, too


class Build(build_ext):
    """Builds several kernels at a time."""

    def finalize_options(self) -> None:
        """Set the number of processes, which pip has no option for."""
        super().finalize_options()
        self.parallel = self.parallel or True


def standalone(text: str) -> str:
    """Return README.md for an index of packages, where no file of the project is next to it.

    The project has no address yet, so relative links lead nowhere: their words stay, and the picture goes.
    """
    text = re.sub(r"!\[[^]]*\]\((?!https?:)[^)]*\)\n+", "", text)
    return re.sub(r"\[([^]]*)\]\((?!https?:)[^)]*\)", r"\1", text)


kernels = [path for path in sorted(Path("ds_format/kernels").rglob("*.pyx")) if POSIX or path.stem not in POSIX_ONLY]
shared = Path("ds_format/kernels/_cython.c")  # what Cython would repeat in each kernel: it is generated here, once
flags = (["-O3", "-g0"] if POSIX else []) + ([f"-march={MARCH}"] if MARCH else [])
flags += shlex.split(os.environ.get("CFLAGS", ""))  # setuptools passes these before ours, and the last one counts
extensions = [
    Extension(
        ".".join(path.with_suffix("").parts),
        [path.as_posix()],
        include_dirs=[np.get_include()],
        define_macros=[
            ("NPY_NO_DEPRECATED_API", "NPY_2_0_API_VERSION"),
            ("NPY_TARGET_VERSION", NUMPY.get(path.stem, OLDEST_NUMPY)),
            *[("DS_FORMAT_PLAIN", None)] * CHECKED,
        ],
        extra_compile_args=flags,
    )
    for path in [*kernels, shared]
]
checks = {"boundscheck": CHECKED, "initializedcheck": CHECKED, "wraparound": False, "cdivision": True}
modules = {"language_level": 3, "freethreading_compatible": True, "auto_pickle": False, "autotestdict": False}
options = {"compiler_directives": checks | modules, "shared_utility_qualified_name": extensions[-1].name}
setup(
    cmdclass={"build_ext": Build},
    ext_modules=cythonize(extensions, force=CHECKED, **options),
    long_description=standalone(Path("README.md").read_text(encoding="utf-8")),
    long_description_content_type="text/markdown",
)
