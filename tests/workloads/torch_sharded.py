# SPDX-License-Identifier: Apache-2.0
"""Two forked ranks with gloo that train models of DistributedDataParallel, FullyShardedDataParallel and
fully_shard, one after the other, in the shapes that public programs have. The parameters of each begin
with its name. Rank 0 prints a line of JSON for each: its buckets, as torch's logger has them.

    torch_sharded.py FILE [NAME …]"""

import contextlib
import json
import os
import sys

import torch
import torch._dynamo  # an optimizer wants it: once for both
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

WIDTH, STEPS, BUCKET_MB = 64, 4, 0.04


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.fc = nn.Linear(width, 2 * width)
        self.proj = nn.Linear(2 * width, width)

    def forward(self, x):
        return x + self.proj(torch.relu(self.fc(x)))


class Stack(nn.Module):
    """Embedding, blocks, head; `unused` is in no forward."""

    def __init__(self, width, blocks, has_unused):
        super().__init__()
        self.embed = nn.Linear(16, width)
        self.layers = nn.ModuleList([Block(width) for _ in range(blocks)])
        self.head = nn.Linear(width, 1)
        self.unused = nn.Linear(3, 5) if has_unused else None

    def forward(self, x):
        x = self.embed(x)
        for layer in self.layers:
            x = layer(x)
        return self.head(x)


class Model(nn.Module):
    """Has a stack under its own name."""

    def __init__(self, name, width=WIDTH, blocks=3, has_unused=False):
        super().__init__()
        self.add_module(name, Stack(width, blocks, has_unused))

    def forward(self, x):
        for stack in self.children():
            x = stack(x)
        return x

    @property
    def stack(self):
        return next(self.children())


def parallel(name, has_unused=False, width=WIDTH, bucket_cap_mb=BUCKET_MB, **options):
    return DistributedDataParallel(Model(name, width, has_unused=has_unused),
                                   bucket_cap_mb=bucket_cap_mb, **options)


def steps(net, call=None, micro_steps=1, sync=lambda is_last: contextlib.nullcontext()):
    optimizer, call = torch.optim.SGD(net.parameters(), 1e-4), net if call is None else call
    for _ in range(STEPS):
        for micro_step in range(micro_steps):
            with sync(micro_step == micro_steps - 1):
                call(torch.ones(2, 16)).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
    return net


# --- shapes ---------------------------------------------------------------------------------------

def plain():
    return steps(parallel("plain"))


def views():
    return steps(parallel("views", gradient_as_bucket_view=True))


def static():
    return steps(parallel("static", static_graph=True))


def unused():
    return steps(parallel("unused", has_unused=True, find_unused_parameters=True))


def toggled():
    """nanoGPT's accumulation of gradients."""
    net = parallel("toggled")

    @contextlib.contextmanager
    def sync(is_last):
        net.require_backward_grad_sync = is_last
        yield
    return steps(net, micro_steps=3, sync=sync)


def accumulated():
    net = parallel("accumulated")
    return steps(net, micro_steps=3,
                 sync=lambda is_last: contextlib.nullcontext() if is_last else net.no_sync())


def compiled():
    net = parallel("compiled", bucket_cap_mb=1)  # torch.compile refuses less
    return steps(net, torch.compile(net, backend="eager"))


def hooked():
    """A communication hook of the program."""
    def communicate(group, bucket):
        work = dist.all_reduce(bucket.buffer(), async_op=True)
        return work.get_future().then(lambda done: done.value()[0].div_(2))
    net = parallel("hooked")
    net.register_comm_hook(None, communicate)
    return steps(net)


def compressed():
    net = parallel("compressed")
    net._register_builtin_comm_hook(dist.BuiltinCommHookType.FP16_COMPRESS)
    return steps(net)


def two():
    """Two models whose gradients are ready in one backward."""
    one, other = parallel("one"), parallel("other", width=32)
    for _ in range(STEPS):
        (one(torch.ones(2, 16)) + other(torch.ones(2, 16))).sum().backward()
    return one


