# SPDX-License-Identifier: Apache-2.0
"""Marks steps: slowing.py STEPS [--from STEP]. Each waits 4 ms, and from that step on 44 ms."""

import argparse
import time

import stepscope

parser = argparse.ArgumentParser()
parser.add_argument("steps", type=int)
parser.add_argument("--from", type=int, default=10 ** 9, dest="since")
options = parser.parse_args()
for step in range(options.steps):
    stepscope.step(step)
    stepscope.phase("data")
    time.sleep(0.004 if step < options.since else 0.044)
    stepscope.phase(None)
stepscope.step(options.steps)
