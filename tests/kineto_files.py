# SPDX-License-Identifier: Apache-2.0
"""Files as PyTorch's profiler writes them: makes small ones, and reads any into rows that a
conversion must keep."""

import collections
import decimal
import gzip
import json
import pathlib

BASE_NS = 1_767_189_312_000_000_000
# A file of ours begins at this offset: odd, so that what rounds shows.
START_NS = 3_001_234_567

HOSTILE = 'quote" back\\slash \x01\t名前 <T, 4>'

DEVICE = {"id": 0, "name": "NVIDIA H100", "totalGlobalMem": 85_000_000_000, "computeMajor": 9,
          "computeMinor": 0, "numSms": 132, "warpSize": 32}


class File:
    """The events of one rank: `steps` steps of a forward and a backward pass."""

    def __init__(self, rank=0, world_size=2, steps=3, pid=4711):
        self.rank, self.world_size, self.pid = rank, world_size, pid
        self.events, self.correlation, self.sequence = [], 100 * rank, 0
        self.at = START_NS + rank * 1_000
        self.queue = {7: self.at, 20: self.at}
        self.name("process_name", 0, {"name": "python train.py"})
        self.name("process_labels", 0, {"labels": "CPU"})
        self.name("thread_name", pid, {"name": "thread main"})
        for number in range(steps):
            self.step(number)
        self.rest()

    def name(self, what, tid, args):
        self.events.append({"ph": "M", "name": what, "pid": self.pid, "tid": tid, "ts": 0,
                            "args": args})

    def add(self, category, name, begin_ns, length_ns, args=None, tid=None, pid=None):
        event = {"ph": "X", "cat": category, "name": name, "pid": self.pid if pid is None else pid,
                 "tid": self.pid if tid is None else tid, "ts": us(begin_ns), "dur": us(length_ns)}
        if args is not None:
            event["args"] = args
        self.events.append(event)

    def launch(self, begin_ns, stream, name, length_ns, call="cudaLaunchKernel", driver=False,
               overlap_ns=0, tid=None, **more):
        self.correlation += 1
        category = "cuda_driver" if driver else "cuda_runtime"
        self.add(category, call, begin_ns, 4_001, {"correlation": self.correlation}, tid=tid)
        start = max(begin_ns + 6_000, self.queue[stream]) - overlap_ns
        self.queue[stream] = start + length_ns
        kind = "gpu_memcpy" if "bytes" in more else "kernel"
        args = {"device": 0, "stream": stream, "correlation": self.correlation, "context": 1}
        if kind == "kernel":
            args |= {"queued": 0, "grid": [64, 2, 1], "block": [128, 1, 1],
                     "registers per thread": 40, "shared memory": 1024, "blocks per SM": 0.96969694,
                     "warps per SM": 3.8787878, "est. achieved occupancy %": 6}
        self.add(kind, name, start, length_ns, args | more, tid=stream, pid=0)
        return start

    def operator(self, name, begin_ns, length_ns, backward=False, tid=None, **more):
        args = {"Sequence number": self.sequence, "Fwd thread id": int(backward)} | more
        self.add("cpu_op", name, begin_ns, length_ns, args, tid=tid)

    def step(self, number):
        t = self.at
        self.add("user_annotation", f"ProfilerStep#{number + 5}", t, 900_123)
        self.add("python_function", "train.py(12): main", t + 10_000, 500_007)
        self.add("python_function", "nn.Module: Linear_0", t + 20_001, 200_000)
        self.add("python_function", "<built-in function linear>", t + 21_000, 190_000)
        shapes = {"Input Dims": [[8, 16], [32, 16], []], "Input type": ["float", "float", "Scalar"],
                  "Input Strides": [[16, 1], [16, 1], []], "Concrete Inputs": ["", "", "1"],
                  "Call stack": 'a/train.py(12): main;a "b"/x.py(3): f'}
        self.operator("aten::linear", t + 30_000, 100_001, **shapes)
        self.operator("aten::addmm", t + 40_000, 80_000)
        first = self.launch(t + 50_000, 7, "void gemm<float, 4>(T*)", 60_003)
        self.launch(t + 60_000, 7, HOSTILE, 30_000, call="cuLaunchKernelEx", driver=True,
                    overlap_ns=1_500)
        self.launch(t + 70_000, 20, "Memcpy HtoD (Pinned -> Device)", 9_000, call="cudaMemcpyAsync",
                    bytes=4096)
        self.add("gpu_user_annotation", "forward pass", first - 1, 120_000, {}, tid=7, pid=0)
        self.add("user_annotation", "forward pass", t + 29_000, 150_000, {})
        # An edge that another clock read: it ends behind the range around it.
        self.add("python_function", "torch/utils.py(7): late", t + 120_000, 60_500)
        self.add("user_annotation", "crosses", t + 170_000, 30_000, {})
        backward = self.pid + 1
        self.operator("autograd::engine::evaluate_function: AddmmBackward0", t + 300_000, 90_000,
                      True, backward)
        self.operator("AddmmBackward0", t + 310_000, 70_000, True, backward)
        self.launch(t + 320_000, 7, "void gemm_backward<float>(T*)", 50_000, tid=backward)
        self.add("user_annotation", "nccl:all_reduce", t + 400_000, 50_000,
                 {"Collective name": "allreduce", "dtype": "Float", "In msg nelems": 1000,
                  "Group size": 2}, tid=backward)
        self.launch(t + 410_000, 20, "ncclDevKernel_AllReduce_Sum_f32_RING_LL", 150_000,
                    tid=backward, dtype="Float", **{"Collective name": "allreduce",
                                                    "In msg nelems": 1000, "Group size": 2})
        self.events.append({"ph": "i", "cat": "cpu_instant_event", "s": "t", "name": "[memory]",
                            "pid": self.pid, "tid": self.pid, "ts": us(t + 35_000),
                            "args": {"Device Type": 1, "Device Id": 0, "Addr": 139_926_520_725_504,
                                     "Bytes": -512, "Total Allocated": 4096, "Total Reserved": 8192}})
        self.sequence += 1
        self.at += 1_000_000

    def rest(self):
        pthread = -549_452_224
        self.add("cuda_runtime", "cudaEventQuery", self.at, 1_000, {"correlation": 9_000}, pthread)
        self.add("cuda_runtime", "cudaEventRecord", self.at, 900, {"correlation": 9_001})
        self.add("overhead", "Activity Buffer Request", self.at, 5_000, tid=0, pid=-1)
        self.add("gpu_memset", "Memset (Device)", self.at, 0,
                 {"device": 0, "stream": 7, "correlation": 1, "context": 1, "bytes": 64}, 7, 0)
        wait = {"device": 0, "correlation": 9_002, "context": 1}
        self.add("cuda_sync", "Stream Wait Event", self.at, 2_000,
                 wait | {"stream": 7, "wait_on_stream": 20,
                         "wait_on_cuda_event_record_corr_id": 9_001}, tid=7, pid=0)
        self.add("cuda_sync", "Context Sync", self.at, 3_000, wait | {"stream": -1}, tid=-1, pid=0)

    def content(self, base_ns=BASE_NS):
        group = {"pg_name": "0", "pg_desc": "default_pg", "backend_config": "cuda:nccl",
                 "pg_size": self.world_size, "ranks": list(range(self.world_size))}
        return {"schemaVersion": 1, "deviceProperties": [DEVICE], "with_stack": 1,
                "distributedInfo": {"backend": "nccl", "rank": self.rank,
                                    "world_size": self.world_size, "pg_count": 1,
                                    "pg_config": [group]},
                "displayTimeUnit": "ms", "baseTimeNanoseconds": base_ns,
                "traceEvents": self.events, "traceName": "trace.json"}

    def write(self, path):
        text = json.dumps(self.content())
        for event in self.events:  # decimals as Kineto writes them
            for key in ("ts", "dur"):
                if isinstance(event.get(key), str):
                    text = text.replace(f'"{key}": "{event[key]}"', f'"{key}": {event[key]}')
        data = text.encode()
        pathlib.Path(path).write_bytes(gzip.compress(data) if str(path).endswith(".gz") else data)
        return path


