# SPDX-License-Identifier: Apache-2.0
"""A small training with DeepSpeed's engine on several ranks, whose optimizer, gradients or parameters are
sharded, on CPUs with gloo. Under torchrun or DeepSpeed's launcher: deepspeed_zero.py STAGE. Prints the
names of the parameters."""

import argparse
import os
import sys

import torch

os.environ.setdefault("DS_ACCELERATOR", "cpu")
import deepspeed  # noqa: E402  (reads this variable)

STEPS, BATCH, WIDTH = 8, 4, 64


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = torch.nn.Linear(16, WIDTH)
        self.layers = torch.nn.ModuleList(torch.nn.Linear(WIDTH, WIDTH) for _ in range(3))
        self.head = torch.nn.Linear(WIDTH, 1)

    def forward(self, x):
        x = self.embed(x)
        for layer in self.layers:
            x = torch.relu(layer(x))
        return self.head(x)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("stage", type=int)
    parser.add_argument("--local_rank", type=int, default=0, help="of DeepSpeed's launcher")
    given = parser.parse_args()
    torch.set_num_threads(1)
    deepspeed.init_distributed("gloo")
    net = Net()
    names = [name for name, _ in net.named_parameters()]
    config = {"train_micro_batch_size_per_gpu": BATCH, "gradient_accumulation_steps": 1,
              "zero_optimization": {"stage": given.stage, "stage3_param_persistence_threshold": 0,
                                    "reduce_bucket_size": 5000}}
    engine, *_ = deepspeed.initialize(
        model=net, config=config, optimizer=torch.optim.Adam(net.parameters(), 1e-3))
    for _ in range(STEPS):
        loss = torch.nn.functional.mse_loss(engine(torch.randn(BATCH, 16)), torch.zeros(BATCH, 1))
        engine.backward(loss)
        engine.step()
    if torch.distributed.get_rank() == 0:
        print("parameters", *names)
    torch.distributed.barrier()
    sys.stdout.flush()
    os._exit(0)  # taken apart, a group may abort: threads of Gloo still run


main()
