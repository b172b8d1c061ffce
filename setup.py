"""The compiled kernels and the manual pages; all else about the package is in pyproject.toml."""

import os
import platform
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
from Cython.Build import cythonize
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

CHECKED = os.environ.get("DS_FORMAT_CHECKED") == "1"  # for the tests: bounds checks, no vector instructions
POSIX = os.name == "posix"
# Elsewhere `portable` does their work, or nobody.
POSIX_ONLY = {"batch", "document_fetch", "files", "ranges", "slabs"}
X86_64_V2 = sys.platform == "linux" and platform.machine() == "x86_64"  # NumPy asks for no less


class Build(build_ext):
    """Builds the kernels, then the manual pages, which the new package makes from its table of commands."""

    def finalize_options(self) -> None:
        """Build several kernels at a time, also where pip asks, which does not pass on options of commands."""
        super().finalize_options()
        self.parallel = self.parallel or True

    def run(self) -> None:
        """Build."""
        super().run()
        pages = Path(self.build_temp, "man1")
        paths = os.pathsep.join(["." if self.inplace else self.build_lib, *filter(None, sys.path)])
        command = [sys.executable, "-B", "-P", "-m", "ds_format.cli.help", pages]
        subprocess.run(command, env={**os.environ, "PYTHONPATH": paths}, check=True)
        self.distribution.data_files = [("share/man/man1", sorted(map(str, pages.glob("*.1"))))]


def standalone(text: str) -> str:
    """Return README.md for an index of packages, where no file of the project is next to it.

    The project has no address yet, so relative links lead nowhere: their words stay, and the picture goes.
    """
    text = re.sub(r"!\[[^]]*\]\((?!https?:)[^)]*\)\n+", "", text)
    return re.sub(r"\[([^]]*)\]\((?!https?:)[^)]*\)", r"\1", text)


kernels = [path for path in sorted(Path("ds_format/kernels").rglob("*.pyx")) if POSIX or path.stem not in POSIX_ONLY]
shared = Path("ds_format/kernels/_cython.c")  # what Cython would repeat in each kernel: it is generated here, once
extensions = [
    Extension(
        ".".join(path.with_suffix("").parts),
        [path.as_posix()],
        include_dirs=[np.get_include()],
        define_macros=[(f"NPY_{which}", "NPY_2_0_API_VERSION") for which in ("NO_DEPRECATED_API", "TARGET_VERSION")]
        + [("DS_FORMAT_PLAIN", None)] * CHECKED,
        extra_compile_args=(["-O3", "-g0"] if POSIX else []) + (["-march=x86-64-v2"] if X86_64_V2 else []),
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
