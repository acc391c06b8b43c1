# SPDX-License-Identifier: Apache-2.0
"""A small training with the PyTorch hooks, whose functions of libstepscope are fakes that raise.

The hooks are loaded as libstepscope loads them. First the parts of the training run without them,
then with them, which shows which hook calls which function in which part. Then, for each such pair,
a part runs in which that function raises when that hook calls it, and one in which a signal handler
of the program raises there. Last, parts of the program raise. Prints what was observed as JSON.

    torch_guarded.py"""

import ast
import contextlib
import gc
import io
import itertools
import json
import os
import pathlib
import re
import signal
import sys
import tempfile
import traceback
import types

import torch
import torch.distributed._functional_collectives as functional
from torch import nn
from torch.utils import checkpoint
from torch.utils.data import DataLoader, Dataset

ROOT = pathlib.Path(__file__).resolve().parents[2]
HOOKS = ROOT / "src" / "inject" / "torch_hooks"


class Injected(RuntimeError):
    """An exception of a hook."""


def fail():
    raise Injected("injected")


# A function of libstepscope has no frame of its own: the innermost is that of the hook.
fail = types.FunctionType(fail.__code__.replace(co_filename="<stepscope fake>"), globals())


class Interrupted(Exception):
    """An exception of the program's signal handler."""


# --- a stand-in for libstepscope ------------------------------------------------------------------

class Library:
    """Its functions, by the names that the hooks import. `calls`: the pairs of hook and function."""

    def __init__(self, texts):
        self.calls, self.hooks, self.facts = set(), {}, []
        self.target, self.inject, self.is_injected = None, None, False
        self.depth, self.phase, self.names, self.numbers = 0, 0, {}, itertools.count(1)
        self.updates = 0
        imported = {one.name for text in texts.values() for node in ast.walk(ast.parse(text))
                    if isinstance(node, ast.ImportFrom) and node.module == "libstepscope"
                    for one in node.names}
        self.functions = {name: self.make(name) for name in imported}

    def begin(self, target):
        self.target = None
        gc.collect()  # what the exception before kept alive: its finalizers call hooks, too
        self.target, self.is_injected = target, False
        self.depth = self.phase = 0

    def make(self, name):
        answer = getattr(self, name, None)

        def function(*arguments):
            hook = self.find_hook(sys._getframe().f_back)
            if hook is not None and name != "on_collection":
                self.hooks[hook.name] = hook
                self.calls.add((hook.name, name))
                if (hook.name, name) == self.target:
                    self.is_injected = True
                    self.inject()
            return answer(*arguments) if answer is not None else 0
        return function

    def find_hook(self, frame):
        """The innermost hook that is being called."""
        while frame is not None:
            if frame.f_code.co_filename.startswith("<stepscope "):
                if frame.f_code.co_name in ("failed", "_note"):
                    return None  # it leaves a note
                hook = frame.f_locals.get("hook")
                if hook is not None:
                    return hook
            frame = frame.f_back
        return None

    def define_name(self, text):
        return next(self.numbers)

    define_domain = define_name

    def define_counter(self, name, unit, quantity=0):
        return next(self.numbers)

    def read_settings(self):
        return "operators=off,flops=0"

    def make_reducer(self, group):
        return 1

    def add_bucket(self, *described):
        return 1

    def current_recording(self):
        return 1

    def current_action(self):
        return -1

    def end_check(self):
        return ""

    def push(self, *_):
        return 1

    def enter_phase(self, phase):
        before, self.phase = self.phase, phase
        return before

    def leave_phase(self, before):
        if before >= 0:
            self.phase = before

    def current_phase(self):
        return self.phase

    def count_updates(self, more):
        self.updates += more
        return self.updates

    def is_poll_due(self):
        return self.updates < 64 or self.updates % 16 == 0

    def set_fact_text(self, key, text):
        self.facts.append((key, text))

    set_fact = set_fact_text

    def enter_module(self, module):
        self.depth += 1
        return 2 if self.depth == 1 else 1 if id(module) in self.names else 3

    def push_module(self, module):
        return 1

    def leave_module(self, call):
        self.depth -= 1

    def name_module(self, module, name):
        self.names[id(module)] = name

    def forget_module(self, number):
        self.names.pop(number, None)

    def is_module_named(self, module):
        return id(module) in self.names


