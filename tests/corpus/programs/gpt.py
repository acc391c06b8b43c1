# SPDX-License-Identifier: Apache-2.0
"""A small character-level GPT. The next batch is prepared between forward and backward, as programs do
that want it to overlap with a device's forward."""

import collections
import copy
import json
import os
import re
import tempfile
import time

import numpy as np
import torch
from corpus import Run
from torch import nn
from torch.nn import functional as F

run = Run()
torch.manual_seed(0)
BATCH, BLOCK, WIDTH, LAYERS, HEADS, VOCABULARY = 4, 64, 128, 4, 4, 65
run.samples = BATCH

if run.fault("anomaly"):
    torch.autograd.set_detect_anomaly(True)  # planted: anomaly
if run.fault("float64"):
    torch.set_default_dtype(torch.float64)  # planted: float64


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH)
        self.out = nn.Linear(WIDTH, WIDTH)

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = (part.view(batch, length, HEADS, -1).transpose(1, 2)
                   for part in self.qkv(x).split(width, dim=2))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out(y.transpose(1, 2).reshape(batch, length, width))


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.attention = Attention()
        self.mlp = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH))

    def forward(self, x):
        x = x + self.attention(self.first(x))
        return x + self.mlp(self.second(x))


class GPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens = nn.Embedding(VOCABULARY, WIDTH)
        self.positions = nn.Embedding(BLOCK, WIDTH)
        self.blocks = nn.Sequential(*[Block() for _ in range(LAYERS)])
        self.norm = nn.LayerNorm(WIDTH)
        self.head = nn.Linear(WIDTH, VOCABULARY)

    def forward(self, x, y):
        x = self.tokens(x) + self.positions.weight
        logits = self.head(self.norm(self.blocks(x)))
        return logits, F.cross_entropy(logits.view(-1, VOCABULARY), y.view(-1))


folder = tempfile.TemporaryDirectory()
path = os.path.join(folder.name, "train.bin")
np.random.default_rng(0).integers(0, VOCABULARY, 1 << 20, dtype=np.uint16).tofile(path)
data = np.memmap(path, dtype=np.uint16, mode="r")
shard = os.path.join(folder.name, "shard.bin")
if run.fault("disk-read"):
    with open(shard, "wb") as file:
        file.write(os.urandom(24 << 20))
TEXT = "".join(chr(97 + token % 26) if token % 7 else " " for token in data[:12000])
WORD = re.compile(r"(?:'s|'t)| ?[a-z]{1,5}| ?[0-9]+|\s+")


def tokenise(text):
    ids = {}
    out = []  # planted: tokenise
    for letter in text:  # planted: tokenise
        token = ids.setdefault(letter, len(ids))  # planted: tokenise
        out.append(token % VOCABULARY)  # planted: tokenise
    return out


def split_words(text):
    return collections.Counter(WORD.findall(text))  # planted: regex


def get_batch():
    starts = torch.randint(len(data) - BLOCK - 1, (BATCH,)).tolist()
    if run.fault("tokenise"):
        for _ in range(12):
            tokenise(TEXT)
    if run.fault("regex"):
        for _ in range(6):
            split_words(TEXT)
    if run.fault("disk-read"):
        with open(shard, "rb") as file:
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)  # planted: disk-read
            file.read()  # planted: disk-read
    x = torch.stack([torch.from_numpy(data[i:i + BLOCK].astype(np.int64)) for i in starts])
    y = torch.stack([torch.from_numpy(data[i + 1:i + 1 + BLOCK].astype(np.int64)) for i in starts])
    return x, y


@torch.no_grad()
def estimate_loss(batches):
    model.eval()
    losses = [model(*get_batch())[1] for _ in range(batches)]  # planted: evaluate
    model.train()
    return torch.stack(losses).mean()


model = GPT()
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
history, best = [], None
log = open(os.path.join(folder.name, "log.jsonl"), "w")
x, y = get_batch()
for step in range(run.steps):
    if run.fault("evaluate") and step % (20 if run.fix("seldom") else 2) == 0:
        estimate_loss(3)  # planted: evaluate
    logits, loss = model(x, y)
    x, y = get_batch()
    loss.backward()
    if run.fault("read-per-parameter"):
        for parameter in model.parameters():
            for power in (1, 2, 3):
                ratio = parameter.grad / (parameter.abs() + 1e-8)  # planted: read-per-parameter
                if run.fix("seldom") and step % 20 > 0:
                    continue
                for value in (parameter, parameter.grad, ratio):
                    history.append(value.norm(power).item())  # planted: read-per-parameter
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    run.step()
    if run.fault("deepcopy"):
        for _ in range(2):
            best = copy.deepcopy((model.state_dict(), optimizer.state_dict()))  # planted: deepcopy
    if run.fault("checkpoint"):
        torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()},  # planted: checkpoint
                   os.path.join(folder.name, "checkpoint.pt"))  # planted: checkpoint
    if run.fault("json"):
        json.dump({"step": step, "logits": logits[0].tolist()}, log, indent=1)  # planted: json
    if run.fault("sleep"):
        time.sleep(0.012)  # planted: sleep
run.finish()
