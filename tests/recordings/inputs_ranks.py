# SPDX-License-Identifier: Apache-2.0
"""The recorded inputs of trainings on several ranks: pipelines, shards, collectives."""

from recording import Input

INPUTS = {}
# Where neither samples nor modules matter.
COLLECTIVES_ONLY = "-r", 0.1, "--host-interval", 0, "--operators", "collectives", "--module-depth", 0


# --- test_pipelines: trainings in pipeline stages -------------------------------------------------

def pipeline(schedule, stages, *options):
    """Five steps of six micro-batches, unless the options say otherwise."""
    return Input(program=("torch_pipeline.py", "--schedule", schedule, "--steps", 5, "--micro-batches", 6, *options),
                 ranks=stages, options=COLLECTIVES_ONLY)


INPUTS["pipelines_own"] = pipeline("own", 4)
INPUTS["pipelines_own_slow"] = pipeline("own", 4, "--slow", 2)
INPUTS["pipelines_own_long"] = pipeline("own", 2, "--micro-batches", 24)
INPUTS["pipelines_gpipe"] = pipeline("gpipe", 2)
INPUTS["pipelines_1f1b"] = pipeline("1f1b", 3)
INPUTS["pipelines_interleaved"] = pipeline("interleaved", 2, "--chunks", 2)
for _schedule, _chunks, _steps in ("gpipe", 1, 5), ("1f1b", 1, 5), ("interleaved", 2, 3):
    INPUTS[f"pipelines_{_schedule}_equal"] = pipeline(
        _schedule, 4, "--micro-batches", 8, "--chunks", _chunks, "--steps", _steps, "--seconds", 0.024)
for _schedule in "gpipe", "1f1b":
    INPUTS[f"pipelines_{_schedule}_slow"] = pipeline(_schedule, 4, "--slow", 1, "--seconds", 0.008)


# --- test_loops: ranks that are forked, and one that comes late -----------------------------------

INPUTS["loops_ranks"] = Input(program=("torch_ranks.py", "{run}/store"), options=COLLECTIVES_ONLY,
                              env={"GLOO_SOCKET_IFNAME": "lo"})
for _name, _late in ("late_rank", ("--late",)), ("equal_ranks", ()):
    INPUTS[f"loops_{_name}"] = Input(program=("torch_late_rank.py", "--steps", 60, *_late),
                                     options=("-r", 20, *COLLECTIVES_ONLY[2:]))


# --- test_tokens: four ranks, of which one has more tokens ----------------------------------------

INPUTS["tokens_ranks"] = Input(
    program=("trials/train.py", "--steps", 12, "--fault", "tokens", "--slow", 2), ranks=4,
    options=COLLECTIVES_ONLY)


# --- test_machine_clocks: two machines whose clocks differ, without pings ---------------------------

INPUTS["machine_clocks"] = Input(
    program=("two_machines.py", "{out}", "torch_slow_rank.py", *COLLECTIVES_ONLY), package=True,
    is_folder=True, namespaces=True, env={"OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo"})
