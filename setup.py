"""The one part that is compiled: native probes, for Linux on x86-64. Where it cannot be built, the rest installs."""

from __future__ import annotations

import platform
import sys

from setuptools import Extension, setup

PROBE = Extension(
    "evo_nabla.target.observers._probe",
    sources=["evo_nabla/target/observers/probe.c"],
    # One file for every CPython from 3.9 on: the worker's interpreter is not the one that installs.
    define_macros=[("Py_LIMITED_API", "0x03090000")],
    py_limited_api=True,
    extra_compile_args=["-std=gnu11", "-O2", "-Wall"],
    optional=True,  # no compiler: the package installs without
)

SUPPORTED = sys.platform == "linux" and platform.machine() == "x86_64"

setup(
    ext_modules=[PROBE] if SUPPORTED else [],
    options={"bdist_wheel": {"py_limited_api": "cp311"}} if SUPPORTED else {},
)
