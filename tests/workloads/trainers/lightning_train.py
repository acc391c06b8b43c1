# SPDX-License-Identifier: Apache-2.0
"""A small Lightning training: 2 epochs of 12 batches, 2 of them to a step, with evaluation and a
checkpoint after each. Prints its own steps.

    lightning_train.py FOLDER [callback] [profiler]"""

import sys

import torch
from lightning.pytorch import LightningModule, Trainer
from lightning.pytorch.callbacks import ModelCheckpoint


class Net(LightningModule):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.Sequential(torch.nn.Linear(64, 512), torch.nn.ReLU(),
                                          torch.nn.Linear(512, 1))

    def loss(self, batch):
        x, y = batch
        return torch.nn.functional.mse_loss(self.layers(x), y)

    def training_step(self, batch, index):
        return self.loss(batch)

    def validation_step(self, batch, index):
        self.log("loss", self.loss(batch))

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters())


def loader(batches):
    data = torch.utils.data.TensorDataset(torch.randn(32 * batches, 64),
                                          torch.randn(32 * batches, 1))
    return torch.utils.data.DataLoader(data, batch_size=32)


def main():
    folder, words = sys.argv[1], sys.argv[2:]
    callbacks, profiler = [ModelCheckpoint(dirpath=folder)], None
    if "callback" in words:
        from stepscope.integrations.lightning import StepscopeCallback
        callbacks.append(StepscopeCallback())
    if "profiler" in words:
        from stepscope.integrations.lightning import StepscopeProfiler
        profiler = StepscopeProfiler()
    trainer = Trainer(max_epochs=2, accumulate_grad_batches=2, callbacks=callbacks,
                      profiler=profiler, logger=False, accelerator="cpu", devices=1,
                      default_root_dir=folder, enable_progress_bar=False,
                      enable_model_summary=False)
    trainer.fit(Net(), loader(12), loader(3))
    print("steps", trainer.global_step)


main()
