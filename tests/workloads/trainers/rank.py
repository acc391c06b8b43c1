# SPDX-License-Identifier: Apache-2.0
"""Runs another program of this folder as one of several ranks. It ends once all of them have come so far, and
does not take its group apart: threads of Gloo that still run may abort it.

    rank.py PROGRAM [ARGUMENT…]"""

import os
import pathlib
import runpy
import sys

import torch.distributed as dist

sys.argv[:] = [str(pathlib.Path(__file__).with_name(sys.argv[1])), *sys.argv[2:]]
runpy.run_path(sys.argv[0], run_name="__main__")
if dist.is_initialized():
    dist.barrier()
sys.stdout.flush()
sys.stderr.flush()
os._exit(0)