def us(ns):
    return f"{ns // 1000}.{ns % 1000:03}"


# ---- reading -----------------------------------------------------------------------------


def strict(path):
    """The content: JSON without NaN and doubled keys, numbers exact."""
    def no_doubles(pairs):
        assert len({key for key, _ in pairs}) == len(pairs), [key for key, _ in pairs]
        return dict(pairs)

    def no_constants(text):
        raise AssertionError(text)
    return json.loads(raw(path).decode("utf-8"), object_pairs_hook=no_doubles,
                      parse_constant=no_constants, parse_float=decimal.Decimal)


def raw(path):
    data = pathlib.Path(path).read_bytes()
    return gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data


def loose(path):
    """A file of another tool: control characters and a list without an object count."""
    content = json.loads(raw(path).decode("utf-8", "replace"), strict=False,
                         parse_float=decimal.Decimal)
    return content if isinstance(content, dict) else {"traceEvents": content}


CATEGORIES = {"Operator": "cpu_op", "Runtime": "cuda_runtime", "Kernel": "kernel",
              "Memcpy": "gpu_memcpy", "Memset": "gpu_memset"}
OF_HOST = ["Sequence number", "Fwd thread id", "Input Dims", "Input type", "Input Strides",
           "Concrete Inputs", "Call stack", "Collective name", "dtype", "In msg nelems", "Group size"]
OF_WORK = ["device", "stream", "context", "correlation"]
KEPT = {"cpu_op": OF_HOST, "user_annotation": OF_HOST, "cuda_runtime": ["correlation"],
        "cuda_driver": ["correlation"], "gpu_memcpy": [*OF_WORK, "bytes"],
        "gpu_memset": [*OF_WORK, "bytes"],
        "kernel": [*OF_WORK, "registers per thread", "shared memory", "blocks per SM",
                   "warps per SM", "grid", "block", "est. achieved occupancy %", "Collective name",
                   "dtype", "In msg nelems", "Group size"],
        "cuda_sync": [*OF_WORK, "wait_on_stream", "wait_on_cuda_event_record_corr_id"]}