def twins():
    """Two models of which the sizes do not say which one started an all-reduce."""
    one, other = parallel("twin_a"), parallel("twin_b")
    for _ in range(STEPS):
        (one(torch.ones(2, 16)) + other(torch.ones(2, 16))).sum().backward()
    return one


def fsdp1():
    from torch.distributed.fsdp import FullyShardedDataParallel
    from torch.distributed.fsdp.wrap import ModuleWrapPolicy
    return steps(FullyShardedDataParallel(Model("fsdp1"), auto_wrap_policy=ModuleWrapPolicy({Block}),
                                          device_id=torch.device("cpu")))


def checkpointed():
    """PyTorch's example of T5: blocks are wrapped by checkpoints and shards."""
    from torch.distributed.algorithms._checkpoint.checkpoint_wrapper import checkpoint_wrapper
    from torch.distributed.fsdp import FullyShardedDataParallel
    from torch.distributed.fsdp.wrap import ModuleWrapPolicy
    model = Model("checkpointed")
    layers = model.stack.layers
    for index, layer in enumerate(layers):
        layers[index] = checkpoint_wrapper(layer)
    return steps(FullyShardedDataParallel(model, auto_wrap_policy=ModuleWrapPolicy({Block}),
                                          device_id=torch.device("cpu"), use_orig_params=True))


def fsdp2():
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard
    mesh, model = init_device_mesh("cpu", (2,)), Model("fsdp2")
    for layer in model.stack.layers:
        fully_shard(layer, mesh=mesh)
    return steps(fully_shard(model, mesh=mesh))


def zero(name="zero", **options):
    """DeepSpeed's first stage as torch has it: the state of the optimizer is sharded, and parameters are
    broadcast by the rank that has updated them."""
    from torch.distributed.optim import ZeroRedundancyOptimizer
    net = Model(name)
    optimizer = ZeroRedundancyOptimizer(net.parameters(), torch.optim.SGD, lr=1e-4, **options)
    for _ in range(STEPS):
        net(torch.ones(2, 16)).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
    return net


def zero_views():
    """Parameters lie one behind the other in a buffer for each rank."""
    return zero("zero_views", parameters_as_bucket_view=True)


def own(name="own", is_flat=False):
    """Gradients that the program averages itself."""
    net = Model(name)
    optimizer = torch.optim.SGD(net.parameters(), 1e-4)
    for _ in range(STEPS):
        net(torch.ones(2, 16)).sum().backward()
        gradients = [one.grad for one in net.parameters()]
        if is_flat:
            flat = torch._utils._flatten_dense_tensors(gradients)
            dist.all_reduce(flat)
        else:
            for one in gradients:
                dist.all_reduce(one)
        optimizer.step()
        optimizer.zero_grad()
    return net


def own_flat():
    return own("own_flat", True)


SHAPES = (plain, views, static, unused, toggled, accumulated, compiled, hooked, compressed, two,
          twins, fsdp1, checkpointed, fsdp2, zero, zero_views, own, own_flat)


def train(names, **place):
    dist.init_process_group("gloo", **place)
    for shape in SHAPES:
        if names and shape.__name__ not in names:
            continue
        net = shape()
        said = {"shape": shape.__name__, "names": [name for name, _ in net.named_parameters()]}
        if isinstance(net, DistributedDataParallel):
            data = net._get_ddp_logging_data()
            said.update(first=data["bucket_sizes"], sizes=data.get("rebuilt_bucket_sizes"),
                        indices=data.get("rebuilt_per_bucket_param_indices"))
        if dist.get_rank() == 0:
            os.write(1, (json.dumps(said) + "\n").encode())
        dist.barrier()
    os._exit(0)  # taken apart, a group can wait for ever for the GIL that it holds


torch.set_num_threads(1)
children = []
for rank in range(2):
    child = os.fork()
    if child == 0:
        try:
            train(sys.argv[2:], init_method="file://" + sys.argv[1], rank=rank, world_size=2)
        finally:
            sys.excepthook(*sys.exc_info())
            os._exit(1)
    children.append(child)
sys.exit(max(os.waitpid(child, 0)[1] for child in children) != 0)
