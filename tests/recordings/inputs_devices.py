# SPDX-License-Identifier: Apache-2.0
"""Recorded inputs of programs on the simulated device (tests/fakes/cuda)."""

from recording import Input

INPUTS = {}
# Imports of a build for CUDA would be most of the samples.
FEW = "-r", 2, "--host-interval", 5, "--module-depth", 1


# --- test_gpu_torch: a build of PyTorch for CUDA ----------------------------------------------------

def on_device(*program, device=(), options=FEW, **more):
    return Input(program=program, device=device, options=options, needs=("torch_cuda",), **more)


KNOWN_TIMES = "--duration", "gemm=200us,*reduce*=70us"
FOLDER = "-o", "{out}/ours.pftrace"
PROFILED = "torch_cuda_steps.py", 12, 4, 7, "{out}/theirs.json.gz"
INPUTS["gpu_torch_profiled"] = on_device(*PROFILED, device=KNOWN_TIMES, is_folder=True, options=(*FEW, *FOLDER))
for _level in "default", "full":
    INPUTS[f"gpu_torch_tee_{_level}"] = on_device(
        *PROFILED, device=KNOWN_TIMES, is_folder=True,
        options=(*FEW, "--gpu", _level, "--gpu-beside-profiler", "tee", *FOLDER))
INPUTS["gpu_torch_window"] = on_device(
    *PROFILED, is_folder=True,
    options=(*FEW, "--gpu-beside-profiler", "tee", "--schedule", "wait=2,warmup=1,active=2,repeat=2", *FOLDER))
INPUTS["gpu_torch_beside_off"] = on_device("torch_cuda_steps.py", 12, 4, 7, options=(*FEW, "--gpu", "off"))
INPUTS["gpu_torch_lines"] = on_device("torch_cuda_steps.py", 12, options=(*FEW, "--operators", "all"))
for _mode in "compile", "graph", "devices", "fork", "spawn":
    INPUTS[f"gpu_torch_{_mode}"] = on_device(
        "torch_cuda_odd.py", _mode, device=("--devices", "2") if _mode == "devices" else ())


# --- test_device_faults: a training with a planted fault -----------------------------------------

PLANTED = "wait", "pageable", "slow", "kernel", "late", "healthy", "ranks"
PLANTED_STEPS = 12
TIMES = "--devices", "2", "--duration", "*layer*=1ms,*slow_scan*=20ms", "--pageable", "1000"
for _fault in PLANTED:
    INPUTS[f"device_faults_{_fault}"] = Input(
        program=("cuda_faults", _fault, PLANTED_STEPS), built=True, device=TIMES, needs=(),
        options=("-r", 20, "--host-interval", 5))
