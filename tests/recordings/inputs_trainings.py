# SPDX-License-Identifier: Apache-2.0
"""The recorded inputs of trainings of one process: loops, phases, batches, waits, faults."""

from recording import Input

INPUTS = {}
# Where steps and phases matter, but not what they consist of.
STEPS_ONLY = "-r", 1, "--host-interval", 0, "--operators", "off", "--module-depth", 0


# --- test_loops: loops of many kinds, each in a process of its own --------------------------------

INPUTS["loops_all"] = Input(program=("torch_loops.py",), options=STEPS_ONLY)
INPUTS["loops_infers"] = Input(program=("torch_loops.py", "infers"), options=STEPS_ONLY)
INPUTS["loops_step_optimizer"] = Input(program=("torch_loops.py", "rare_second_optimizer"),
                                       options=(*STEPS_ONLY, "--step-optimizer", "Adam"))
