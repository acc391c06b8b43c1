# SPDX-License-Identifier: Apache-2.0
"""A training under torchrun whose parameters are sharded over the ranks, with gloo: the layers and the
model, by fully_shard, then by FullyShardedDataParallel. The last rank has sequences of three times the
length."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import FullyShardedDataParallel, fully_shard

STEPS, LAYERS, EXAMPLES, TOKENS = 8, 2, 2, 16


def shard(model, kind):
    if kind == "fully_shard":
        mesh = dist.device_mesh.init_device_mesh("cpu", (dist.get_world_size(),))
        for layer in model.layers:
            fully_shard(layer, mesh=mesh)
        return fully_shard(model, mesh=mesh)
    for i, layer in enumerate(model.layers):
        model.layers[i] = FullyShardedDataParallel(layer, device_id=torch.device("cpu"))
    return FullyShardedDataParallel(model, device_id=torch.device("cpu"))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding, self.head = nn.Embedding(100, 32), nn.Linear(32, 100)
        self.layers = nn.ModuleList(nn.Sequential(nn.Linear(32, 64), nn.GELU(), nn.Linear(64, 32))
                                    for _ in range(LAYERS))

    def forward(self, tokens):
        values = self.embedding(tokens)
        for layer in self.layers:
            values = values + layer(values)
        return self.head(values)


def train(kind):
    is_last = dist.get_rank() == dist.get_world_size() - 1
    model = shard(Model(), kind)
    optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
    for _ in range(STEPS):
        tokens = torch.randint(0, 100, (EXAMPLES, TOKENS * (3 if is_last else 1)))
        loss = nn.functional.cross_entropy(model(tokens).flatten(0, 1), tokens.flatten())
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()


torch.set_num_threads(1)
torch.manual_seed(0)
dist.init_process_group("gloo")
train("fully_shard")
train("wrapper")
dist.barrier()
os._exit(0)  # taken apart, a group can wait for ever for the GIL that it holds
