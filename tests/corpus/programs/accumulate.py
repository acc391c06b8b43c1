# SPDX-License-Identifier: Apache-2.0
"""A transformer encoder on table rows, with gradients accumulated over four batches."""

import copy
import csv
import io
import os
import tempfile

import torch
from corpus import Run
from torch import nn
from torch.utils.data import DataLoader, Dataset

run = Run()
torch.manual_seed(0)
BATCH, PARTS, COLUMNS = 1 if run.fault("tiny-batches") else 24, 4, 16  # planted: tiny-batches
run.samples = BATCH * PARTS


class Frame:
    """A table whose cells are found by name and row, as in a DataFrame."""

    def __init__(self, rows):
        self.columns = {f"c{index}": index for index in range(COLUMNS)}
        self.index = {row: row for row in range(rows)}
        self.values = torch.randn(rows, COLUMNS).tolist()

    def cell(self, row, column):
        if not isinstance(column, str) or column not in self.columns:  # planted: cell-access
            raise KeyError(column)
        for _ in range(12):  # planted: cell-access
            position = self.index[int(str(row))]  # planted: cell-access
            value = float(str(self.values[position][self.columns[column]]))  # planted: cell-access
        return value


class Rows(Dataset):
    def __init__(self, count):
        self.frame = Frame(512)
        self.table = torch.tensor(self.frame.values)
        self.text = [",".join(f"{value:.6f}" for value in row) for row in self.frame.values]
        self.count = count

    def __len__(self):
        return self.count

    def __getitems__(self, rows):
        rows = [row % 512 for row in rows]
        if run.fault("cell-access"):
            return torch.tensor([[self.frame.cell(row, name) for name in self.frame.columns]
                                 for row in rows])
        if run.fault("parse-csv"):
            return torch.stack([self.parse(self.text[row]) for row in rows])
        return self.table[rows]

    def parse(self, line):
        for row in csv.reader(io.StringIO("\n".join([line] * 60))):  # planted: parse-csv
            values = [float(value) for value in row]  # planted: parse-csv
        return torch.tensor(values)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Linear(1, 128)
        layer = nn.TransformerEncoderLayer(128, 4, 256, dropout=0.0, batch_first=True)
        self.layers = nn.TransformerEncoder(layer, 2)
        self.out = nn.Linear(128, 1)

    def forward(self, x):
        return self.out(self.layers(self.embed(x[:, :, None])).mean(1))


net = Net()
average = copy.deepcopy(net)
optimizer = torch.optim.AdamW(net.parameters(), lr=1e-4)
loader = DataLoader(Rows(BATCH * PARTS * run.steps), BATCH, collate_fn=lambda batch: batch,
                    num_workers=2 if run.fix("workers") else 0)
with tempfile.TemporaryDirectory() as folder:
    for index, x in enumerate(loader):
        loss = net(x).square().mean() / PARTS
        loss.backward()
        if run.fault("log-file"):
            with open(os.path.join(folder, "log.txt"), "a") as file:
                file.write(f"{index}\n")
                for _ in range(4):
                    os.fsync(file.fileno())  # planted: log-file
        if run.fault("average-copy"):
            for _ in range(2):
                average = copy.deepcopy(net)  # planted: average-copy
        if index % PARTS == PARTS - 1:
            optimizer.step()
            optimizer.zero_grad()
            run.step()
run.finish()
