# SPDX-License-Identifier: Apache-2.0
"""Training loops of many kinds, each in a process of its own that is forked: none knows of
stepscope. Prints what they did as one line of JSON, by name: pid, updates, or why it failed.

    torch_loops.py NAME…      (without names: all of them)"""

import copy
import inspect
import io
import json
import os
import pickle
import sys
import threading
import time
import traceback

import torch
import torch._dynamo  # an optimizer wants it: once for all processes
import torch.utils.checkpoint
from torch import nn
from torch.utils.data import DataLoader


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(8, 8)
        self.last = nn.Linear(8, 1)

    def forward(self, x):
        return self.last(torch.relu(self.first(x)))


def sgd(net):
    return torch.optim.SGD(net.parameters(), 1e-4)


def batches(count=4):
    return DataLoader([torch.ones(8) for _ in range(2 * count)], batch_size=2)


def train(net, optimizer, count=4, forward=None):
    for x in batches(count):
        (net if forward is None else forward)(x).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
    return count


def plain():
    net = Net()
    return train(net, sgd(net))


def train_in_turn(steps):
    """Two layers, each with an optimizer of its own, which were both made before."""
    layers = [nn.Linear(8, 8), nn.Linear(8, 8)]
    optimizers = [sgd(layer) for layer in layers]
    for layer, optimizer in zip(layers, optimizers):
        train(layer, optimizer, steps)
    return 2 * steps


def layers_in_turn():
    return train_in_turn(6)


def long_layers_in_turn():
    return train_in_turn(30)


def late_second_optimizer():
    """A critic that is trained alone before its actor joins."""
    critic, actor = nn.Linear(8, 8), nn.Linear(8, 8)
    of_critic, of_actor = sgd(critic), sgd(actor)
    train(critic, of_critic, 30)
    for _ in range(6):
        train(critic, of_critic, 1)
        train(actor, of_actor, 1)
    return 36


def by_hand():
    net = Net()
    for x in batches(6):
        net(x).sum().backward()
        with torch.no_grad():
            for one in net.parameters():
                one.data.add_(one.grad, alpha=-1e-4)
                one.grad = None
    return 6


def infers():
    net = Net().eval()
    with torch.no_grad():
        for x in batches(6):
            net(x)
    return 6


def accumulates():
    net = Net()
    optimizer = sgd(net)
    for number, x in enumerate(batches(9)):
        net(x).sum().backward()
        if number % 3 == 2:
            optimizer.step()
            optimizer.zero_grad()
    return 3


def scaler_skips():
    """The second update has a gradient that is no number."""
    net = Net()
    optimizer = sgd(net)
    scaler = torch.amp.GradScaler("cpu")
    before = scaler.get_scale()
    for number, x in enumerate(batches(4)):
        loss = net(x).sum() * (float("inf") if number == 1 else 1)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
    assert scaler.get_scale() < before
    return 4


def two_optimizers():
    net = Net()
    both = [sgd(net.first), torch.optim.Adam(net.last.parameters())]
    for x in batches(4):
        net(x).sum().backward()
        for optimizer in both:
            optimizer.step()
    return 4


def rare_second_optimizer():
    """As in a GAN: Adam steps at every other batch only."""
    net = Net()
    first, second = sgd(net.first), torch.optim.Adam(net.last.parameters())
    for number, x in enumerate(batches(8)):
        net(x).sum().backward()
        first.step()
        if number % 2:
            second.step()
    return 8


def with_closure():
    net = Net()
    optimizer = torch.optim.LBFGS(net.parameters(), max_iter=3)
    for x in batches(4):
        def closure(x=x):
            optimizer.zero_grad()
            loss = (net(x) ** 2).sum()
            loss.backward()
            return loss
        optimizer.step(closure)
    return 4


def subclassed():
    class Mine(torch.optim.SGD):
        def step(self, closure=None):
            return super().step(closure)
    net = Net()
    return train(net, Mine(net.parameters(), 1e-4))


def scheduled():
    net = Net()
    optimizer = sgd(net)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1)
    for x in batches(4):
        net(x).sum().backward()
        optimizer.step()
        scheduler.step()
    return 4


def checkpointed():
    """The backward computes the forward again."""
    net = Net()
    forward = lambda x: torch.utils.checkpoint.checkpoint(net, x, use_reentrant=False)  # noqa
    return train(net, sgd(net), forward=forward)


def reentrant():
    net = Net()
    forward = lambda x: torch.utils.checkpoint.checkpoint(  # noqa
        net, x.requires_grad_(), use_reentrant=True)
    return train(net, sgd(net), forward=forward)


