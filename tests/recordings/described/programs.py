# SPDX-License-Identifier: Apache-2.0
"""Small PyTorch programs whose steps are recorded once, with torch.profiler on a CPU: operators, shapes,
stacks and allocations as PyTorch writes them. halves.py turns a recording into the tree that described
runs play on a device. Needs PyTorch."""

import torch
from torch import nn
from torch.nn import functional
from torch.profiler import record_function
from torch.utils import checkpoint, data


class Block(nn.Module):
    """Two convolutions, and a third one where the size changes."""

    def __init__(self, channels, out, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(channels, out, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(out)
        self.conv2 = nn.Conv2d(out, out, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(out)
        self.downsample = None
        if stride != 1:
            self.downsample = nn.Sequential(nn.Conv2d(channels, out, 1, stride, bias=False),
                                            nn.BatchNorm2d(out))

    def forward(self, x):
        out = functional.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        return functional.relu(out + (self.downsample(x) if self.downsample else x))


class ConvNet(nn.Module):
    def __init__(self, checkpoints=False):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 32, 7, 2, 3, bias=False)
        self.bn1 = nn.BatchNorm2d(32)
        self.layer1 = Block(32, 32, 1)
        self.layer2 = Block(32, 64, 2)
        self.fc = nn.Linear(64, 10)
        self.checkpoints = checkpoints

    def forward(self, x):
        x = functional.max_pool2d(functional.relu(self.bn1(self.conv1(x))), 3, 2, 1)
        for layer in (self.layer1, self.layer2):
            x = checkpoint.checkpoint(layer, x, use_reentrant=False) if self.checkpoints else layer(x)
        return self.fc(torch.flatten(functional.adaptive_avg_pool2d(x, 1), 1))


class Images(data.Dataset):
    image = torch.ones(3, 64, 64)

    def __len__(self):
        return 160

    def __getitem__(self, number):
        return self.image, number % 10


def train_images(checkpoints=False):
    model, criterion = ConvNet(checkpoints), nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=.01, momentum=.9, foreach=False)
    loader = iter(data.DataLoader(Images(), batch_size=32))

    def step():
        images, labels = next(loader)
        images, labels = images.to("cpu", copy=True), labels.to("cpu", copy=True)
        loss = criterion(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        loss.item()
    return step


class Ranker(nn.Module):
    """Embeddings and two perceptrons, as recommendation models have."""

    def __init__(self):
        super().__init__()
        self.tables = nn.ModuleList(nn.EmbeddingBag(1000, 64, mode="sum") for _ in range(3))
        self.bottom = nn.Sequential(nn.Linear(16, 128), nn.ReLU(), nn.Linear(128, 64), nn.ReLU())
        self.top = nn.Sequential(nn.Linear(64 + 10, 128), nn.ReLU(), nn.Linear(128, 1))

    def forward(self, dense, sparse):
        with record_function("## dense_forward ##"):
            x = self.bottom(dense)
        with record_function("## sparse_forward ##"):
            rows = [x] + [table(ids) for table, ids in zip(self.tables, sparse, strict=True)]
        rows = torch.stack(rows, 1)
        pairs = torch.bmm(rows, rows.transpose(1, 2))
        one, other = torch.tril_indices(4, 4)
        return self.top(torch.cat([x, pairs[:, one, other]], 1))


def train_ranker():
    model, criterion = Ranker(), nn.BCEWithLogitsLoss()
    optimizer = torch.optim.Adagrad(model.parameters(), lr=.01, foreach=False)

    def step():
        with record_function("## copy_batch_to_gpu ##"):
            dense = torch.ones(128, 16).to("cpu", copy=True)
            sparse = [torch.zeros(128, 8, dtype=torch.long).to("cpu", copy=True) for _ in range(3)]
        with record_function("## zero_grad ##"):
            optimizer.zero_grad()
        with record_function("## forward ##"):
            loss = criterion(model(dense, sparse), torch.ones(128, 1))
        with record_function("## backward ##"):
            loss.backward()
        with record_function("## optimizer ##"):
            optimizer.step()
    return step


class Attention(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.qkv = nn.Linear(size, 3 * size)
        self.out = nn.Linear(size, size, bias=False)

    def forward(self, x):
        batch, length, size = x.shape
        q, k, v = self.qkv(x).view(batch, length, 3, 4, size // 4).permute(2, 0, 3, 1, 4)
        scores = torch.softmax(torch.matmul(q, k.transpose(-1, -2)) / (size // 4) ** .5, -1)
        return self.out(torch.matmul(scores, v).transpose(1, 2).reshape(batch, length, size))


class Layer(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.norm = nn.RMSNorm(size)
        self.attention = Attention(size)
        self.up = nn.Linear(size, 4 * size, bias=False)
        self.down = nn.Linear(4 * size, size, bias=False)

    def forward(self, x):
        x = x + self.attention(self.norm(x))
        return x + self.down(functional.silu(self.up(self.norm(x))))


def generate_text():
    model = nn.Sequential(nn.Embedding(512, 128), Layer(128), Layer(128), nn.Linear(128, 512))
    model = model.to(torch.bfloat16)

    @torch.no_grad()
    def step():
        with record_function("execute_context_8(256_65536)_generation_0(0)"):
            tokens = torch.zeros(8, 256, dtype=torch.long).to("cpu", copy=True)
            return model(tokens)[:, -1].argmax(-1).to(torch.int32)
    return step


class UpBlock(nn.Module):
    def __init__(self, channels, out):
        super().__init__()
        self.conv = nn.Conv2d(channels, out, 3, padding=1)
        self.norm = nn.GroupNorm(4, out)

    def forward(self, x):
        x = functional.interpolate(x, scale_factor=2., mode="nearest")
        return functional.silu(self.norm(self.conv(x)))


class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv_in = nn.Conv2d(16, 64, 3, padding=1)
        self.blocks = nn.ModuleList([UpBlock(64, 64), UpBlock(64, 32), UpBlock(32, 16)])
        self.conv_out = nn.Conv2d(16, 3, 3, padding=1)

    def forward(self, x):
        x = self.conv_in(x)
        for block in self.blocks:
            x = block(x)
        return self.conv_out(x)


def draw_images():
    denoise, decoder = Layer(64), Decoder()

    @torch.no_grad()
    def step():
        x = torch.ones(2, 64, 64).to("cpu", copy=True)
        for _ in range(2):
            x = denoise(x)
        return decoder(x.view(2, 16, 16, 16))
    return step


PROGRAMS = {"train_images": train_images, "checkpoint_images": lambda: train_images(True),
            "train_ranker": train_ranker, "generate_text": generate_text, "draw_images": draw_images}
