# SPDX-License-Identifier: Apache-2.0
"""Recorded inputs of one process of PyTorch, with its workers: what the hooks see of it."""

from recording import FEW_SAMPLES, Input

ONE_THREAD = {"OMP_NUM_THREADS": "1"}
INPUTS = {}


# --- test_record_torch: the attention example alone, with workers, and under torchrun -------------

ATTENTION = "examples/attention/train.py"
SHORT = "--steps", "6", "--tokens", "32", "--dim", "32", "--values", "2048"
INPUTS["record_torch_attention"] = Input(
    program=(ATTENTION,), options=("-r", 25, "--operators", "collectives"), env=ONE_THREAD)
for _context in "fork", "spawn":
    INPUTS[f"record_torch_{_context}"] = Input(
        program=(ATTENTION, *SHORT, "--workers", "4", "--mp-context", _context),
        options=("-r", 25 if _context == "spawn" else 50, "--operators", "collectives"), env=ONE_THREAD)
INPUTS["record_torch_torchrun"] = Input(
    program=(ATTENTION, *SHORT), ranks=2, launcher="torchrun",
    options=("-r", 25, "--operators", "collectives"))


# --- test_torch: programs that know nothing of stepscope -------------------------------------------

NO_OPERATORS = (*FEW_SAMPLES, "--operators", "collectives")
INPUTS["torch_training"] = Input(
    program=("torch_training.py", "--steps", "12", "--evaluate", "--save", "{run}/net.pt"),
    options=NO_OPERATORS)
INPUTS["torch_training_sleep"] = Input(
    program=("torch_training.py", "--steps", "20", "--sleep", "0.01"),
    options=("-r", 50, "--host-interval", 5, "--operators", "collectives"))
LINEAR = "import torch\ntorch.set_num_threads(1)\nnet = torch.nn.Linear(64, 64)\n"
INPUTS["torch_backward_alone"] = Input(
    code=LINEAR + "for _ in range(50): net(torch.ones(8, 64)).sum().backward()\n",
    options=NO_OPERATORS)
INPUTS["torch_forward_alone"] = Input(
    code=LINEAR + "for _ in range(50): out = net(torch.ones(8, 64)).sum()\nout.backward()\n",
    options=FEW_SAMPLES)
INPUTS["torch_folds"] = Input(program=("torch_folds.py",), options=NO_OPERATORS)
OWN_PROFILER = """
import torch
from torch.profiler import ProfilerActivity, profile, schedule
x = torch.ones(64, 64)
with profile(activities=[ProfilerActivity.CPU], schedule=schedule(wait=0, warmup=0, active=6)) as own:
    for _ in range(6):
        torch.mm(x, x)
        own.step()
"""
INPUTS["torch_own_profiler"] = Input(code=OWN_PROFILER, options=("-r", 0.2, "--host-interval", 0))
for _how in "next", "late":
    INPUTS[f"torch_own_steps_{_how}"] = Input(
        program=("torch_own_steps.py", _how), package=True,
        options=(*NO_OPERATORS, "--schedule", "wait=2,active=3,repeat=2"))


# --- test_torch_workers: data of a known cost ------------------------------------------------------

LOADING = {
    "itself": ("--sleep", "0.01"),
    "four": ("--workers", "4", "--epochs", "2", "--compute", "0.03"),
    "two": ("--workers", "2"),
    "stream": ("--workers", "1", "--iterable", "--pin"),
    "spawned": ("--workers", "2", "--single", "--method", "spawn"),
    "crash": ("--workers", "1", "--crash"),
    "killed": ("--workers", "2", "--kill", "--method", "spawn", "--persistent"),
}
for _name, _words in LOADING.items():
    INPUTS[f"torch_workers_{_name}"] = Input(program=("torch_loading.py", *_words), options=NO_OPERATORS)
for _method in "fork", "forkserver":
    _program = "torch_loading.py", "--workers", "2", "--method", _method, "--steps", "24"
    INPUTS[f"torch_workers_window_{_method}"] = Input(
        program=_program, options=(*NO_OPERATORS, "--schedule", "wait=8,active=8,repeat=1"))
    INPUTS[f"torch_workers_files_{_method}"] = Input(
        program=_program, is_folder=True,
        options=(*NO_OPERATORS, "--schedule", "wait=8,active=4,repeat=2", "-o", "{out}/w{window}.pftrace"))


# --- test_torch_memory: programs that take and keep memory that is known ---------------------------

MEMORY = {
    "backward": ("--phase", "backward"),
    "kept": ("--keep", "4", "--steps", "120"),
    "fork": ("--phase", "forward", "--close", "--fork"),
    "device": ("--device", "--phase", "backward", "--mib", "512"),
}
for _name, _words in MEMORY.items():
    INPUTS[f"torch_memory_{_name}"] = Input(
        program=("torch_memory.py", *_words),
        options=FEW_SAMPLES if _name == "backward" else NO_OPERATORS)


