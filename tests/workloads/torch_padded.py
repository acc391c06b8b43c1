# SPDX-License-Identifier: Apache-2.0
"""A training on texts of different lengths, padded to the longest of their batch. Prints what it computed
on as JSON. torch_padded.py mask|config|plain|floats: how padding, or that there is none, can be seen; or
pair, images: a batch is one argument, texts with their labels or a list of images; or time_first: of an
LSTM, to which the length is the first dimension."""

import json
import sys

import torch
from torch import nn
from torch.utils.data import DataLoader

EXAMPLES, BATCH, PADDING = 24, 4, 0


class Config:
    pad_token_id = PADDING


class Classifier(nn.Module):
    def __init__(self, kind):
        super().__init__()
        self.embedding, self.head = nn.Embedding(100, 16), nn.Linear(16, 2)
        if kind == "config":
            self.config = Config()

    def forward(self, input_ids, attention_mask=None):
        values = input_ids if input_ids.is_floating_point() else self.embedding(input_ids)
        return self.head(values.mean(1))


class OfBatches(Classifier):
    """As Composer's models, and those that Lightning trains on several ranks."""

    def forward(self, batch):
        return super().forward(batch[0])


class OfImages(Classifier):
    def forward(self, images):
        return self.head(torch.stack([one.mean((0, 1)) for one in images]))


class Recurrent(Classifier):
    def __init__(self, kind):
        super().__init__(kind)
        self.lstm = nn.LSTM(16, 16)

    def forward(self, input_ids):
        return self.head(self.lstm(self.embedding(input_ids))[0][-1])


MODELS = {"pair": OfBatches, "images": OfImages, "time_first": Recurrent}


def inputs_of(kind, tokens):
    labels = torch.zeros(len(tokens), dtype=torch.long)
    return {"floats": lambda: torch.randn(BATCH, 5, 16), "pair": lambda: (tokens, labels),
            "images": lambda: [torch.randn(3, 8, 16) for _ in tokens],
            "time_first": tokens.t}.get(kind, tokens.clone)()


def collate(lengths):
    longest = max(lengths)
    rows = [[1 + i % 90 for i in range(one)] + [PADDING] * (longest - one) for one in lengths]
    batch = {"input_ids": torch.tensor(rows), "lengths": lengths}
    if sys.argv[1] == "mask":
        batch["attention_mask"] = torch.tensor([[1] * one + [0] * (longest - one)
                                                for one in lengths])
    return batch


def main(kind):
    torch.manual_seed(0)
    model, loss_of = MODELS.get(kind, Classifier)(kind), nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), 1e-3)
    lengths = [3 + (7 * i) % 20 for i in range(EXAMPLES)]
    said = {"examples": [], "tokens": [], "length": []}
    for batch in DataLoader(lengths, batch_size=BATCH, collate_fn=collate):
        tokens = batch["input_ids"]
        if kind not in ("images", "time_first"):
            said["examples"].append(len(tokens))
        if kind not in ("floats", "images", "time_first"):
            said["length"].append(tokens.shape[1])
        if kind not in ("floats", "images"):
            said["tokens"].append(sum(batch["lengths"]) if kind in ("mask", "config")
                                  else tokens.numel())
        if kind == "mask":
            output = model(input_ids=tokens, attention_mask=batch["attention_mask"])
        else:
            output = model(inputs_of(kind, tokens))
        loss_of(output, torch.zeros(BATCH, dtype=torch.long)).backward()
        optimizer.step()
        optimizer.zero_grad()
    print(json.dumps(said))


main(sys.argv[1])
