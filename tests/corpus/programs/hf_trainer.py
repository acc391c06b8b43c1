# SPDX-License-Identifier: Apache-2.0
"""A classifier that Hugging Face's Trainer trains."""

import random
import tempfile
import time

import torch
from corpus import Run
from torch import nn
from torch.utils.data import Dataset
from transformers import Trainer, TrainerCallback, TrainingArguments

run = Run(steps=50)
torch.manual_seed(0)
BATCH = 256


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(),
                                    nn.Linear(512, 10))

    def forward(self, x, labels):
        logits = self.layers(x)
        return {"loss": nn.functional.cross_entropy(logits, labels), "logits": logits}


class Batches(Dataset):
    def __init__(self):
        self.x, self.labels = torch.randn(1024, 512), torch.randint(0, 10, (1024,))

    def __len__(self):
        return BATCH * run.steps

    def __getitem__(self, index):
        return index % 1024


def collate(rows):
    if run.fault("slow-collator"):
        for row in rows:
            sum(random.random() for _ in range(500))  # planted: slow-collator
    return {"x": data.x[rows], "labels": data.labels[rows]}


class Watch(TrainerCallback):
    def on_step_end(self, arguments, state, control, **more):
        run.step()
        if run.fault("callback"):
            time.sleep(0.015)  # planted: callback


data = Batches()
with tempfile.TemporaryDirectory() as folder:
    arguments = TrainingArguments(
        output_dir=folder, per_device_train_batch_size=BATCH, max_steps=run.steps, report_to=[],
        logging_strategy="no", use_cpu=True, disable_tqdm=True, save_steps=1, save_total_limit=1,
        save_strategy="steps" if run.fault("save-each-step") else "no")  # planted: save-each-step
    Trainer(model=Net(), args=arguments, train_dataset=data, data_collator=collate,
            callbacks=[Watch()]).train()
run.finish()
