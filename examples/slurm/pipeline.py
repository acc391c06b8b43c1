# SPDX-License-Identifier: Apache-2.0
"""A pipeline like itwinai's: a sequence of components, each of which gets the output of the previous
one: a getter of data, a splitter, a trainer, a saver. Its trainer trains one copy of the model per
process if a launcher (torchrun) starts several.

    pipeline.py [--epochs N] [--samples N]"""

import argparse
import math
import os

import torch


class Component:
    def execute(self, *inputs):
        raise NotImplementedError


class Pipeline(Component):
    def __init__(self, steps):
        self.steps = steps

    def execute(self, *inputs):
        for step in self.steps:
            inputs = step.execute(*inputs)
            inputs = inputs if isinstance(inputs, tuple) else (inputs,)
        return inputs


class Waves(torch.utils.data.Dataset):
    """Signals of two frequencies, to be classified. Each is computed on request, point by point: the
    fault that the report must find."""

    def __init__(self, samples):
        self.samples = samples

    def __len__(self):
        return self.samples

    def __getitem__(self, index):
        frequency = 3 + 4 * (index % 2)
        points = [math.sin(frequency * i / 64 + index) for i in range(4096)]
        return torch.tensor(points), index % 2


class DataGetter(Component):
    def __init__(self, samples):
        self.samples = samples

    def execute(self):
        return Waves(self.samples)


class DataSplitter(Component):
    def execute(self, dataset):
        training = len(dataset) * 4 // 5
        return (torch.utils.data.Subset(dataset, range(training)),
                torch.utils.data.Subset(dataset, range(training, len(dataset))))


class Trainer(Component):
    def __init__(self, epochs, batch_size=16):
        self.epochs, self.batch_size = epochs, batch_size
        self.is_distributed = int(os.environ.get("WORLD_SIZE", "1")) > 1

    def loader(self, dataset):
        sampler = None
        if self.is_distributed:
            sampler = torch.utils.data.distributed.DistributedSampler(dataset)
        return torch.utils.data.DataLoader(dataset, batch_size=self.batch_size, sampler=sampler)

    def execute(self, training, validation):
        model = torch.nn.Sequential(torch.nn.Linear(4096, 256), torch.nn.ReLU(),
                                    torch.nn.Linear(256, 2))
        if self.is_distributed:
            torch.distributed.init_process_group("gloo")
            model = torch.nn.parallel.DistributedDataParallel(model)
        optimizer = torch.optim.AdamW(model.parameters())
        for epoch in range(self.epochs):
            self.train_epoch(model, optimizer, self.loader(training))
            print(f"epoch {epoch}: {self.validation_epoch(model, self.loader(validation)):.0%}")
        if self.is_distributed:
            torch.distributed.destroy_process_group()
        return model

    def train_epoch(self, model, optimizer, loader):
        model.train()
        for signals, kinds in loader:
            self.train_step(model, optimizer, signals, kinds)

    def train_step(self, model, optimizer, signals, kinds):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(signals), kinds).backward()
        optimizer.step()

    @torch.no_grad()
    def validation_epoch(self, model, loader):
        model.eval()
        right = [(model(signals).argmax(1) == kinds).float() for signals, kinds in loader]
        return torch.cat(right).mean().item()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--samples", type=int, default=1280)
    options = parser.parse_args()
    Pipeline([DataGetter(options.samples), DataSplitter(), Trainer(options.epochs)]).execute()


if __name__ == "__main__":
    main()
