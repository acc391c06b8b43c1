# SPDX-License-Identifier: Apache-2.0
"""A recipe for Spack, which builds the checkout that it lies in: spack repo add packaging/spack; spack install stepscope"""

import pathlib

from spack.package import *


class Stepscope(CMakePackage):
    """Profiler for deep-learning and scientific-AI training: one timeline with every layer of a training step, for
    every rank, on one clock."""

    git = pathlib.Path(__file__).resolve().parents[4].as_uri()

    license("Apache-2.0")

    version("main", branch="main")

    variant("view", default=True, description="The local server of `stepscope view`")
    variant("python", default=True, description="The annotations and the reader for Python")

    depends_on("c", type="build")
    depends_on("cmake@3.22:", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("zlib-api")
    depends_on("elfutils")
    depends_on("jansson")
    depends_on("libarchive compression=bz2lib,lzma,zstd,zlib")
    depends_on("sqlite")
    depends_on("util-linux")
    depends_on("uthash", type="build")
    depends_on("libmicrohttpd", when="+view")
    depends_on("python@3.8:", type=("build", "run"), when="+python")

    def cmake_args(self):
        return [self.define("STEPSCOPE_TESTS", False), self.define_from_variant("STEPSCOPE_PYTHON", "python")]
