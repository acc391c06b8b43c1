# SPDX-License-Identifier: Apache-2.0
"""A torch of a few lines, whose modules the hooks enter in every CPython, and calls of all kinds. Prints as JSON what
the program sees of them.

    torch_entries.py"""

import cProfile
import functools
import importlib.machinery
import json
import pstats
import sys
import traceback
import types


def add_module(name, **contents):
    module = sys.modules[name] = types.ModuleType(name)
    vars(module).update(contents)
    return module


class Module:
    _compiled_call_impl = None
    training = True

    def __call__(self, *args, **kwargs):
        if self._compiled_call_impl is not None:
            return self._compiled_call_impl(*args, **kwargs)
        return self._call_impl(*args, **kwargs)

    def _call_impl(self, *args, **kwargs):
        return self.forward(*args, **kwargs)

    def parameters(self):
        return iter(())

    def modules(self):
        return iter((self,))

    def named_modules(self):
        return iter([("", self), *((name, one) for name, one in vars(self).items() if isinstance(one, Module))])


class Tensor:
    _cdata = 0


class Importer:
    """Of that torch: stepscope detects its import."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        return importlib.machinery.ModuleSpec(name, Importer, is_package=True) if name == "torch" else None

    @staticmethod
    def create_module(spec):
        return None

    @staticmethod
    def exec_module(torch):
        vars(torch).update(
            __version__="0.1", Tensor=Tensor, float32=1, int64=2, bool=3,
            is_grad_enabled=functools.partial(bool, 1),
            empty=lambda *_, **__: Tensor(), nn=add_module("torch.nn", Module=Module, Parameter=Tensor),
            _C=add_module("torch._C", _get_tracing_state=lambda: None),
            version=add_module("torch.version", cuda=None))


class Scale(Module):
    def forward(self, x, by=2):
        if x < 0:
            raise KeyError(x)
        return x * by


class Net(Module):
    def __init__(self):
        self.first, self.last = Scale(), Scale()

    def forward(self, x, *, by=3):
        return self.last(self.first(x), by=by)


class Named(Net):
    def __call__(self, x):
        return super().__call__(x)


def main():
    sys.meta_path.insert(0, Importer)
    import torch  # noqa: F401
    import colorsys  # noqa: F401 the hooks are installed by now
    net, files = Net(), []
    numbers = [net(1), net(2, by=5), Named()(3)] + [net(i) for i in range(50)]
    for _ in range(2):
        try:
            net(-1)
        except KeyError as error:
            files = [frame.filename for frame in traceback.extract_tb(error.__traceback__)]
    profile = cProfile.Profile()
    profile.runcall(net, 1)
    print(json.dumps({"sum": sum(numbers), "files": sum(file.startswith("<stepscope") for file in files),
                      "calls": pstats.Stats(profile).total_calls, "version": sys.version_info[:2],
                      "hooked": hasattr(Module.__call__, "__wrapped__")}))


main()
