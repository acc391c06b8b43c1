# SPDX-License-Identifier: Apache-2.0
"""Loads the hooks from the texts that libstepscope contains (src/inject/torch/torch.c).

The files of this folder import each other as in a package, and libstepscope's functions
from `.libstepscope`. No file of ours is needed in the recorded program's Python, and nothing of
ours gets into its sys.modules: the import statements of these files use the function below instead
of the interpreter's. Python 3.8 and later."""

import builtins
import types

modules = {}  # by name; also the functions of libstepscope, and this file
_package = types.ModuleType("_stepscope_torch")  # has the modules as attributes
_builtins = {}  # the interpreter's builtins, except for __import__


def _make_module(name):
    """An empty module whose import statements call `import_name` below. It has no __name__, by which
    torch.compile would import it."""
    module = modules[name] = types.ModuleType("_stepscope_torch." + name)
    del module.__name__
    vars(module)["__builtins__"] = _builtins
    setattr(_package, name, module)
    return module


def load(texts, functions):
    """Installs all hooks. `texts`: by name of a file. Returns the function that applies the settings
    of another recording."""
    vars(_make_module("libstepscope")).update(functions)
    vars(_make_module("loader"))["modules"] = modules

    def load_file(name):
        if name not in modules:
            code = compile(texts[name], f"<stepscope torch.{name}>", "exec", dont_inherit=True)
            exec(code, vars(_make_module(name)))
        return modules[name]

    def import_name(name, global_names=None, local_names=None, requested=(), level=0):
        """The __import__ of the files."""
        if level == 0:
            return builtins.__import__(name, global_names, local_names, requested, level)
        if name:
            return load_file(name)  # from .name import …
        for one in requested:
            load_file(one)          # from . import …
        return _package

    _builtins.update(vars(builtins), __import__=import_name)
    return load_file("install").configure