def read_names():
    """The file "names", which libstepscope generates."""
    rows = re.findall(r'^SS_SHARED_NAME\((\w+), (\w+), ("[^"]*"),',
                      (ROOT / "src" / "base" / "shared_names.def").read_text(), re.M)
    return "".join(f"{kind}_{name}".upper() + f" = {text}\n" for kind, name, text in rows)


def load_hooks():
    files = [*HOOKS.glob("*.py"), ROOT / "python" / "stepscope" / "_deepspeed.py"]
    texts = {path.stem: path.read_text() for path in files}
    texts["names"] = read_names()
    library, namespace = Library(texts), {}
    exec(compile(texts.pop("loader"), "<stepscope torch.loader>", "exec"), namespace)
    before = set(sys.modules)
    namespace["load"](texts, library.functions)
    assert not [name for name in set(sys.modules) - before if "stepscope" in name]
    return library, namespace["modules"]


# --- the training ---------------------------------------------------------------------------------

class Numbers(Dataset):
    error = None

    def __len__(self):
        return 8

    def __getitem__(self, index):
        if Numbers.error is not None:
            raise Numbers.error
        return torch.full((4,), index / 8)


class Net(nn.Module):
    error = None

    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Linear(4, 8), nn.Linear(8, 1)

    def forward(self, x):
        if Net.error is not None:
            raise Net.error
        hidden = checkpoint.checkpoint(self.first, x, use_reentrant=True)
        return self.last(hidden.relu())


class DeepSpeedEngine:
    """What a hook needs of the one of DeepSpeed."""

    def __init__(self, optimizer):
        self.optimizer, self.global_steps = optimizer, 0

    def step(self):
        self.optimizer.step()
        self.global_steps += 1

    def backward(self, loss):
        loss.backward()

    def save_checkpoint(self):
        return "saved"


def add_framework():
    module = types.ModuleType("deepspeed.runtime.engine")
    module.DeepSpeedEngine = DeepSpeedEngine
    sys.modules["deepspeed.runtime.engine"] = module


def double(x):
    return (x * 2).sum()


def communicate(_, bucket):
    """A communication hook."""
    work = torch.distributed.all_reduce(bucket.buffer(), async_op=True)
    return work.get_future().then(lambda done: done.value()[0])


def compile_anew(function):
    """What was compiled before is not compiled again."""
    return torch.compile(types.FunctionType(function.__code__.replace(), globals()),
                         backend="aot_eager")


def train_loops():
    """Modules, data loaders, optimizers, a scaler, a framework, files."""
    torch.manual_seed(0)
    net, losses = Net(), []
    optimizer = torch.optim.SGD(net.parameters(), 0.1)
    engine = DeepSpeedEngine(torch.optim.Adam(net.parameters(), 0.01))
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0)
    for _ in range(2):
        for x in DataLoader(Numbers(), batch_size=4):
            x.requires_grad_()
            loss = net(x).square().mean()
            optimizer.zero_grad()
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
            scaler.scale(net(x).sum() * float("inf")).backward()
            scaler.step(optimizer)  # skipped
            scaler.update(2.0)
            optimizer.zero_grad()
            engine.backward(net(x).square().mean())
            engine.step()
            losses.append(loss.item())
        net.eval()
        with torch.no_grad():
            losses.append(net(torch.ones(2, 4)).sum().item())
        net.train()
    x = torch.ones(3, requires_grad=True)
    losses += torch.autograd.grad(double(x), x)[0].tolist()
    torch.save(net.state_dict(), io.BytesIO())
    losses.append(engine.save_checkpoint())
    return losses


def load_in_worker():
    return [len(list(DataLoader(Numbers(), batch_size=2, num_workers=1)))]


def communicate_alone():
    """Collectives of a group of one."""
    torch.manual_seed(0)
    net, reduced = Net(), torch.ones(2)
    torch.distributed.all_reduce(reduced)
    losses = reduced.tolist()
    torch.distributed.all_reduce(net.last.weight)
    flat = torch._utils._flatten_dense_tensors([net.first.weight, net.first.bias])
    torch.distributed.all_reduce(flat)
    losses.append(flat.sum().item())
    return losses + functional.wait_tensor(functional.all_reduce(
        reduced, "sum", torch.distributed.group.WORLD)).tolist()


def run_compiled():
    return [compile_anew(double)(torch.ones(3, requires_grad=True)).item()]


