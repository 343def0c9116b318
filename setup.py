"""Builds native/ into one library without a Python ABI, so that one wheel serves every Python.

Without a C++17 compiler, on Windows (the flags are GCC's and Clang's), or with OPENSET_NO_NATIVE=1,
openset installs as pure Python: slower, and with the same numbers.
"""

import os
import sys
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_ext import build_ext
from setuptools.errors import CompileError, LinkError

COMPILE = ["-std=c++17", "-O3", "-fPIC", "-pthread", "-fvisibility=hidden", "-g0"]
COMPILE += ["-ffp-contract=off"]  # a fused multiply-add rounds once instead of twice
LINK = ["-pthread"]
LINK_STATIC = ["-static-libstdc++", "-static-libgcc"]  # runs where the C++ runtime is older


class BuildLibrary(build_ext):
    def get_ext_filename(self, fullname):
        return str(Path(*fullname.split(".")).with_suffix(".so"))

    def build_extension(self, ext):
        if sys.platform != "linux":
            super().build_extension(ext)
            return
        ext.extra_link_args = LINK + LINK_STATIC
        try:
            super().build_extension(ext)
        except (CompileError, LinkError):
            ext.extra_link_args = LINK
            super().build_extension(ext)


class AnyPythonWheel(bdist_wheel):
    def get_tag(self):
        tag = super().get_tag()
        return tag if self.root_is_pure else ("py3", "none", tag[2])


native = Extension(
    "openset.kernels._native",
    sources=["native/capi.cpp"],
    depends=sorted(str(path) for path in Path("native").glob("*.hpp")),
    extra_compile_args=COMPILE,
    extra_link_args=LINK,
    language="c++",
    optional=True,
)

pure = sys.platform == "win32" or bool(os.environ.get("OPENSET_NO_NATIVE"))
setup(
    ext_modules=[] if pure else [native],
    cmdclass={"build_ext": BuildLibrary, "bdist_wheel": AnyPythonWheel},
)