# --- test_torch_operators, test_operators: each call of an operator --------------------------------

EVERY_OPERATOR = (*FEW_SAMPLES, "--operators", "all")
INPUTS["torch_operators"] = Input(program=("torch_operators.py",), options=EVERY_OPERATOR)
INPUTS["torch_operators_itt"] = Input(program=("torch_unknown.py", 4), options=EVERY_OPERATOR)
INPUTS["torch_operators_unknown"] = Input(program=("torch_unknown.py", 4), options=EVERY_OPERATOR,
                                          env={"INTEL_LIBITTNOTIFY64": "/nonexistent"})
INPUTS["torch_operators_copies"] = Input(program=("torch_copies.py",), options=EVERY_OPERATOR)
INPUTS["operators_marked"] = Input(program=("operators.py", 20), options=FEW_SAMPLES, package=True, needs=())
INPUTS["operators_none"] = Input(code="sum(range(10**7))\n", options=FEW_SAMPLES, needs=())
INPUTS["operators_profiled"] = Input(program=("torch_profiled.py", 4, 2), options=EVERY_OPERATOR)
INPUTS["operators_windows"] = Input(
    program=("torch_training.py", "--steps", 9),
    options=(*NO_OPERATORS, "--torch-profiler=shapes,memory,flops", "--torch-profiler-steps", "3:6"))


# --- test_torch_profiler: torch.profiler beside the callback and the program's own ------------------

def profiled(*arguments, details="", steps="3:5", **more):
    """The program's own torch.profiler, or else the recorder's in these steps."""
    asked = ("--torch-profiler" + details, "--torch-profiler-steps", steps) if steps else ()
    return Input(program=("torch_profiler_window.py", *arguments), options=(*EVERY_OPERATOR, *asked), **more)


INPUTS["torch_profiler_own"] = profiled("--own", "3:5", steps=None)
INPUTS["torch_profiler_ours"] = profiled(details="=shapes,memory,flops")
INPUTS["torch_profiler_stacks"] = profiled(details="=shapes,stacks")
INPUTS["torch_profiler_devices"] = profiled("--devices")
INPUTS["torch_profiler_both"] = profiled("--own", "4:5", steps="2:8")
INPUTS["torch_profiler_unknown"] = profiled(
    "--steps", "14", "--unknown", steps=None, env={"INTEL_LIBITTNOTIFY64": "/nonexistent"})  # nor is there ITT
INPUTS["torch_profiler_late"] = profiled(steps="100:110")
INPUTS["torch_profiler_schedule"] = Input(
    program=("torch_profiler_window.py",),
    options=(*EVERY_OPERATOR, "--schedule", "wait=1,warmup=1,active=2,repeat=2", "--torch-profiler"))


# --- test_kineto_recordings: a profiler of the program's own marks the steps that its optimizer ends -----

OWN_PROFILER = """\
import torch
torch.set_num_threads(1)
model = torch.nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=.1)
with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profiler:
    for _ in range(5):
        optimizer.zero_grad()
        model(torch.randn(3, 4)).sum().backward()
        optimizer.step()
        profiler.step()
"""
INPUTS["kineto_recordings_own_profiler"] = Input(code=OWN_PROFILER, options=EVERY_OPERATOR)


# --- test_memory_timeline: files of PyTorch's own profiler ----------------------------------------

MEMORY_PROFILE = """
import sys, torch
from torch.profiler import ProfilerActivity, profile

model = torch.nn.Sequential(torch.nn.Linear(256, 512), torch.nn.ReLU(), torch.nn.Linear(512, 10))
update = torch.optim.Adam(model.parameters())
with profile(activities=[ProfilerActivity.CPU], profile_memory=True, record_shapes=True,
             with_stack=True) as profiler:
    for _ in range(3):
        update.zero_grad()
        model(torch.randn(64, 256)).sum().backward()
        update.step()
        profiler.step()
profiler.export_memory_timeline(sys.argv[1] + "/sizes.json", device="cpu")
profiler.export_memory_timeline(sys.argv[1] + "/events.raw.json.gz", device="cpu")
profiler.export_chrome_trace(sys.argv[1] + "/trace.json.gz")
"""
INPUTS["memory_timeline_profile"] = Input(code=MEMORY_PROFILE, program=("{out}",), is_folder=True)


# --- test_program_profilers: a program whose torch.profiler exports while it trains ----------------------

INPUTS["program_profilers_schedule"] = Input(
    program=("torch_profiles_itself.py", "{run}"), env=ONE_THREAD,
    options=("-r", 50, "--host-interval", 0, "--operators", "collectives"))
INPUTS["program_profilers_inside"] = Input(
    program=("torch_profiles_itself.py", "{run}", "--inside"), options=NO_OPERATORS, env=ONE_THREAD)
