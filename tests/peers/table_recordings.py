# SPDX-License-Identifier: Apache-2.0
"""Tables of operations that other projects publish, as traces in the shape of PyTorch's profiler, for
recorded_facts.py: what these projects recorded, with names and times unchanged. Needs pyarrow."""

import importlib.util
import io
import json
import re
import zipfile


def missing():
    """Why tables cannot be read; "" if they can."""
    return "" if importlib.util.find_spec("pyarrow") else "pyarrow is not installed"


def rows_of(file):
    from pyarrow import parquet
    return parquet.read_table(file).to_pylist()


def _microseconds(time_ns):
    """Exact, as a number of JSON."""
    return f"{time_ns // 1000}.{time_ns % 1000:03}"


def _event(begin_ns, end_ns, **fields):
    text = json.dumps({"ph": "X", **fields})
    return (f'{text[:-1]}, "ts": {_microseconds(begin_ns)}, '
            f'"dur": {_microseconds(end_ns - begin_ns)}}}')


def _write(path, events, **members):
    head = json.dumps({"schemaVersion": 1, **members})
    path.write_text(f'{head[:-1]}, "traceEvents": [\n' + ",\n".join(events) + "\n]}\n",
                    encoding="utf-8")


def nsys_jax(archive, path, rank=None, ranks=1):
    """NVTX ranges of JAX, projected to the device by Nsight Systems: thunks, which are XLA's units of
    work for a device, become kernels, and executions of the module that trains become steps. With a rank,
    thunks that begin a collective have a number in the group of all ranks: all execute the same."""
    with zipfile.ZipFile(archive) as file:
        rows = rows_of(io.BytesIO(file.read("nvtx_gpu_proj_trace/trace.parquet")))
        devices = rows_of(io.BytesIO(file.read("device-metadata.parquet")))
    events, steps, sequence = [], 0, 0
    for row in sorted(rows, key=lambda row: row["Projected Start"]) if rank is not None else rows:
        name = row["Name"] or ""
        begin_ns = row["Projected Start"]
        end_ns = begin_ns + row["Projected Duration"]
        operation = re.search(r"hlo_op=([^,#]+)", name)
        if name.startswith("TSL:Thunk") and operation:
            kind = re.match(r"(all-reduce|all-gather|reduce-scatter)", operation.group(1))
            number = {"Collective name": kind.group(1).replace("-", "_"), "Process Group Name": "all",
                      "Group size": ranks, "Seq": sequence} if kind and rank is not None else {}
            sequence += bool(number)
            called = "ncclDevKernel_" + operation.group(1) if number else operation.group(1)
            events.append(_event(begin_ns, end_ns, cat="kernel", name=called, pid=0, tid=1,
                                 args={"device": 0, "stream": 1, **number}))
        elif "hlo_module=pjit__wrapped_step_fn" in name:
            events.append(_event(begin_ns, end_ns, cat="user_annotation", pid=row["PID"],
                                 tid=row["TID"], name=f"ProfilerStep#{steps}"))
            steps += 1
    members = {} if rank is None else {
        "distributedInfo": {"backend": "nccl", "rank": rank, "world_size": ranks}}
    _write(path, events, **members, deviceProperties=[
        {"id": i, "name": device["('TARGET_INFO_GPU', 'name')"]} for i, device in enumerate(devices)])


def straggler(table, path):
    """Operations of pipelines, by rank and step, in seconds from the start of the step: each step of
    a rank lasts to the end of its last operation, and the steps lie one behind the other."""
    steps = {}
    for row in rows_of(table):
        steps.setdefault(row["step"], []).append(row)
    events, at_ns = [], 0
    for number in sorted(steps):
        ends = {}
        for row in steps[number]:
            begin_ns = at_ns + round(row["start_ts"] * 1e9)
            end_ns = begin_ns + round(row["duration"] * 1e9)
            first, last = ends.get(row["rank"], (begin_ns, end_ns))
            ends[row["rank"]] = (min(first, begin_ns), max(last, end_ns))
            events.append(_event(begin_ns, end_ns, cat=row["optype"], name=row["optype"],
                                 pid=row["rank"] + 1, tid=hash_of(row["optype"])))
        for rank, (begin_ns, end_ns) in ends.items():
            events.append(_event(begin_ns, end_ns, cat="user_annotation", pid=rank + 1, tid=1,
                                 name=f"ProfilerStep#{number}"))
        at_ns = max(end_ns for _, end_ns in ends.values()) + 1000
    _write(path, events)