OF_DEVICES = {"kernel", "gpu_memcpy", "gpu_memset", "gpu_user_annotation", "cuda_sync"}
# Made anew by an export: ids and their nesting, and what follows from others.
REMADE = {"External id", "external id", "Python id", "Python parent id", "Python module id", "queued",
          "memory bandwidth (GB/s)"}
# What the model does not hold. Numbers of the profiler itself:
NOT_HELD = {"Ev Idx", "Record function id", "Profiler Event Index", "Trace iteration", "Trace name",
            "external ts", "cbid", "cid", "Rank", "Device", "scope",
            # without content in all these files
            "Input names", "Output names", "Output dims", "Output type", "Extra arguments", "Module Hierarchy",
            # of a collective, beside its name, type, size and the number of its ranks
            "Process Group Name", "Process Group ID", "Process Group Description", "Process Group Ranks",
            "Global rank start", "Global rank stride", "In split size", "Out split size", "Out msg nelems",
            # of a kernel that Triton compiled
            "kernel_backend", "kernel_file", "kernel_hash", "kernel_kwargs", "kernel_name", "num_stages",
            "num_warps"}
# The same of a category: what a call of HIP was given. Its kernels and copies have some of it.
NOT_HELD_OF = {"cuda_runtime": {"block", "grid", "kernel", "shared memory", "bytes", "src", "dst", "ptr", "kind"},
               "cpu_op": {"stream"}, "kernel": {"kind"}, "gpu_memcpy": {"kind"}, "gpu_memset": {"kind"}}
OF_MEMORY = ["Device Type", "Device Id", "Addr", "Bytes", "Total Allocated", "Total Reserved"]


def times(event, base_ns=0):
    begin = int(decimal.Decimal(event["ts"]) * 1000) + base_ns
    return begin, begin + int(decimal.Decimal(event["dur"]) * 1000)


def ranges(content):
    return [event for event in content["traceEvents"]
            if event.get("ph") == "X" and event["cat"] != "Trace"]


def _value(value):
    if value in ("", [], None):
        return None
    return json.dumps(float(value) if isinstance(value, (int, decimal.Decimal)) else value,
                      default=float)


def _category(event):
    """Today's name; a step is an annotation in files of all versions."""
    category = CATEGORIES.get(event["cat"], event["cat"])
    is_step = event["name"].startswith("ProfilerStep#") and category == "cpu_op"
    return "user_annotation" if is_step else category


def arguments(content):
    """{category: names of arguments}"""
    found = collections.defaultdict(set)
    for event in ranges(content):
        found[_category(event)] |= set(event.get("args") or {})
    return found


def rows(content):
    """What each event says, as a multiset: without what is made anew, such as external ids. A step
    has no arguments, and the tid of work is its stream."""
    base_ns = int(content.get("baseTimeNanoseconds", 0))
    lanes = {(event["pid"], event["tid"]): event["args"]["lane_of"]
             for event in content["traceEvents"]
             if event.get("ph") == "M" and "lane_of" in (event.get("args") or {})}
    found = collections.Counter()
    for event in ranges(content):
        args = dict(event.get("args") or {})
        args["Input Dims"] = args.get("Input Dims", args.pop("Input dims", None))
        category = CATEGORIES.get(event["cat"], event["cat"])
        is_step = event["name"].startswith("ProfilerStep#") and category in ("cpu_op",
                                                                             "user_annotation")
        tid = lanes.get((event["pid"], event["tid"]), event["tid"])
        keys = [] if is_step else KEPT.get(category, [])
        found[("user_annotation" if is_step else category, event["name"], str(event["pid"]),
               "" if category in OF_DEVICES else str(tid), *times(event, base_ns),
               *(_value(args.get(key)) for key in keys))] += 1
    for event in content["traceEvents"]:
        if event.get("name") == "[memory]":
            args = event["args"]
            found[("memory", str(event["pid"]), str(event["tid"]), times(event | {"dur": 0}, base_ns)[0],
                   *(str(args.get(key)) for key in OF_MEMORY))] += 1
    return found


def overlaps(content):
    """Ranges of one pid and tid that neither nest nor follow each other."""
    by_row, bad = collections.defaultdict(list), []
    for event in ranges(content):
        by_row[event["pid"], event["tid"]].append((*times(event), event["name"]))
    for events in by_row.values():
        open_ends = []
        for begin, end, name in sorted(events, key=lambda event: (event[0], -event[1])):
            while open_ends and open_ends[-1] <= begin:
                open_ends.pop()
            if open_ends and end > open_ends[-1]:
                bad.append(name)
            open_ends.append(end)
    return bad