def reduce_gradients():
    torch.manual_seed(0)
    parallel = nn.parallel.DistributedDataParallel(nn.Linear(4, 1))
    parallel.register_comm_hook(None, communicate)
    parallel(torch.ones(2, 4)).sum().backward()
    return [parallel.module.weight.grad.sum().item()]


PARTS = (train_loops, load_in_worker, communicate_alone, run_compiled, reduce_gradients)


def run_part(part):
    """All numbers that it computes."""
    numbers = part()
    gc.collect()  # finalizers are hooks, too
    return numbers


def run_all():
    return [run_part(part) for part in PARTS]


def find_parts(library):
    """{(hook, function): the first part that calls it, and its place}"""
    found = {}
    for number, part in enumerate(PARTS):
        library.calls.clear()
        run_part(part)
        found.update({pair: (number, part) for pair in library.calls if pair not in found})
    return sorted(found.items())


def frames_of_ours(error):
    return sum(frame.filename.startswith("<stepscope ")
               for frame in traceback.extract_tb(error.__traceback__))


def depths(modules):
    thread = modules["state"].local.thread
    return [thread.in_data, thread.in_optimizer, thread.in_checkpoint]


def fail_each(library, modules, alone):
    """[hook, function, whether it was called, whether the results are the same, whether the hook is
    off, notes, depths]"""
    parts = find_parts(library)
    library.inject = fail
    for target, (number, part) in parts:
        library.begin(target)
        library.updates = 0
        library.facts.clear()
        modules["guard"]._notes.clear()
        hook = library.hooks[target[0]]
        is_same = run_part(part) == alone[number]
        notes = [text for key, text in library.facts if key == "torch.hooks"]
        yield [*target, library.is_injected, is_same, not hook.is_on, notes, depths(modules)]
        hook.is_on = True


def end_workers():
    """Ends the workers of loaders whose end was interrupted: when one dies later, PyTorch raises in
    whatever the main thread does then."""
    while torch.multiprocessing.active_children():
        with contextlib.suppress(RuntimeError):
            for worker in torch.multiprocessing.active_children():
                worker.terminate()
                worker.join()


def interrupt_each(library):
    """[hook, function, whether it was called, whether the exception of the handler reached the
    program, whether the hook is still on]"""
    def handle(*_):
        raise Interrupted
    signal.signal(signal.SIGUSR1, handle)
    parts = find_parts(library)
    library.inject = lambda: signal.raise_signal(signal.SIGUSR1)
    for target, (_, part) in parts:
        library.begin(target)
        try:
            run_part(part)
            reached = False
        except Exception as error:
            while error is not None and not isinstance(error, Interrupted):
                error = error.__cause__ or error.__context__  # the compiler raises its own
            reached = error is not None
        yield [*target, library.is_injected, reached, library.hooks[target[0]].is_on]
        library.begin(None)
        end_workers()


def raise_each():
    """[what raises, whether it is the same exception, its cause and context, frames of ours]"""
    def closure():
        raise error

    class Unsaved:
        def __reduce__(self):
            raise error
    net = Net()
    optimizer = torch.optim.SGD(net.parameters(), 0.1)
    calls = {"forward": lambda: net(torch.ones(1, 4)), "step": lambda: optimizer.step(closure),
             "next": lambda: next(iter(DataLoader(Numbers()))),
             "save": lambda: torch.save(Unsaved(), io.BytesIO())}
    for name, call in calls.items():
        for error in KeyError("the program's"), KeyboardInterrupt(), StopIteration():
            Net.error = error if name == "forward" else None
            Numbers.error = error if name == "next" else None
            try:
                call()
            except BaseException as caught:
                yield [name, caught is error, caught.__cause__ is None,
                       caught.__context__ is None, frames_of_ours(caught)]


def main():
    torch.set_num_threads(1)
    folder = tempfile.mkdtemp()
    torch.distributed.init_process_group("gloo", init_method=f"file://{folder}/group", rank=0,
                                         world_size=1)
    add_framework()
    alone = run_all()
    library, modules = load_hooks()
    assert run_all() == alone  # and all hooks of late modules are there
    gc.collect()
    gc.freeze()  # a collection takes 0.15 s for torch alone, and each part ends with one
    done = {"failures": list(fail_each(library, modules, alone))}
    library.begin(None)
    assert run_all() == alone
    done["signals"] = list(interrupt_each(library))
    library.begin(None)
    done["errors"] = list(raise_each())
    print(json.dumps(done), flush=True)
    os._exit(0)


if __name__ == "__main__":
    main()
