# SPDX-License-Identifier: Apache-2.0
"""Four processes of one JAX training, as nsys-jax publishes them: ranges of XLA, projected to the device by
Nsight Systems, in a table within an archive. Three processes wait for the first one in their first
collective, by seconds; then none is slow."""

import io
import lzma
import random
import zipfile

from . import parquet

RANKS, STEPS, PER_STEP = 4, 5, 12
LATE_NS = (0, 3_600_000_000, 5_200_000_000, 5_900_000_000)  # how much earlier than the first one they begin
COLLECTIVES = {2: "all-gather-start", 5: "all-reduce-start", 8: "all-gather-start", 11: "all-reduce-start",
               12: "reduce-scatter"}
KERNELS = ("wrapped_slice", "input_reduce_fusion", "loop_multiply_fusion", "gemm_fusion_dot", "copy_fusion")
GPU = "NVIDIA A100-SXM4-40GB"


def thunk_name(operation, number):
    name = f"name=pjit(_wrapped_step_fn)/jit(main)/layer{number % 3}," if number % 2 else ""
    return f"TSL:Thunk:#{name}hlo_op={operation}{f'.{number}' if number % 4 == 3 else ''}#"


def play():
    """[(name, begin, end)] of each process, and of its steps: all reach a collective, then it moves data."""
    dice = random.Random(70)
    at = [27_000_000_000 - late for late in LATE_NS]
    found, steps = [[] for _ in range(RANKS)], [[] for _ in range(RANKS)]
    for step in range(STEPS):
        begins = list(at)
        for number in range(PER_STEP + 1):
            lengths = [dice.randrange(900_000, 2_000_000)] * RANKS
            operation = COLLECTIVES.get(number, KERNELS[number % len(KERNELS)])
            begin = [one + dice.randrange(2_000, 3_000) for one in at]
            if number in COLLECTIVES:
                at = [max(begin) + lengths[0] + 20_000] * RANKS
                end = [one - dice.randrange(0, 20_000) for one in at]  # what the clocks seem to differ by
            else:
                end = at = [one + length + dice.randrange(0, 1_000) for one, length in
                            zip(begin, lengths, strict=True)]
            for rank in range(RANKS):
                found[rank].append((thunk_name(operation, number), begin[rank], end[rank]))
        for rank in range(RANKS):
            steps[rank].append((begins[rank] + 1_000, at[rank] + 500))
        at = [one + 40_000 for one in at]
        assert step < STEPS
    return found, steps


def row(name, begin, end, number, **more):
    return {"Name": name, "Projected Start": begin, "Projected Duration": end - begin,
            "Orig Start": begin - 900_000.0 if name else None, "Orig Duration": 40_000.0 if name else None,
            "Style": "PushPop" if name else None, "PID": 215733, "TID": 215733, "NumGPUOps": 1,
            "Lvl": 1.0 if name else None, "NumChild": 0, "RangeId": float(number) if name else None,
            "ParentId": 25598.0 if name else None, "RangeStack": f":25598:{number}" if name else None, **more}


TYPES = {"Name": "string", "Projected Start": "int64", "Projected Duration": "int64", "Orig Start": "float64",
         "Orig Duration": "float64", "Style": "string", "PID": "int64", "TID": "int64", "NumGPUOps": "int64",
         "Lvl": "float64", "NumChild": "int64", "RangeId": "float64", "ParentId": "float64", "RangeStack": "string",
         "Rank": "int64"}


def archive(rank, thunks, steps):
    rows = [row(None, thunks[0][1], thunks[-1][2], 0, NumGPUOps=len(thunks), TID=216715)]
    rows += [row("TSL:XlaCompile:#module=jit__psum,program_id=1#", thunks[0][1] - 9_000, thunks[0][1] - 5_000, 1)]
    rows += [row(f"TSL:XlaModule:#hlo_module=pjit__wrapped_step_fn,program_id={40}#", begin, end, 90 + i)
             for i, (begin, end) in enumerate(steps)]
    rows += [row(*thunk, 1000 + i) for i, thunk in enumerate(thunks)]
    table = {name: (kind, [one.get(name, rank) for one in rows]) for name, kind in TYPES.items()}
    device = {"vmId": ("int64", [1]), "id": ("int64", [0]), "name": ("string", [GPU]),
              "totalMemory": ("int64", [42505273344]), "smCount": ("int64", [108])}
    members = {
        "dump/module_0040.pjit__wrapped_step_fn.gpu_target_config.pbtxt.xz": lzma.compress(b"gpu_device_info {}\n"),
        "nvtx_gpu_proj_trace/trace.parquet": parquet.written(table),
        "device-metadata.parquet": parquet.written({f"('TARGET_INFO_GPU', '{name}')": one for name, one in
                                                    device.items()}),
        "thread-metadata.parquet": parquet.written({"Name": ("string", ["python3"]), "Priority": ("int64", [20]),
                                                    "PID": ("int64", [215733]), "TID": ("int64", [215733])}),
        "report_nvtx_pushpop_trace.csv.xz": lzma.compress(b"Start (ns),End (ns),Name\n")}
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as out:
        for name, data in members.items():
            out.writestr(zipfile.ZipInfo(name), data)
    return file.getvalue(), len(rows)


def facts(thunks, steps, rows):
    groups = {}
    for name, begin, end in thunks:
        for kind in ("all-reduce-start", "all-gather-start", "reduce-scatter"):
            if f"hlo_op={kind}" in name:
                groups.setdefault(kind, []).append(end - begin)
    return {"gpu": GPU, "rows": rows, "thunks": len(thunks),
            "thunk_projected_ns": sum(end - begin for _, begin, end in thunks),
            "collective_names": [[kind, len(found)] for kind, found in groups.items()],
            "collective_ns": sum(map(sum, groups.values())), "step_executions": len(steps),
            "step_projected_ns": [end - begin for begin, end in steps]}


def processes():
    found = {}
    for rank, (thunks, steps) in enumerate(zip(*play(), strict=True)):
        content, rows = archive(rank, thunks, steps)
        found[f"{FOLDER}/four_processes_{rank}.zip"] = (content, facts(thunks, steps, rows))
    return found


FOLDER = "jax"
FILES = (processes,)
