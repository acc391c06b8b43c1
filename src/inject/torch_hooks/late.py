# SPDX-License-Identifier: Apache-2.0
"""Modules that a program may import after torch, or never: each has a function that installs its
hooks once it is imported."""

import sys

from .guard import attempt

_installers = {}  # by name of a module; an entry is removed by the thread that runs it
_seen = 0         # size of sys.modules at the last scan; two threads may both scan


def when_imported(*names):
    """Decorator of a function that gets the module."""
    def decorate(install):
        global _seen
        _seen = 0
        _installers.update(dict.fromkeys(names, install))
        return install
    return decorate


def scan_modules():
    global _seen
    count = len(sys.modules)
    if count == _seen:
        return  # nothing was imported since the last scan: the most frequent case
    _seen = count
    for name in list(_installers):
        module = sys.modules.get(name)
        if module is None:
            continue
        if getattr(getattr(module, "__spec__", None), "_initializing", False):
            _seen = 0
            continue
        install = _installers.pop(name, None)
        if install is not None:
            attempt(install, module)
