# SPDX-License-Identifier: Apache-2.0
"""Installs the hooks, once torch is imported, and applies the settings of later recordings.

The files that are imported here read no attribute of torch before their functions are called: what
this torch lacks is then missing for one hook, not for all."""

import gc

# Hooks of modules that may be imported later register themselves.
from . import checkpoints, collectives, compiler, frameworks  # noqa: also unused ones
from .checkpoints import hook_save
from .compiler import hook_compile
from .facts import record_cpu, record_thread_counts, record_versions
from .guard import attempt, measure_wrappers
from .late import scan_modules
from .libstepscope import on_collection, set_fact_text, stop_operators, watch_memory
from .loaders import hook_loaders
from .modules import forget_names, hook_modules
from .names import FACT_TORCH_OPERATORS
from .operators import record_operators
from .optimizers import hook_optimizers, hook_scalers
from .phases import hook_backward, hook_gradients
from .settings import settings
from .steps import reset_boundary


def configure():
    """A program that records itself starts another recording: applies its settings."""
    depth, optimizer = settings.depth, settings.optimizer
    settings.read()
    stop_operators()
    if settings.optimizer != optimizer:
        reset_boundary()
    if settings.is_off():
        set_fact_text(FACT_TORCH_OPERATORS, "off: the program leaves torch out")
        return
    if settings.depth > depth:
        forget_names()
    attempt(record_operators)


def hook_profiler():
    from . import profiler  # needs more of torch
    profiler.hook_profiler()


def hook_program_profilers():
    from . import program_profilers  # needs more of torch
    program_profilers.hook_program_profilers()


def hook_device_records():
    from . import device_records  # needs more of torch
    device_records.hook_device_records()


def install():
    settings.read()
    for one in (record_versions, record_operators, record_thread_counts, record_cpu, hook_loaders,
                hook_optimizers, hook_scalers, hook_modules, hook_gradients, hook_save,
                hook_backward, hook_compile, scan_modules, measure_wrappers):
        attempt(one)
    watch_memory()
    gc.callbacks.append(on_collection)  # directly: this function of libstepscope never raises
    attempt(hook_program_profilers)
    attempt(hook_device_records)
    attempt(hook_profiler)


install()
