# SPDX-License-Identifier: Apache-2.0
"""Names of modules by their paths in a model, as its author wrote it."""

import collections
import os

from .libstepscope import define_name

_WRAPPERS = {"_fsdp_wrapped_module", "_checkpoint_wrapped_module", "_orig_mod"}
_LONGEST = 160  # of a path, in characters


def clean(path):
    """Without the parts that wrappers of modules add."""
    parts = [part for part in path.split(".") if part and part not in _WRAPPERS]
    return ".".join(parts)[:_LONGEST].encode(errors="replace").decode()


def name_of_class(module):
    """Of the outermost module, which has no path. fully_shard derives a class from the program's."""
    name = type(module).__name__
    return name[4:] if name.startswith("FSDP") and len(name) > 4 else name


def define_path(path, module):
    return define_name(clean(path) or name_of_class(module))


def count_in_modules(parameters):
    """How many of these parameters (paths) are in each module and the modules in it."""
    counts = collections.Counter()
    for path in parameters:
        parts = path.split(".")
        counts.update(".".join(parts[:depth]) for depth in range(len(parts)))
    return counts


def module_of(root, parameters, counts):
    """The module of `root` whose parameters these are, by their paths; the modules of the first and
    the last one if they are of several and none has them all and no other. `counts`: of all parameters."""
    owners = list(dict.fromkeys(path.rpartition(".")[0] for path in parameters))
    common = ".".join(os.path.commonprefix([owner.split(".") for owner in owners]))
    if len(owners) == 1 or counts[common] == len(parameters):
        return common or name_of_class(root)
    first, last = (owner or name_of_class(root) for owner in (owners[0], owners[-1]))
    return f"{first} … {last}"
