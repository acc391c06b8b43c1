# SPDX-License-Identifier: Apache-2.0
"""Recorded inputs: ranks whose parameters or gradients are spread over them, and ranks of Gloo."""

from recording import Input

INPUTS = {}
COLLECTIVES_ONLY = "-r", 0.1, "--host-interval", 60, "--operators", "collectives"


# --- test_sharded: the bucket of gradients, or the module, of each collective ----------------------

INPUTS["sharded_shapes"] = Input(program=("torch_sharded.py", "{run}/store"),
                                 options=(*COLLECTIVES_ONLY, "--module-depth", -1),
                                 env={"GLOO_SOCKET_IFNAME": "lo"})
INPUTS["sharded_fsdp"] = Input(program=("torch_sharded_ranks.py",), ranks=2, options=COLLECTIVES_ONLY)


# --- test_ranks: four ranks of Gloo, of which rank 1 is slow ---------------------------------------

INPUTS["ranks_gloo"] = Input(program=("torch_slow_rank.py",), ranks=4, options=COLLECTIVES_ONLY)


# --- test_scaling: one training on one, two and four ranks -----------------------------------------

TRAINING = """\
import torch
import torch.distributed as dist
torch.set_num_threads(1)
torch.manual_seed(0)
dist.init_process_group("gloo")
ranks = dist.get_world_size()
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Sequential(
    torch.nn.Linear(256, 256), torch.nn.ReLU(), torch.nn.Linear(256, 10)))
optimizer = torch.optim.SGD(model.parameters(), lr=.1)
data = torch.utils.data.TensorDataset(torch.randn(64 // ranks * 25, 256),
                                      torch.randint(10, (64 // ranks * 25,)))
for x, y in torch.utils.data.DataLoader(data, batch_size=64 // ranks):
    optimizer.zero_grad()
    torch.nn.functional.cross_entropy(model(x), y).backward()
    optimizer.step()
dist.destroy_process_group()
"""
for _ranks in 1, 2, 4:
    INPUTS[f"scaling_{_ranks}"] = Input(code=TRAINING, ranks=_ranks,
                                        options=("-r", 0.5, "--host-interval", 60, "--operators", "collectives"))
