# SPDX-License-Identifier: Apache-2.0
"""Every few batches have a length of their own, and the model is compiled for it anew."""

import torch
from training import WIDTH, Net, train

torch._dynamo.config.cache_size_limit = 64


def batches():
    for number in range(48):
        yield torch.ones(64 + number // 2, WIDTH)


net = torch.compile(Net(), backend="eager", dynamic=False)
train(batches(), net=net)
