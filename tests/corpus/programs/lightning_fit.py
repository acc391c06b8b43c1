# SPDX-License-Identifier: Apache-2.0
"""A classifier that Lightning trains."""

import copy
import logging
import random
import warnings

import torch
from corpus import Run
from lightning.pytorch import Callback, LightningModule, Trainer
from torch import nn
from torch.utils.data import DataLoader, Dataset

run = Run(steps=50)
torch.manual_seed(0)
warnings.filterwarnings("ignore")
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
BATCH = 256


class Net(LightningModule):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(),
                                    nn.Linear(512, 10))

    def training_step(self, batch, index):
        x, labels = batch
        return nn.functional.cross_entropy(self.layers(x), labels)

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=1e-3)


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
    def on_train_batch_end(self, trainer, module, *more):
        run.step()
        if run.fault("callback-copy"):
            for _ in range(12):
                self.best = copy.deepcopy(module.state_dict())  # planted: callback-copy


loader = DataLoader(Rows(), BATCH, collate_fn=lambda batch: batch)
trainer = Trainer(max_epochs=1, accelerator="cpu", logger=False, enable_checkpointing=False,
                  enable_progress_bar=False, enable_model_summary=False, callbacks=[Watch()])
trainer.fit(Net(), loader)
run.finish()
