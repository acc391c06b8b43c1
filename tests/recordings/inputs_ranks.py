# SPDX-License-Identifier: Apache-2.0
"""The recorded inputs of trainings on several ranks: pipelines, shards, collectives."""

from recording import FEW_SAMPLES, Input

INPUTS = {}


# --- test_pipelines: trainings in pipeline stages -------------------------------------------------

def pipeline(schedule, stages, *options):
    """Five steps of six micro-batches, unless the options say otherwise."""
    return Input(program=("torch_pipeline.py", "--schedule", schedule, "--steps", 5, "--micro-batches", 6, *options),
                 ranks=stages, options=("-r", 1, "--host-interval", 0, "--operators", "collectives", "--module-depth", 0))


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