COLLECTIVES = {"params-all-gather": ("allgather", "data parallel"),
               "grads-reduce-scatter": ("reduce_scatter", "data parallel"),
               "layernorm-grads-all-reduce": ("allreduce", "data parallel"),
               "embedding-grads-all-reduce": ("allreduce", "embedding"),
               "optimizer-clip-main-grad": ("allreduce", "all")}
PARTS = {"forward-compute": "forward", "backward-compute": "backward", "optimizer": "optimizer"}


def pipeline_group(row, stages):
    """(kind, group, members) of a communication: a transfer between two stages is one of two ranks."""
    stage, pipeline = row["stage"], row["dp_rank"]
    if row["optype"] in COLLECTIVES:
        kind, scope = COLLECTIVES[row["optype"]]
        return kind, {"data parallel": f"{row['optype']} of stage {stage}", "all": "clip",
                      "embedding": f"embedding of {pipeline}"}[scope]
    way, end = row["optype"].split("-")
    other = stage + ((1 if way == "forward" else -1) * (1 if end == "send" else -1)) % stages
    first, last = (stage, other % stages) if end == "send" else (other % stages, stage)
    return "all_to_all", f"{way} of {pipeline}, {first} to {last}"


def straggler_ranks(table, folder):
    """The same operations as files of PyTorch's profiler, one for each rank, with which the waits of
    ranks for each other can be replayed: computing as kernels, phases as annotations around them, and
    communication as kernels of NCCL with its group and its number in it. The steps are those of
    straggler(). Returns their numbers.

    What a rank waits behind its last backward pass is in no operation of these files: up to half of a
    step in AR. It ends as the other ranks of its stage end theirs, and counts as a wait for them: the
    reduction that is next begins when the rank's operation before it has ended."""
    rows = [row for row in rows_of(table) if row["optype"] != "gc"]
    stages = 1 + max(row["stage"] for row in rows)
    steps, events, at_ns, counts, sizes, computed = {}, {}, 0, {}, {}, {}
    for row in rows:
        steps.setdefault(row["step"], []).append(row)
        if row["optype"] not in PARTS:
            sizes.setdefault(pipeline_group(row, stages)[1], set()).add(row["rank"])
    for number in sorted(steps):
        ends = {}
        for row in sorted(steps[number], key=lambda row: (row["start_ts"], row["seq_id"])):
            rank, begin_ns = row["rank"], at_ns + round(row["start_ts"] * 1e9)
            end_ns = begin_ns + round(row["duration"] * 1e9)
            first, last = ends.get(rank, (begin_ns, end_ns))
            ends[rank] = (min(first, begin_ns), max(last, end_ns))
            out = events.setdefault(rank, [])
            if row["optype"] in PARTS:
                # Seconds of 32 bits: one may seem to begin before the one before it has ended.
                begin_ns = min(end_ns, max(begin_ns, computed.get(rank, 0)))
                computed[rank] = end_ns
                out.append(_event(begin_ns, end_ns, cat="user_annotation", pid=rank + 1, tid=1,
                                  name=PARTS[row["optype"]]))
                out.append(_event(begin_ns, end_ns, cat="kernel", name=row["optype"], pid=0, tid=7,
                                  args={"device": 0, "stream": 7}))
                continue
            kind, group = pipeline_group(row, stages)
            if row["optype"] == "layernorm-grads-all-reduce":
                begin_ns = min(begin_ns, last)
            sequence = counts[rank, group] = counts.get((rank, group), -1) + 1
            out.append(_event(begin_ns, end_ns, cat="kernel", name="ncclDevKernel_" + row["optype"],
                              pid=0, tid=hash_of(row["optype"]),
                              args={"device": 0, "stream": hash_of(row["optype"]), "Seq": sequence,
                                    "Collective name": kind, "Process Group Name": group,
                                    "Group size": len(sizes[group])}))
        for rank, (begin_ns, end_ns) in ends.items():
            events[rank].append(_event(begin_ns, end_ns, cat="user_annotation", pid=rank + 1, tid=1,
                                       name=f"ProfilerStep#{number}"))
        at_ns = max(end_ns for _, end_ns in ends.values()) + 1000
    for rank, found in events.items():
        _write(folder / f"rank{rank}.pt.trace.json", found,
               distributedInfo={"backend": "nccl", "rank": rank, "world_size": len(events)})
    return sorted(steps)


def hash_of(name):
    """A thread for each kind of operation: different kinds overlap."""
    return 100 + sum(name.encode())
