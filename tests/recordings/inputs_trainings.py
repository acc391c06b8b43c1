# SPDX-License-Identifier: Apache-2.0
"""The recorded inputs of trainings of one process: loops, phases, batches, waits, faults."""

from recording import Input

INPUTS = {}
# Where steps and phases matter, but not what they consist of.
STEPS_ONLY = "-r", 1, "--host-interval", 0, "--operators", "off", "--module-depth", 0


# --- test_loops: loops of many kinds, each in a process of its own --------------------------------

LOOPS = "-r", 0.1, *STEPS_ONLY[2:]
INPUTS["loops_all"] = Input(program=("torch_loops.py",), options=LOOPS)
INPUTS["loops_infers"] = Input(program=("torch_loops.py", "infers"), options=LOOPS)
INPUTS["loops_step_optimizer"] = Input(program=("torch_loops.py", "rare_second_optimizer"),
                                       options=(*LOOPS, "--step-optimizer", "Adam"))
for _name in "acts", "with_gradients", "single_examples":
    INPUTS[f"loops_evaluation_{_name}"] = Input(program=("torch_evaluations.py", _name), options=LOOPS)
# What torch counts as it compiles, and how deep modules may call each other, without the hooks.
INPUTS["loops_without_hooks"] = Input(
    program=("torch_loops.py", "compiles", "compiles_a_step", "modules_may_be_odd"), options=(*LOOPS, "--no-torch"))


# --- test_verdict: trainings with one fault each, and without it ----------------------------------

FIXED = ("few_workers", "slow_workers", "worker_restarts", "epoch_starts", "periodic_stalls", "printed_tensors")
# How often they are sampled, where 100 times a second are too few or too many; how many steps they do.
RATES = {"slow_collate": 200, "main_thread_data": 400, "logging_in_the_loop": 400, "printed_tensors": 400,
         "oversubscription": 50, "worker_restarts": 50, "tiny_batches": 25, "host_sync": 25}
STEPS = {"tiny_batches": 16, "host_sync": 8, "printed_tensors": 24, "worker_restarts": 96}


def fault(name):
    operators = "auto" if name in ("tiny_batches", "host_sync") else "off"
    return Input(program=("faults", name, *([name + " fixed"] if name in FIXED else ())),
                 options=("-r", RATES.get(name, 100), "--host-interval", 1, "--module-depth", 0,
                          "--operators", operators),
                 env={"STEPS": str(STEPS[name])} if name in STEPS else {})


for _name in ("clean", "no_workers", "slow_collate", "tiny_batches", "main_thread_data", "recompilation",
              "gc_pauses", "host_sync", "checkpoint_stalls", "oversubscription", "memory_growth", "logging_in_the_loop",
              "warm_up", *FIXED):
    INPUTS[f"verdict_{_name}"] = fault(_name)


# --- test_waits: trainings that wait, or do not, and for what -------------------------------------

for _name in "Nothing", "GilInC", "GilInPython", "Prefetch", "Thread", "Process", "Network", "Sleep", "Disk":
    INPUTS[f"waits_{_name}"] = Input(
        program=("waits.py", "/var/tmp" if _name == "Disk" else "{run}", _name),  # a disk, not a tmpfs
        options=("-r", 200, "--host-interval", 1, "--module-depth", 0, "--operators", "off"))


# --- test_tokens: texts that are padded -----------------------------------------------------------

for _name in "mask", "config", "plain", "floats", "pair", "images", "time_first":
    INPUTS[f"tokens_{_name}"] = Input(program=("torch_padded.py", _name), options=STEPS_ONLY,
                                      env={"PYTHONWARNINGS": "error"})
