# SPDX-License-Identifier: Apache-2.0
"""PyTorch with an engine like DeepSpeed's, and as it: 8 batches, 2 of them to a step, each step one
of two torch optimizers, an evaluation and a checkpoint on the way. Prints its own steps.

    engine.py FOLDER"""

import sys
import types

import torch


class DeepSpeedEngine(torch.nn.Module):
    def __init__(self, module):
        super().__init__()
        self.module = module
        self.global_steps = self.micro_steps = 0
        self.optimizers = [torch.optim.SGD([one], 0.01) for one in module.parameters()]

    def forward(self, batch):
        return self.module(batch)

    def backward(self, loss):
        loss.backward()
        self.micro_steps += 1

    def step(self):
        if self.micro_steps % 2 == 0:
            self._take_model_step()

    def _take_model_step(self):
        for optimizer in self.optimizers:
            optimizer.step()
            optimizer.zero_grad()
        self.global_steps += 1

    def save_checkpoint(self, folder):
        torch.save(self.module.state_dict(), f"{folder}/net.pt")

    def wall_clock_breakdown(self):
        return False

    def train_micro_batch_size_per_gpu(self):
        return 4


class FlopsProfiler:
    started = True

    def __init__(self, engine):
        self.ds_engine = engine

    def get_total_params(self):
        return 1000

    def get_total_macs(self):
        return 2000

    def get_total_flops(self):
        return 4000

    def get_total_duration(self):
        return 0.001

    def print_model_profile(self):
        print("profile")


for path, member in (("deepspeed.runtime.engine", DeepSpeedEngine),
                     ("deepspeed.profiling.flops_profiler.profiler", FlopsProfiler)):
    module = sys.modules[path] = types.ModuleType(path)
    setattr(module, member.__name__, member)


def main():
    torch.set_num_threads(1)
    engine = DeepSpeedEngine(torch.nn.Linear(16, 1))
    profiler = FlopsProfiler(engine)
    for batch in torch.utils.data.DataLoader(torch.randn(32, 16), batch_size=4):
        engine.backward(engine(batch).mean())
        engine.step()
        if engine.micro_steps == 4:
            profiler.print_model_profile()
            engine.eval()
            with torch.no_grad():
                engine(batch)
            engine.train()
            engine.save_checkpoint(sys.argv[1])
    print("steps", engine.global_steps)


main()
