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


def _rows(file):
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


def nsys_jax(archive, path):
    """NVTX ranges of JAX, projected to the device by Nsight Systems: thunks, which are XLA's units of
    work for a device, become kernels, and executions of the module that trains become steps."""
    with zipfile.ZipFile(archive) as file:
        rows = _rows(io.BytesIO(file.read("nvtx_gpu_proj_trace/trace.parquet")))
        devices = _rows(io.BytesIO(file.read("device-metadata.parquet")))
    events, steps = [], 0
    for row in rows:
        name = row["Name"] or ""
        begin_ns = row["Projected Start"]
        end_ns = begin_ns + row["Projected Duration"]
        operation = re.search(r"hlo_op=([^,#]+)", name)
        if name.startswith("TSL:Thunk") and operation:
            events.append(_event(begin_ns, end_ns, cat="kernel", name=operation.group(1), pid=0,
                                 tid=1, args={"device": 0, "stream": 1}))
        elif "hlo_module=pjit__wrapped_step_fn" in name:
            events.append(_event(begin_ns, end_ns, cat="user_annotation", pid=row["PID"],
                                 tid=row["TID"], name=f"ProfilerStep#{steps}"))
            steps += 1
    _write(path, events, deviceProperties=[
        {"id": i, "name": device["('TARGET_INFO_GPU', 'name')"]} for i, device in enumerate(devices)])


def straggler(table, path):
    """Operations of pipelines, by rank and step, in seconds from the begin of the step: each step of
    a rank lasts to the end of its last operation, and the steps lie one behind the other."""
    steps = {}
    for row in _rows(table):
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


def hash_of(name):
    """A thread for each kind of operation: different kinds overlap."""
    return 100 + sum(name.encode())
