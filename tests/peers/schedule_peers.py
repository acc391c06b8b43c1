# SPDX-License-Identifier: Apache-2.0
"""The schedule functions that stepscope's must equal, to compare with: torch.profiler.schedule, and
Composer's cyclic_schedule from the released package, without its dependencies (they include
PyTorch), in a folder of the build tree.

As a program it writes tests/golden/schedule/: the tables that the real functions gave."""

import enum
import importlib.util
import json
import pathlib
import subprocess
import sys
import types
import warnings

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = ROOT / "build" / "peers" / "composer"
PACKAGE = FOLDER / "composer" / "profiler"
VERSION = "0.32.1"
GOLDEN = ROOT / "tests" / "golden" / "schedule"
ACTIONS = {"NONE": "skip", "SKIP": "skip", "WARMUP": "warmup", "RECORD": "record",
           "ACTIVE": "record", "RECORD_AND_SAVE": "record_and_save",
           "ACTIVE_AND_SAVE": "record_and_save"}


def torch_actions(arguments, steps):
    """The actions of steps 0, 1, …; None where torch refuses the arguments. ImportError without
    torch, or with one that lacks skip_first_wait."""
    from torch.profiler import schedule
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            function = schedule(**arguments)
        except AssertionError:
            return None
        except TypeError as error:
            raise ImportError(f"this torch is too old: {error}") from None
    return [ACTIONS[function(step).name] for step in range(steps)]


def _install_composer():
    pip = [sys.executable, "-m", "pip", "install", "-q", "--disable-pip-version-check",
           "--no-deps", "--target", str(FOLDER), f"mosaicml=={VERSION}"]
    done = subprocess.run(pip, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=300, check=False)
    if done.returncode != 0:
        raise ImportError((done.stderr.strip().splitlines() or ["pip failed"])[-1])


def _load(name, path):
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def load_composer():
    """The real cyclic_schedule; ImportError says why it is missing. Of the rest of the package its
    module asks only for a base class of enumerations and for a name in annotations."""
    if not (PACKAGE / "profiler_schedule.py").exists():
        try:
            _install_composer()
        except (OSError, subprocess.SubprocessError) as error:
            raise ImportError(f"mosaicml {VERSION} could not be installed: {error}") from None
    before = {name: module for name, module in sys.modules.items()
              if name.split(".")[0] == "composer"}
    try:
        for name, content in {"composer": {}, "composer.core": {}, "composer.profiler": {},
                              "composer.core.state": {"State": object},
                              "composer.utils": {"StringEnum": enum.Enum}}.items():
            sys.modules[name] = types.ModuleType(name)
            vars(sys.modules[name]).update(content)
        _load("composer.profiler.profiler_action", PACKAGE / "profiler_action.py")
        module = _load("composer.profiler.profiler_schedule", PACKAGE / "profiler_schedule.py")
    finally:
        for name in [name for name in sys.modules if name.split(".")[0] == "composer"]:
            del sys.modules[name]
        sys.modules.update(before)
    return module.cyclic_schedule


def composer_actions(cyclic_schedule, arguments, lengths, resume_at=0, unknown_length=False):
    """[(epoch, batch, action), …]. Composer applies the resume offset in every epoch; stepscope in
    the resumed one only, so the later ones are asked without it."""
    function = cyclic_schedule(**arguments)
    rows = []
    for epoch, length in enumerate(lengths):
        for batch in range(length):
            state = types.SimpleNamespace(
                timestamp=types.SimpleNamespace(batch_in_epoch=batch),
                dataloader_len=None if unknown_length else length,
                profiler=types.SimpleNamespace(
                    resumption_batch_idx=resume_at if epoch == 0 else 0))
            rows.append((epoch, batch, ACTIONS[function(state).name]))
    return rows


TORCH_CASES = [
    dict(wait=5, warmup=1, active=3, repeat=2), dict(wait=1, warmup=1, active=2),
    dict(wait=0, warmup=0, active=1), dict(wait=0, warmup=0, active=4, repeat=1),
    dict(wait=1, warmup=0, active=1, repeat=3), dict(wait=0, warmup=2, active=2, skip_first=3),
    dict(wait=5, warmup=2, active=3, skip_first=10),
    dict(wait=20, warmup=1, active=2, skip_first=10, skip_first_wait=1),
    dict(wait=3, warmup=1, active=2, repeat=2, skip_first=2, skip_first_wait=1),
    dict(wait=3, warmup=1, active=2, repeat=2, skip_first=0, skip_first_wait=7),
    dict(wait=4, warmup=0, active=1, repeat=1, skip_first=1, skip_first_wait=1),
    dict(wait=7, warmup=3, active=5, repeat=0, skip_first=1),
    dict(wait=100, warmup=1, active=1, repeat=1), dict(wait=0, warmup=7, active=1, repeat=4),
]

COMPOSER_CASES = [
    (dict(), [12, 12], 0, False), (dict(), [5], 0, False), (dict(), [3, 4, 5], 0, False),
    (dict(), [3, 12], 0, True),
    (dict(skip_first=1, wait=1, warmup=1, active=2, repeat=1), [12, 12], 0, False),
    (dict(skip_first=1, wait=1, warmup=1, active=2, repeat=2), [12, 12], 0, False),
    (dict(skip_first=1, wait=1, warmup=1, active=2, repeat=0), [12, 12], 0, False),
    (dict(skip_first=1, wait=1, warmup=1, active=2, repeat=0), [12, 12], 0, True),
    (dict(wait=2, warmup=0, active=1, repeat=3), [7, 8], 0, False),
    (dict(warmup=0, active=1, repeat=0), [4, 4], 0, False),
    (dict(skip_first=2, wait=1, warmup=1, active=3, repeat=1), [12, 12], 4, False),
    (dict(skip_first=2, wait=1, warmup=1, active=3, repeat=1), [12, 12], 9, False),
    (dict(wait=1, warmup=1, active=3, repeat=0), [12, 12], 5, True),
    (dict(wait=0, warmup=1, active=4, repeat=1), [12, 12], 12, False),
]


def _write_golden():
    import torch
    torch_tables = [{"arguments": arguments, "actions": torch_actions(arguments, 60)}
                    for arguments in TORCH_CASES]
    cyclic_schedule = load_composer()
    composer_tables = [
        {"arguments": arguments, "lengths": lengths, "resume_at": resume_at,
         "unknown_length": unknown,
         "rows": composer_actions(cyclic_schedule, arguments, lengths, resume_at, unknown)}
        for arguments, lengths, resume_at, unknown in COMPOSER_CASES]
    GOLDEN.mkdir(exist_ok=True)
    for name, source, tables in (
            ("torch", f"torch {torch.__version__}: torch.profiler.schedule", torch_tables),
            ("composer", f"mosaicml {VERSION}: composer.profiler.cyclic_schedule, the resume "
             "offset in the first epoch only", composer_tables)):
        lines = ",\n".join("  " + json.dumps(table) for table in tables)
        (GOLDEN / f"{name}.json").write_text(
            f'{{"source": {json.dumps(source)},\n"made_by": "python tests/peers/schedule_peers.py",'
            f'\n"tables": [\n{lines}\n]}}\n')


if __name__ == "__main__":
    _write_golden()