def evaluates():
    net = Net()
    updates = train(net, sgd(net), 2)
    with torch.no_grad():
        net(torch.ones(2, 8))
    net.eval()
    net(torch.ones(2, 8))
    net.train()
    return updates + train(net, sgd(net), 2)


def evaluates_with_its_loss():
    """In ways to switch gradients off. Behind the model 40 ms pass as its loss, and then 40 ms more."""
    net, x = Net(), torch.ones(2, 8)
    optimizer = sgd(net)

    def evaluate():
        net(x)
        time.sleep(0.04)

    def in_two_contexts():
        with torch.no_grad():
            with torch.no_grad():
                net(x)
            time.sleep(0.04)

    def with_functions():
        torch.set_grad_enabled(False)
        evaluate()
        torch.set_grad_enabled(True)

    def with_an_error():
        try:
            with torch.no_grad():
                evaluate()
                raise ValueError
        except ValueError:
            pass

    def in_batches():
        for _ in batches(2):
            with torch.inference_mode():
                net(x)
        with torch.set_grad_enabled(False):
            evaluate()
    ways = (torch.no_grad()(evaluate), torch.inference_mode()(evaluate), in_two_contexts, with_functions,
            with_an_error, in_batches)
    for way in ways:
        train(net, optimizer, 1)
        net.eval()
        way()
        time.sleep(0.04)
        net.train()
    return train(net, optimizer, 1) + len(ways)


def teaches():
    """A teacher in eval mode that no optimizer has."""
    teacher, net = Net().eval(), Net()

    def forward(x):
        with torch.no_grad():
            wanted = teacher(x)
        return net(x) - wanted
    return train(net, sgd(net), 4, forward)


def trains_in_eval_mode():
    """As fine-tuning with frozen statistics does."""
    net = Net().eval()
    return train(net, sgd(net), 4)


def saves():
    net = Net()
    updates = train(net, sgd(net), 2)
    file = io.BytesIO()
    torch.save(net.state_dict(), file)
    file.seek(0)
    torch.load(file)
    return updates + train(net, sgd(net), 2)


def in_thread():
    updates = []
    thread = threading.Thread(target=lambda: updates.append(plain()))
    thread.start()
    thread.join()
    return updates[0]


def in_thread_without_loader():
    """The main thread imports torch, and that is all."""
    def run():
        net = Net()
        optimizer = sgd(net)
        for _ in range(4):
            net(torch.ones(2, 8)).sum().backward()
            optimizer.step()
    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    return 4


def without_modules():
    weight = torch.ones(8, requires_grad=True)
    optimizer = torch.optim.SGD([weight], 1e-4)
    for _ in range(4):
        (weight * 2).sum().backward()
        optimizer.step()
    return 4


def fails():
    """Exceptions in a forward, a backward, a collate function and an optimizer."""
    class Fails(torch.autograd.Function):
        @staticmethod
        def forward(context, x):
            return x.clone()

        @staticmethod
        def backward(context, gradient):
            raise ValueError("backward")

    class FailingSgd(torch.optim.SGD):
        def step(self, closure=None):
            raise ValueError("step")

    def collate(samples):
        raise ValueError("collate")

    net = Net()
    calls = [lambda: net(torch.ones(2, 9)), lambda: Fails.apply(net(torch.ones(2, 8))).sum().backward(),
             lambda: next(iter(DataLoader([1, 2], batch_size=2, collate_fn=collate))),
             FailingSgd(net.parameters(), 1e-4).step]
    optimizer = sgd(net)
    updates = train(net, optimizer, 2)
    for call in calls:
        try:
            call()
            raise AssertionError("no exception")
        except (RuntimeError, ValueError):
            time.sleep(0.02)
    return updates + train(net, optimizer, 2)


def compiles():
    """Neither graph breaks nor compiles again, beyond what it does without being recorded."""
    import torch._dynamo.utils
    torch._dynamo.reset()
    net, counters = Net(), torch._dynamo.utils.counters
    counters.clear()
    optimizer = sgd(net)
    forward = torch.compile(net, backend="eager", fullgraph=True)
    updates = train(net, optimizer, 4, forward)
    modules = torch.compile(nn.Sequential(Net(), nn.Linear(1, 1)), backend="eager", fullgraph=True)
    for size in (2, 2, 3, 4):
        modules(torch.ones(size, 8)).sum().backward()
    for step in (torch.compile(lambda: optimizer.step(), backend="eager"),
                 torch.compile(optimizer.step, backend="eager")):
        for _ in range(3):
            net(torch.ones(2, 8)).sum().backward()
            step()
            updates += 1
    counted = {kind: dict(values) for kind, values in counters.items()}
    return updates, {"graph_break": counted.get("graph_break", {}), "stats": counted.get("stats"),
                     "frames": counted.get("frames")}


