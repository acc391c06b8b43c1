# SPDX-License-Identifier: Apache-2.0
"""The samples a second that `report` states, beside what the program counts itself."""

import json
import re

import pytest
from busy import unless_busy

PROGRAM = """\
import sys, time
import torch
torch.set_num_threads(1)
accumulate, by_loader = int(sys.argv[1]), sys.argv[2] == "loader"
model = torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.ReLU(), torch.nn.Linear(256, 8))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
data = torch.utils.data.TensorDataset(torch.randn(1600, 64), torch.randn(1600, 8))
loader = torch.utils.data.DataLoader(data, batch_size=16)
batches = iter(loader) if by_loader else iter([(torch.randn(16, 64), torch.randn(16, 8))] * 100)
times, number = [], 0
for inputs, wanted in batches:
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


@pytest.fixture
def train(stepscope, torch_python, tmp_path):
    def run(*arguments):
        (tmp_path / "train.py").write_text(PROGRAM)
        trace = tmp_path / "t.pftrace"
        done = stepscope("record", "-q", "-o", trace, "--", torch_python, tmp_path / "train.py",
                         *arguments)
        training = json.loads(stepscope("report", "-f", "json", trace).stdout)["training"]
        text = stepscope("report", trace).stdout
        return float(done.stdout.split()[-1]), training, text
    return run


@pytest.mark.parametrize("accumulate, said", [(1, "batches of 16"), (4, "batches of 4 × 16")])
def test_samples_of_the_loaders_batches(train, accumulate, said):
    counted, training, text = train(accumulate, "loader")
    assert training, text
    assert training["batch_size"] == 16
    assert training["samples_per_second"] == pytest.approx(counted, rel=0.25)
    stated = re.search(r"([\d,.]+) samples/s \(([^)]*)\)", text)
    assert stated and stated[2] == said
    assert float(stated[1].replace(",", "")) == pytest.approx(training["samples_per_second"],
                                                              rel=0.01)


INFERENCE = """\
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


def test_samples_of_a_program_that_trains_nothing(stepscope, torch_python, tmp_path):
    (tmp_path / "infer.py").write_text(INFERENCE)
    trace = tmp_path / "t.pftrace"
    done = stepscope("record", "-q", "-o", trace, "--", torch_python, tmp_path / "infer.py")
    report = json.loads(stepscope("report", "-f", "json", trace).stdout)
    known = report["training"] or report["model_calls"]  # steps, where they were found
    assert known, stepscope("report", trace).stdout
    assert known["batch_size"] == 8
    assert known["samples_per_second"] == pytest.approx(float(done.stdout.split()[-1]), rel=0.25)
    text = stepscope("report", trace).stdout
    assert "samples/s (batches of 8)" in text and "No steps were found" not in text
    if report["model_calls"]:
        assert report["model_calls"]["calls"] == 79 and report["training"] is None


# As timm's validation: a first call to warm up, autocast, a loss module, metrics; a batch that is not full.
VALIDATE = """\
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
GENERATE = """\
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


@pytest.mark.parametrize("program, batch", [(VALIDATE, 16), (PLAIN, 16), (GENERATE, 4)],
                         ids=["validate", "plain", "generate"])
@unless_busy
def test_each_call_of_a_model_that_is_not_trained_is_a_step(stepscope, torch_python, tmp_path, program, batch):
    if program is GENERATE:
        pytest.importorskip("transformers", reason="transformers is not installed")
    (tmp_path / "infer.py").write_text(program)
    trace = tmp_path / "t.pftrace"
    done = stepscope("record", "-q", "-o", trace, "--", torch_python, tmp_path / "infer.py")
    calls, counted = re.search(r"calls (\d+) samples/s ([\d.]+)", done.stdout).groups()
    report = json.loads(stepscope("report", "-f", "json", trace).stdout)["training"]
    steps = json.loads(stepscope("report", "--by", "step", "-f", "json", "--num-rows", "all",
                                 trace).stdout)["tables"][0]["rows"]
    assert len(steps) == int(calls)
    assert all(row["inference_ns"] > 0 for row in steps)
    assert report["batch_size"] == batch
    assert report["samples_per_second"] == pytest.approx(float(counted), rel=0.3)
    assert "(a forward pass: inference)" in stepscope("report", trace).stdout
