# SPDX-License-Identifier: Apache-2.0
"""Facts about the process and its torch. Those that a program may change at any time are polled and
recorded at each change."""

import re
import sys

import torch

from .libstepscope import set_fact, set_fact_text
from .names import (FACT_CPU_CAPABILITY, FACT_CPU_MHZ, FACT_TORCH_ANOMALY,
                    FACT_TORCH_CUDA_VERSION, FACT_TORCH_CUDNN_VERSION, FACT_TORCH_DEVICE,
                    FACT_TORCH_INTEROP_THREADS, FACT_TORCH_RANK, FACT_TORCH_THREADS,
                    FACT_TORCH_VERSION)


class _Recorded:
    """Values that are in the recording. If two threads see a change at once, both record it."""
    threads = None
    rank = None
    anomaly = False


def record_versions():
    set_fact_text(FACT_TORCH_VERSION, str(torch.__version__))
    built_for = torch.version.cuda or getattr(torch.version, "hip", None)
    if built_for:
        set_fact_text(FACT_TORCH_CUDA_VERSION, str(built_for))


def record_thread_counts():
    record_threads()
    set_fact(FACT_TORCH_INTEROP_THREADS, torch.get_num_interop_threads())


def record_threads():
    threads = torch.get_num_threads()
    if threads != _Recorded.threads:
        _Recorded.threads = threads
        set_fact(FACT_TORCH_THREADS, threads)


def record_rank():
    """The rank in the default group: only launchers set environment variables for it."""
    distributed = sys.modules.get("torch.distributed")
    is_initialized = getattr(distributed, "is_initialized", None)
    if is_initialized is not None and is_initialized():
        rank = distributed.get_rank()
        if rank != _Recorded.rank:
            _Recorded.rank = rank
            set_fact(FACT_TORCH_RANK, rank)


def record_anomaly():
    """Whether autograd detects NaN: a program may enable this only around the backward."""
    is_on = torch.is_anomaly_enabled()
    if is_on != _Recorded.anomaly:
        _Recorded.anomaly = is_on
        set_fact(FACT_TORCH_ANOMALY, int(is_on))


def record_device():
    """The device that computes, for its peak rate."""
    if torch.cuda.is_initialized():
        set_fact_text(FACT_TORCH_DEVICE, torch.cuda.get_device_name())
        cudnn = torch.backends.cudnn.version()
        if cudnn:
            set_fact(FACT_TORCH_CUDNN_VERSION, cudnn)


def record_cpu():
    capability = getattr(torch._C, "_get_cpu_capability", None)
    if capability is not None:
        set_fact_text(FACT_CPU_CAPABILITY, capability())
    else:
        shown = re.search(r"CPU capability usage: (\S+)", torch.__config__.show())
        if shown:
            set_fact_text(FACT_CPU_CAPABILITY, shown.group(1))
    with open("/proc/cpuinfo", "rb", buffering=0) as file:  # many cores: reading all is slow
        shown = re.search(rb"cpu MHz\s*:\s*([0-9]+)", file.read(4096))
    if shown:
        set_fact(FACT_CPU_MHZ, int(shown.group(1)))
