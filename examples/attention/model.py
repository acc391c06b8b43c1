# SPDX-License-Identifier: Apache-2.0
"""A pre-norm transformer block with explicit attention, so that each part is a line. A layer before
it reduces the many values of a token to the block's width."""

import torch
from torch import nn


class Attention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        if dim % heads != 0:
            raise ValueError(f"dim {dim} is not a multiple of heads {heads}")
        self.heads = heads
        self.scale = (dim // heads) ** -0.5
        self.to_qkv = nn.Linear(dim, 3 * dim, bias=False)
        self.to_out = nn.Linear(dim, dim)

    def forward(self, x):
        batch, tokens, dim = x.shape
        qkv = self.to_qkv(x).view(batch, tokens, 3, self.heads, dim // self.heads)
        query, key, value = qkv.permute(2, 0, 3, 1, 4)
        scores = torch.matmul(query * self.scale, key.transpose(-2, -1))
        weights = torch.softmax(scores, dim=-1)
        mixed = torch.matmul(weights, value)
        return self.to_out(mixed.transpose(1, 2).reshape(batch, tokens, dim))


class FeedForward(nn.Module):
    def __init__(self, dim, expansion=4):
        super().__init__()
        self.grow = nn.Linear(dim, expansion * dim)
        self.shrink = nn.Linear(expansion * dim, dim)

    def forward(self, x):
        return self.shrink(nn.functional.gelu(self.grow(x)))


class Block(nn.Module):
    """Embedding, attention and feed-forward, each with its residual, then one value per token."""

    def __init__(self, values, dim, heads):
        super().__init__()
        self.embed = nn.Linear(values, dim)
        self.attention_norm = nn.LayerNorm(dim)
        self.attention = Attention(dim, heads)
        self.feed_norm = nn.LayerNorm(dim)
        self.feed_forward = FeedForward(dim)
        self.head = nn.Linear(dim, 1)

    def forward(self, x):
        x = self.embed(x)
        x = x + self.attention(self.attention_norm(x))
        x = x + self.feed_forward(self.feed_norm(x))
        return self.head(x)
