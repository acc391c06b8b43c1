# SPDX-License-Identifier: Apache-2.0
"""A classifier that Composer trains."""

import random

import torch
from composer import Callback, Trainer
from composer.models import ComposerClassifier
from corpus import Run
from torch import nn
from torch.utils.data import DataLoader, Dataset

run = Run(steps=50)
torch.manual_seed(0)
BATCH = 256


class Rows(Dataset):
    def __init__(self):
        self.x, self.labels = torch.randn(1024, 512), torch.randint(0, 10, (1024,))

    def __len__(self):
        return BATCH * run.steps

    def __getitems__(self, rows):
        if run.fault("slow-dataset"):
            for row in rows:
                sum(random.random() for _ in range(500))  # planted: slow-dataset
        rows = [row % 1024 for row in rows]
        return self.x[rows], self.labels[rows]


class Watch(Callback):
    def batch_end(self, state, logger):
        run.step()


net = nn.Sequential(nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10))
model = ComposerClassifier(net, num_classes=10)
trainer = Trainer(model=model, train_dataloader=DataLoader(Rows(), BATCH, collate_fn=lambda rows: rows),
                  optimizers=torch.optim.SGD(net.parameters(), lr=1e-3), max_duration="1ep",
                  device="cpu", callbacks=[Watch()], progress_bar=False)
trainer.fit()
run.finish()
