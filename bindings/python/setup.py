# SPDX-License-Identifier: BSD-2-Clause
"""Builds the extension with librl's own sources in it, so that nothing needs to be installed but a C compiler.

The sdist has those sources in vendor/: `make sdist-python` makes it. What is built so shares segments with
every other program of the same layout, and is refused by name (RL_EVERSION) by one of another.
"""

import glob
import os
import re
import shutil
import sys
import sysconfig

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.command.sdist import sdist

HERE = os.path.dirname(os.path.abspath(__file__))
VENDOR = os.path.join(HERE, "vendor")
TOP = VENDOR if os.path.isdir(VENDOR) else os.path.dirname(os.path.dirname(HERE))
FREE_THREADED = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))


def version():
    """That of librl: said once, in its Makefile."""
    path = os.path.join(TOP, "VERSION")
    if os.path.exists(path):
        with open(path, encoding="ascii") as file:
            return file.read().strip()
    with open(os.path.join(TOP, "Makefile"), encoding="utf-8") as file:
        return re.search(r"^VERSION\s*:=\s*(\S+)", file.read(), re.M).group(1)


class SourceDistribution(sdist):
    """With librl's sources, headers and license."""

    def make_release_tree(self, base_dir, files):
        super().make_release_tree(base_dir, files)
        shutil.rmtree(os.path.join(base_dir, "tests"), ignore_errors=True)  # which later setuptools take along
        vendor = os.path.join(base_dir, "vendor")
        for folder in ("libshm", "include", "bindings/common"):
            shutil.copytree(
                os.path.join(TOP, folder), os.path.join(vendor, folder), dirs_exist_ok=True,
                ignore=shutil.ignore_patterns("tests"),
            )  # fmt: skip
        for folder in ("src", "rl"):
            shutil.copytree(
                os.path.join(HERE, folder), os.path.join(base_dir, folder), dirs_exist_ok=True,
                ignore=shutil.ignore_patterns("__pycache__", "*.so"),
            )  # fmt: skip
        shutil.copy(os.path.join(TOP, "LICENSE"), os.path.join(base_dir, "LICENSE"))
        shutil.copy(os.path.join(TOP, "LICENSE"), os.path.join(vendor, "LICENSE"))
        with open(os.path.join(vendor, "VERSION"), "w", encoding="ascii") as file:
            file.write(version() + "\n")


class BuildExtension(build_ext):
    """From the sdist alone: what is built in a repository would leave its objects between the sources."""

    def run(self):
        if not os.path.isdir(VENDOR):
            raise SystemExit("rl: make sdist-python, and build that; or make build-python")
        super().run()


def relative(pattern):
    return sorted(os.path.relpath(path, HERE) for path in glob.glob(pattern))


macros = [("_GNU_SOURCE", None), ("RL_ATOMIC_C11", None), ("RL_VERSION", f'"{version()}"')]
if not FREE_THREADED:
    macros.append(("Py_LIMITED_API", "0x030B0000"))
flags = ["-std=c11", "-fvisibility=hidden"] + (["-mcx16"] if sysconfig.get_platform().endswith("x86_64") else [])
setup(
    version=version(),
    cmdclass={"sdist": SourceDistribution, "build_ext": BuildExtension},
    ext_modules=[]  # where nothing else runs, rl/_off.py stands for it
    if sys.platform != "linux"
    else [
        Extension(
            "rl._rl",
            relative(os.path.join(HERE, "src", "*.c"))
            + relative(os.path.join(TOP, "bindings", "common", "*.c"))
            + relative(os.path.join(TOP, "libshm", "*", "*.c")),
            include_dirs=[
                os.path.relpath(os.path.join(TOP, folder), HERE) for folder in ("include", "libshm", "bindings/common")
            ],
            define_macros=macros,
            extra_compile_args=flags,
            py_limited_api=not FREE_THREADED,
        )
    ],
    options={} if FREE_THREADED else {"bdist_wheel": {"py_limited_api": "cp311"}},
)