def compiles_a_step():
    """No module of ours is called, and the update is inside."""
    import torch._dynamo.utils
    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()
    net = Net()
    optimizer = sgd(net)

    def step(x):
        loss = net(x).sum()
        loss.backward()
        optimizer.step()
        return loss
    compiled = torch.compile(step, backend="aot_eager")
    for _ in range(4):
        compiled(torch.ones(2, 8))
    breaks = dict(torch._dynamo.utils.counters["graph_break"])
    return 4, {"graph_break": breaks, "stats": dict(torch._dynamo.utils.counters["stats"])}


class Odd(nn.Module):
    """Can be in no set."""
    __hash__ = None

    def __eq__(self, other):
        raise ValueError("eq")

    def named_modules(self, *args, **kwargs):
        raise ValueError("named_modules")

    def forward(self, x):
        return x


def deepest_call(limit=400):
    """How many modules in modules Python bears: in a thread, where no caller's frames count."""
    class Outer(nn.Module):
        def __init__(self, inner):
            super().__init__()
            self.inner = inner

        def forward(self, x):
            return self.inner(x)

    depths = []

    def nest():
        net = nn.Identity()
        for depth in range(limit):
            depths.append(depth)
            try:
                net(0)
            except RecursionError:
                return
            net = Outer(net)
    thread = threading.Thread(target=nest)
    thread.start()
    thread.join()
    return depths[-1]


def modules_may_be_odd():
    net = Net()
    assert Odd()(1) == 1
    nn.Sequential(Odd(), Odd())(1)
    net.add_module("not utf-8: \udc80; \n", nn.Linear(1, 1))
    iterator = iter(batches())
    next(iterator)
    fetcher = copy.deepcopy(iterator._dataset_fetcher)
    assert fetcher.collate_fn is torch.utils.data.default_collate
    assert b"stepscope" not in pickle.dumps(iterator._dataset_fetcher)
    is_in_place = hasattr(nn.Module, "_wrapped_call_impl")  # before torch 2.1 a call of ours is added
    return train(net, sgd(net), 3), deepest_call() if is_in_place else None


def torch_can_do_all_it_does():
    """Introspection of modules and functions gives the same as without stepscope."""
    net, x = Net(), torch.ones(2, 8)
    wanted = net(x)
    same = [torch.jit.trace(net, x), torch.jit.script(net), copy.deepcopy(net),
            torch.fx.symbolic_trace(net), pickle.loads(pickle.dumps(net)),
            torch.export.export(net, (x,)).module()]
    file = io.BytesIO()
    torch.save(net, file)
    file.seek(0)
    same.append(torch.load(file, weights_only=False))
    for one in same:
        assert torch.equal(one(x), wanted), one
    assert list(inspect.signature(torch.save).parameters)[:2] == ["obj", "f"]
    assert list(inspect.signature(DataLoader.__iter__).parameters) == ["self"]
    assert "closure" in inspect.signature(torch.optim.SGD.step).parameters
    assert "tensors" in inspect.signature(torch.autograd.backward).parameters
    assert torch.optim.SGD.step.__name__ == "step"
    optimizer = copy.deepcopy(sgd(net))
    pickle.loads(pickle.dumps(optimizer))
    pickle.loads(pickle.dumps(batches()))
    net(x).sum().backward()
    optimizer.step()
    return 1


LOOPS = [plain, layers_in_turn, long_layers_in_turn, late_second_optimizer, by_hand, infers,
         accumulates, scaler_skips, two_optimizers, rare_second_optimizer, with_closure, subclassed, scheduled, checkpointed, reentrant,
         evaluates, evaluates_with_its_loss, teaches, trains_in_eval_mode, saves, in_thread, in_thread_without_loader,
         without_modules, fails, compiles, compiles_a_step, modules_may_be_odd,
         torch_can_do_all_it_does]


def run_in_child(loop):
    """What the loop says: from a process of its own."""
    out, into = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            result = loop()
            updates, more = result if isinstance(result, tuple) else (result, None)
            text = json.dumps({"pid": os.getpid(), "updates": updates, "more": more})
        except BaseException:  # noqa: the test reports it
            text = json.dumps({"pid": os.getpid(), "error": traceback.format_exc()})
        os.write(into, text.encode())
        os._exit(0)
    os.close(into)
    with os.fdopen(out) as said:
        text = said.read()
    os.waitpid(pid, 0)
    return json.loads(text or '{"error": "it died"}')


torch.set_num_threads(1)
print(json.dumps({loop.__name__: run_in_child(loop) for loop in LOOPS
                  if loop.__name__ in sys.argv[1:] or len(sys.argv) == 1}))
