# SPDX-License-Identifier: Apache-2.0
"""FullyShardedDataParallel and fully_shard: the module whose parameters an all-gather transfers, and
whose gradients a reduce-scatter (and an all-reduce over replicas)."""

import weakref

from .guard import around, callback, replace, with_result
from .late import when_imported
from .libstepscope import define_name, set_collective_module
from .paths import define_path, name_of_class


class _Reference(weakref.ref):
    __slots__ = ("number",)


_names = {}       # of the modules of flat parameters and of groups of parameters, by id
_references = {}  # to these, by id


def _forget(reference):
    """Before Python reuses the address."""
    _references.pop(reference.number, None)
    _names.pop(reference.number, None)


_forget_guarded = callback(_forget, "deleted parameters")


def _set_name(owner, name):
    reference = _Reference(owner, _forget_guarded)
    reference.number = id(owner)
    _references[reference.number] = reference
    _names[reference.number] = name


def _within(index, name_of):
    """A decorator: what the call transfers belongs to the module of one of its arguments."""
    def begin(args, kwargs):
        name = _names.get(id(args[index]))
        return set_collective_module(name_of(args[index]) if name is None else name)
    return around(begin, set_collective_module)


# --- FullyShardedDataParallel ---------------------------------------------------------------------

def _name_of_handle(handle):
    """No outermost module has named it."""
    module = getattr(handle, "_fully_sharded_module", None)
    name = define_name(name_of_class(module)) if module is not None else 0
    _set_name(handle, name)
    return name


def _handles_of(module):
    one = getattr(module, "_handle", None)
    return [one] if one is not None else getattr(module, "_handles", None) or ()


def _observe_root(args, result):
    """The outermost module has found the others."""
    root = args[1]
    for path, module in root.named_modules():
        if hasattr(module, "_fsdp_wrapped_module"):
            for handle in _handles_of(module):
                _set_name(handle, define_path(path, handle._fully_sharded_module))


@when_imported("torch.distributed.fsdp._flat_param", "torch.distributed.fsdp.flat_param")
def hook_flat_parameters(module):
    replace(module.FlatParamHandle, "_all_gather_flat_param", _within(0, _name_of_handle))


@when_imported("torch.distributed.fsdp._runtime_utils")
def hook_sharded(module):
    replace(module, "_share_state_and_init_handle_attrs", with_result(_observe_root))
    reductions = [name for name in ("_reduce_grad", "_reduce_grad_no_shard")
                  if hasattr(module, name)]
    for name in reductions or ["_post_backward_hook"]:  # an earlier torch reduces in it
        replace(module, name, _within(1, _name_of_handle))


# --- fully_shard ----------------------------------------------------------------------------------

def _name_of_group(group):
    path = getattr(group, "_module_fqn", None)
    modules = getattr(group, "modules", None) or (getattr(group, "module", None),)
    name = define_path(path or "", modules[0])
    if path is not None:  # else the outermost module has not named it yet
        _set_name(group, name)
    return name


@when_imported("torch.distributed.fsdp._fully_shard._fsdp_param_group",
               "torch.distributed._composable.fsdp._fsdp_param_group")
def hook_fully_shard(module):
    for name in ("unshard", "post_backward"):
        replace(module.FSDPParamGroup, name, _within(0, _name_of_group))
