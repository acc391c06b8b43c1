# SPDX-License-Identifier: Apache-2.0
"""A training loop to compare with another one: its phases sleep for as long as the command says.

    compared.py STEPS PHASE=SECONDS…"""

import sys
import time

import stepscope


def rest(seconds):
    time.sleep(seconds)


def main():
    steps, phases = int(sys.argv[1]), [word.split("=") for word in sys.argv[2:]]
    stepscope.epoch(0)
    for _ in range(steps):
        for name, seconds in phases:
            stepscope.phase(name)
            rest(float(seconds))
        stepscope.phase(None)
        stepscope.step()


main()
