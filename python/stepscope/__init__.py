# SPDX-License-Identifier: Apache-2.0
"""stepscope: one timeline of a training run, and where its time went.

The program does the work; this package tells where it is. `python -m stepscope` runs it."""

import os
import shutil
import sys
import sysconfig

__all__ = ["__version__", "program"]


def _version():
    from importlib import metadata
    try:
        return metadata.version("stepscope")
    except metadata.PackageNotFoundError:
        return "unknown"


__version__ = _version()


def program():
    """Path of the stepscope program that belongs to this package, else the first one on PATH.

    Raises FileNotFoundError when there is none."""
    package = os.path.dirname(os.path.abspath(__file__))
    folders = [sysconfig.get_path("scripts"), os.path.join(sys.prefix, "bin"),
               # pip install --target DIR puts bin beside the package
               os.path.join(os.path.dirname(package), "bin")]
    if hasattr(sysconfig, "get_preferred_scheme"):
        folders.append(sysconfig.get_path("scripts", sysconfig.get_preferred_scheme("user")))
    for folder in folders:
        path = os.path.join(folder, "stepscope")
        if os.access(path, os.X_OK):
            return path
    found = shutil.which("stepscope")
    if found is None:
        raise FileNotFoundError("no stepscope program beside this Python package or on PATH; "
                                "run: pip install --force-reinstall stepscope")
    return found
