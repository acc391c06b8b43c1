# SPDX-License-Identifier: Apache-2.0
"""Recorded inputs: what loaders fetch, and how many samples a second that is."""

from recording import Input

INPUTS = {}
OPTIONS = "-r", 20, "--host-interval", 5


# --- test_torch_data: what runs while a loader fetches, facts of batches and models ---------------

FACTS_OF_A_MODEL = """\
import torch
torch.set_default_dtype(torch.float64)
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 1)
    def forward(self, scale=1, batch=None):
        return self.layer(batch["x"]) * scale
net, loss_of = Net(), torch.nn.MSELoss()
optimizer = torch.optim.SGD(net.parameters(), 1e-3)
with torch.no_grad():
    net(batch={"x": torch.ones(100, 4)})
for step in range(6):
    with torch.autograd.set_detect_anomaly(step in (2, 3)):
        size = 10 if step == 5 else 32
        y = net(2, batch={"x": torch.ones(size, 4)})
        loss_of(y.repeat(3, 1), torch.ones(3 * size, 1)).backward()
    optimizer.step()
"""
THREADS_OF_WORKERS = """\
import os, torch
torch.set_num_threads(1)
net = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(net.parameters(), 1e-3)
for x in torch.utils.data.DataLoader(torch.ones(16, 4), batch_size=4, num_workers=1,
                                     worker_init_fn=lambda number: torch.set_num_threads(7)):
    net(x).sum().backward()
    optimizer.step()
"""
# Each 20th sample takes fifty times as long.
SLOW_SAMPLES = """\
import time, torch
torch.set_num_threads(1)
class Samples(torch.utils.data.Dataset):
    def __len__(self):
        return 240
    def __getitem__(self, index):
        time.sleep(0.05 if index % 20 == 7 else 0.001)
        return torch.ones(4)
net = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(net.parameters(), 1e-3)
for x in torch.utils.data.DataLoader(Samples(), batch_size=4):
    net(x).sum().backward()
    optimizer.step()
"""
INPUTS["data_slow_samples"] = Input(code=SLOW_SAMPLES, options=("-r", 2, *OPTIONS[2:], "--operators", "off"))
for _workers in 0, 2:
    INPUTS[f"data_transforms_{_workers}"] = Input(
        program=("torch_transforms.py", "--workers", _workers), options=(*OPTIONS, "--operators", "off"))
INPUTS["data_facts"] = Input(code=FACTS_OF_A_MODEL, options=OPTIONS)
INPUTS["data_threads"] = Input(code=THREADS_OF_WORKERS, options=OPTIONS)


# --- test_throughput: samples a second, which each program counts itself --------------------------

TRAINS = """\
import sys, time
import torch
torch.set_num_threads(1)
accumulate = int(sys.argv[1])
model = torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.ReLU(), torch.nn.Linear(256, 8))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
data = torch.utils.data.TensorDataset(torch.randn(1600, 64), torch.randn(1600, 8))
times, number = [], 0
for inputs, wanted in torch.utils.data.DataLoader(data, batch_size=16):
    loss = torch.nn.functional.mse_loss(model(inputs), wanted)
    loss.backward()
    time.sleep(0.004)
    number += 1
    if number % accumulate == 0:
        optimizer.step()
        optimizer.zero_grad()
        times.append(time.perf_counter())
later = times[4:]
print("samples/s", 16 * accumulate * (len(later) - 1) / (later[-1] - later[0]))
"""
INFERS = """\
import sys, time
import torch
torch.set_num_threads(1)
model = torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.ReLU(), torch.nn.Linear(256, 8))
data = torch.utils.data.TensorDataset(torch.randn(640, 64), torch.randn(640, 8))
times, metric = [], torch.nn.MSELoss()
with torch.no_grad():
    for inputs, wanted in torch.utils.data.DataLoader(data, batch_size=8):
        metric(model(inputs), wanted)
        time.sleep(0.004)
        times.append(time.perf_counter())
print("samples/s", 8 * (len(times) - 1) / (times[-1] - times[0]))
"""
# As timm's validation: a first call to warm up, autocast, a loss module, metrics; a batch that is not full.
VALIDATES = """\
import sys, time
import torch
from torch import nn
torch.set_num_threads(1)
model = nn.Sequential(nn.Conv2d(3, 8, 3, 2), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 10)).eval()
data = torch.utils.data.TensorDataset(torch.randn(487, 3, 16, 16), torch.randint(0, 10, (487,)))
criterion, times = nn.CrossEntropyLoss(), []
with torch.inference_mode():
    model(torch.randn(16, 3, 16, 16))
    for images, wanted in torch.utils.data.DataLoader(data, batch_size=16):
        with torch.autocast("cpu"):
            output = model(images)
        criterion(output, wanted).item()
        (output.argmax(1) == wanted).float().mean().item()
        time.sleep(0.004)
        times.append(time.perf_counter())
print("calls", 1 + len(times), "samples/s", 16 * (len(times) - 2) / (times[-2] - times[0]))
"""
# No loader: the first dimension of the model's input.
PLAIN = """\
import time
import torch
torch.set_num_threads(1)
model, times = torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.ReLU(), torch.nn.Linear(256, 8)).eval(), []
with torch.no_grad():
    for _ in range(60):
        model(torch.randn(16, 64))
        time.sleep(0.004)
        times.append(time.perf_counter())
print("calls", len(times), "samples/s", 16 * (len(times) - 2) / (times[-1] - times[1]))
"""
# A call of the model for each token: the first has the whole prompt.
GENERATES = """\
import time
import torch
from transformers import GPT2Config, GPT2LMHeadModel
torch.set_num_threads(1)
model = GPT2LMHeadModel(GPT2Config(vocab_size=100, n_positions=64, n_embd=32, n_layer=2, n_head=2, eos_token_id=None)).eval()
prompts, times = torch.randint(0, 100, (4, 8)), []
for _ in range(6):
    model.generate(prompts, max_new_tokens=10, do_sample=False, pad_token_id=0)
    times.append(time.perf_counter())
print("calls", 10 * len(times), "samples/s", 4 * 10 * (len(times) - 2) / (times[-1] - times[1]))
"""
for _accumulate in 1, 4:
    INPUTS[f"throughput_trains_{_accumulate}"] = Input(
        code=TRAINS, program=(_accumulate,), options=(*OPTIONS, "--operators", "off"))
for _name, _code in ("infers", INFERS), ("validates", VALIDATES), ("plain", PLAIN):
    INPUTS[f"throughput_{_name}"] = Input(code=_code, options=(*OPTIONS, "--operators", "off"))
INPUTS["throughput_generates"] = Input(code=GENERATES, options=("-r", 5, *OPTIONS[2:], "--operators", "off"),
                                       needs=("torch", "transformers"))
