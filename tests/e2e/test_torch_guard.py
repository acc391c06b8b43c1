# SPDX-License-Identifier: Apache-2.0
"""The PyTorch hooks never change what a program does: not when they fail, and not when it raises."""

import ast
import builtins
import json
import pathlib
import subprocess
import sys

import pytest
from conftest import need_module

ROOT = pathlib.Path(__file__).resolve().parents[2]
HOOKS = ROOT / "src" / "inject" / "torch_hooks"
WORKLOAD = ROOT / "tests" / "workloads" / "torch_guarded.py"
need_module("torch")

# What a hook does at its first call only.
ONCE = {"define_group", "set_implicit_group"}
ONCE_OF_A_HOOK = {("torch._utils._flatten_dense_tensors", "define_name"),
                  ("torch.distributed.all_reduce", "define_name")}
# A hook may continue without a fact.
FACTS = {"set_fact", "set_fact_text"}
ALL = {"CheckpointFunction.forward", "DataLoader.__iter__", "DeepSpeedEngine.backward",
       "DeepSpeedEngine.save_checkpoint", "DeepSpeedEngine.step", "GradScaler.step",
       "Module.__call__", "SGD.step", "Work.wait", "_BaseDataLoaderIter.__next__",
       "_MapDatasetFetcher.fetch", "_MultiProcessingDataLoaderIter._shutdown_workers",
       "collate_fn", "compilation begin", "compilation end", "compiled graph", "deleted module",
       "set_grad_enabled.__init__", "torch.autograd.backward", "torch.autograd.grad",
       "torch.distributed.all_reduce", "torch.save"}


@pytest.fixture(scope="module")
def observed():
    """What the program observed, in one run: [rows] of failures, signals and errors."""
    done = subprocess.run([sys.executable, "-W", "ignore", WORKLOAD],
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=900,
                          check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_a_hook_that_fails_is_switched_off_and_named(observed):
    """Each hook, at each function of libstepscope that it calls."""
    rows, failed = observed["failures"], set()
    for hook, function, is_called, is_same, is_off, notes, depths in rows:
        assert is_same, (hook, function)
        assert depths == [0, 0, 0], (hook, function)
        if not is_called:
            assert function in FACTS | ONCE or (hook, function) in ONCE_OF_A_HOOK, (hook, function)
        elif is_off or function not in FACTS:
            assert is_off, (hook, function)
            assert notes == [f"{hook} switched off: Injected: injected"]
            failed.add(hook)
        else:
            assert [note.split(": ")[-1] for note in notes] == ["injected"]
    assert failed >= ALL, ALL - failed


def test_exceptions_of_signal_handlers_reach_the_program(observed):
    """Also those that are raised while a hook runs; not from finalizers, as everywhere in Python."""
    reached = set()
    for hook, function, is_called, has_reached, is_on in observed["signals"]:
        assert is_on, (hook, function)
        if is_called and not hook.startswith("deleted "):
            assert has_reached, (hook, function)
            reached.add(hook)
    assert len(reached) >= len(ALL) - 2


def test_exceptions_of_the_program_are_as_without_hooks(observed):
    assert len(observed["errors"]) == 12
    for name, is_same, has_no_cause, has_no_context, frames in observed["errors"]:
        assert is_same and has_no_cause and has_no_context, name
        # The iterator's and the fetcher's, and that of a data set whose samples are timed.
        assert frames in ((2, 3) if name == "next" else (1,)), name


def test_wrappers_are_made_by_the_guard():
    """functools.wraps, setattr and assignments to functions of torch: only where the guard is."""
    wrapping = {path.name for path in HOOKS.glob("*.py") if "functools.wraps" in path.read_text()}
    assert wrapping == {"guard.py", "modules.py"}
    replacing = {path.name for path in HOOKS.glob("*.py") for node in ast.walk(
        ast.parse(path.read_text())) if isinstance(node, ast.Call)
        and getattr(node.func, "id", "") == "setattr"}
    assert replacing == {"guard.py", "collectives.py", "loader.py"}


def test_names_that_are_used_are_defined_or_imported():
    for path in HOOKS.glob("*.py"):
        tree = ast.parse(path.read_text())
        stored = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)
                  and not isinstance(node.ctx, ast.Load)}
        stored |= {node.name for node in ast.walk(tree) if isinstance(
            node, (ast.FunctionDef, ast.ClassDef, ast.ExceptHandler)) and node.name}
        stored |= {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
        stored |= {(one.asname or one.name).split(".")[0] for node in ast.walk(tree)
                   if isinstance(node, (ast.Import, ast.ImportFrom)) for one in node.names}
        loaded = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
        assert loaded - stored <= set(dir(builtins)), path
