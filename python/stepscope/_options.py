# SPDX-License-Identifier: Apache-2.0
"""The options of a Profiler, read and checked."""

import os


def read_options(given):
    """Those that are not None, as they are used. Raises TypeError or ValueError."""
    return {name: _READ[name](name, value) for name, value in given.items() if value is not None}


def _path(name, value):
    if not isinstance(value, (str, os.PathLike)):
        raise TypeError(f"{name} takes a path, not {value!r}")
    return os.fspath(value)


def _rate(name, value):
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(f"{name} takes samples a second, not {value!r}")
    if not 0.01 <= value <= 100000:
        raise ValueError(f"{name} is {value}: it takes 0.01 to 100,000 samples a second")
    return value


_READ = {"output_path": _path, "trace_file": _path, "rate": _rate}
