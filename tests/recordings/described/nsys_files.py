# SPDX-License-Identifier: Apache-2.0
"""The stand-ins for exports of Nsight Systems: two ranks on two devices, twice, and a program in Python
without PyTorch on a T4, also as the JSON that nsightful makes of its export."""

import collections
import json

from . import trees
from .devices import Device, Launch
from .facts import union_ns
from .halves import ANNOTATION, OPERATOR, Node, step_of
from .nsys import Export, short, visible
from .pytorch_files import plain_launches, play, thinned, without
from .run import Run, drive

H100 = Device("NVIDIA H100", 85_000_000_000, 9, 0, 132, 67000, 3350, 233472, reserved_shared_bytes=1024)
T4 = Device("Tesla T4", 15_828_320_256, 7, 5, 40, 8100, 320.064)
MS = 1_000_000


def facts_of(export, meta, gpu):
    """Sums over the described runs, by kind of work."""
    found = {"meta": meta, "kernels": 0, "kernel_ns": 0, "streams": {}, "nccl": {}, "gpu": gpu}
    names, nvtx = collections.defaultdict(lambda: [0, 0]), 0
    for run in export.runs:
        for work in run.works:
            length, stream = work.end - work.begin, f"dev{run.number}/stream{work.stream}"
            if work.kind != "kernel":
                total = found.setdefault(work.kind.upper(), [0, 0, 0])
                for i, value in enumerate((1, length, int(work.launch.moved_bytes))):
                    total[i] += value
                continue
            found["kernels"] += 1
            found["kernel_ns"] += length
            row = found["streams"].setdefault(stream, {"kernels": 0, "kernel_ns": 0, "spans": []})
            row["kernels"] += 1
            row["kernel_ns"] += length
            row["spans"].append((work.begin, work.end))
            for total in [names[short(work.launch.name)]] + ([found["nccl"].setdefault(
                    f"dev{run.number}", [0, 0])] if "nccl" in work.launch.name else []):
                total[0] += 1
                total[1] += length
        nvtx += len(visible(run))
    for row in found["streams"].values():
        row["union_ns"] = union_ns(row.pop("spans"))
    syncs = export.rows["CUPTI_ACTIVITY_KIND_SYNCHRONIZATION"]
    found["SYNC"] = [len(syncs), sum(row["end"] - row["start"] for row in syncs)]
    found["nvtx_types"] = [[59, nvtx]]
    found["runtime_rows"] = sum(len(run.calls) for run in export.runs)
    found["top"] = [[name, *total] for name, total in sorted(names.items(), key=lambda one: -one[1][1])[:3]]
    return found


# --- two ranks, two devices ----------------------------------------------------------------------

def two_gpus(name, seed, start_ns, overlaps):
    tree = thinned(without(step_of("train_ranker"), "Optimizer.step#Adagrad.step", "aten::item", "aten::to",
                           "aten::detach_", "detach"))
    trees.after(tree, "torch::autograd::AccumulateGrad", 3, lambda i:
                trees.collective_node("all_to_all", 300_000 * (i + 1), "0", 2))
    runs = [Run(H100, seed + rank, rank=rank, world=2, number=rank, pid=144 + rank, start_ns=start_ns,
                main=7 + 8 * rank, correlation=2_610_639, overlaps=overlaps * rank,
                pace=1 + .2 * rank) for rank in range(2)]
    flash = ["void flash::flash_fwd_kernel<Flash_fwd_kernel_traits<128, 128, 64, 4, false> >(flash::Flash_fwd_params)"]
    for run in runs:
        for one in tree.walk():
            if one.name == "nccl:all_to_all":
                one.args["_domain"], one.args["_hidden"] = 1, False
    drive([(run, play(run, tree, (None,), plain_launches(5, flash))) for run in runs])
    export = Export(runs, True, 1_779_782_330_176_752_435)
    first, last = start_ns, max(run.at for run in runs)
    meta = {"EXPORT_PRODUCT_VERSION": "2026.2.1.210", "EXPORT_SCHEMA_VERSION": "3.25.0",
            "DERIVED_FROM": "training.sqlite", "DERIVED_WINDOW_NS": f"{first}-{last}"}
    export.about("2026.2.1.210", **{key: value for key, value in meta.items() if key.startswith("DERIVED")})
    export.capture(PROCESS_0__COMMAND="torchrun", PROCESS_0__ARGUMENT_0="--nproc_per_node=2")
    content = export.bytes()
    return {f"nsys/{name}.sqlite": (content, facts_of(export, meta, "TARGET_INFO_GPU missing"))}


def before():
    """Devices are not named, correlations are shared between processes, and kernels overlap."""
    return two_gpus("two_gpus_before", 40, 60_111_418_026, .02)


def after():
    """The same program at another time."""
    return two_gpus("two_gpus_after", 50, 72_896_979_304, 0)


# --- a program without PyTorch -------------------------------------------------------------------

def kernel(name, flops=0, moved=60_000, **more):
    return Node(OPERATOR, "", {"_launches": [Launch(name, flops=flops, moved_bytes=moved, **more)], "_hidden": True})


REDUCE = ("void cub::CUB_200600_750_NS::DeviceReduceKernel<cub::CUB_200600_750_NS::DeviceReducePolicy<double, unsigned "
          "int, cuda::std::__4::plus<void> >::Policy600, double *, unsigned int>(T2, T5 *, T3)")
GEMV = "void gemv2T_kernel_val<int, int, double, double, double, double, 128, 16, 4, 4, false>(T13, T6, T6)"


def power_iteration():
    """Ten steps of ten multiplications; each ends with a copy that the host waits for."""
    step_nodes = []
    for first in range(0, 60, 10):
        parts = []
        for name in ("Compute", "Residual"):
            inside = [kernel(GEMV, flops=33_554_432, block=(128, 1, 1), registers=75),
                      kernel("cupy_multiply__float64_float64_float64", call="cuLaunchKernel"),
                      Node(OPERATOR, "cub::DeviceReduce::Sum", {"_domain": 1, "_launches": [Launch(
                          REDUCE, moved_bytes=40_000, block=(256, 1, 1), registers=50)]}),
                      kernel("cupy_sqrt__float64_float64", call="cuLaunchKernel")]
            parts += [Node(ANNOTATION, f"{name} {first}", {}, inside * 4)]
        parts.append(Node(ANNOTATION, f"Copy {first}", {}, [Node(OPERATOR, "aten::_local_scalar_dense", {
            "_hidden": True})]))
        step_nodes.append(Node(ANNOTATION, f"Step {first} to {first + 10}", {}, parts))
    top = Node(ANNOTATION, "power", {"_hidden": True}, [
        Node(ANNOTATION, "Setup", {}, [kernel("cupy_fill", call="cuLaunchKernel")]),
        Node(ANNOTATION, "Loop", {}, step_nodes)])
    run = Run(T4, 60, pid=9946, start_ns=14_700_000, correlation=4696)
    drive([(run, play(run, top, (None,)))])
    export = Export([run], False, 1_754_324_972_242_076_786)
    version = "2025.3.1.90"
    export.about(version)
    export.capture(PROCESS_0__COMMAND="python", PROCESS_0__ARGUMENT_0="power_iteration.py",
                   LINUX_PERF_OPTIONS__SAMPLING_PERIOD="2000000", LINUX_PERF_OPTIONS__CPU_IP_TRIGGER_TYPE="Software")
    device = {"vmId": 1, "id": 0, "name": T4.name, "busLocation": "0000:00:04.0", "isDiscrete": 1,
              "l2CacheSize": 4194304, "totalMemory": T4.memory_bytes, "memoryBandwidth": 320_064_000_000,
              "clockRate": 1_590_000_000, "smCount": T4.sms, "chipName": "TU104", "threadsPerWarp": 32,
              "maxWarpsPerSm": 32, "maxBlocksPerSm": 16, "computeMajor": 7, "computeMinor": 5}
    export.add("TARGET_INFO_GPU", **device)
    export.add("TARGET_INFO_CUDA_DEVICE", gpuId=0, cudaId=0, pid=run.pid)
    export.add("NVTX_EVENTS", start=run.start - 1957 * MS, eventType=75, text="CCCL", domainId=1,
               globalTid=export.thread(run, "main"))
    for severity, text in [(1, "Common injection library initialized successfully."), (2, "Not all events were kept."),
                           (2, "The clock of the device was adjusted.")]:
        export.add("DIAGNOSTIC_EVENT", timestamp=run.start - 1000, timestampType=1, source=1, severity=severity,
                   text=text, globalPid=export.process(run))
    samples(export, run)
    content = export.bytes()
    known = facts_of(export, {"EXPORT_PRODUCT_VERSION": version, "EXPORT_SCHEMA_VERSION": "3.20.2"},
                     [[0, T4.name, T4.sms, 320_064_000_000]])
    known["nvtx_types"].append([75, 1])
    return {"nsys/power_iteration.sqlite": (content, known), **nsightful(run)}


def samples(export, run):
    """One each 2 ms, with a stack of three frames."""
    for number, at in enumerate(range(run.start, run.at, 2 * MS), 1):
        export.add("COMPOSITE_EVENTS", id=number, start=at, cpu=1, threadState=1,
                   globalTid=export.thread(run, "main"), cpuCycles=1)
        for depth, (symbol, module) in enumerate([("cuLaunchKernel", "libcuda.so.1"), ("PyObject_Call", "python3.11"),
                                                  ("main", "python3.11")]):
            export.add("SAMPLING_CALLCHAINS", id=number, symbol=export.text(symbol),
                       module=export.text(f"/usr/lib/{module}"), kernelMode=0, unresolved=0,
                       originalIP=137414881296586 + depth, unwindMethod=7 * (depth > 0), stackDepth=depth)


def nsightful(run):
    """The array of events that nsightful makes of an export."""
    events = []

    def add(name, category, begin, end, tid, pid, **args):
        events.append({"name": name, "ph": "X", "cat": category, "ts": begin / 1000, "dur": (end - begin) / 1000,
                       "tid": tid, "pid": pid, "args": args})
    for work in run.works:
        if work.kind == "kernel":
            add(short(work.launch.name), "cuda", work.begin, work.end, f"CUDA API {work.stream}", "Device 0",
                NVTXRegions=[None])
    for span in visible(run):
        inside = [work for work in run.works if work.kind == "kernel" and span.begin <= work.call.begin < span.end]
        if inside:
            add(span.name, "nvtx-kernel", min(work.begin for work in inside), max(work.end for work in inside),
                f"NVTX {run.pid}", "Device 0")
    for call in run.calls:
        add(call.name, "cuda_api", call.begin, call.end, f"CUDA API {run.pid}", "Host 0",
            correlationId=call.correlation)
    for span in visible(run):
        add(span.name, "nvtx", span.begin, span.end, f"NVTX {run.pid}", "Host 0")
    counts = collections.Counter(event["cat"] for event in events)
    return {"nsys/power_iteration.json": (json.dumps(events).encode(), {
        "top": "list", "events": len(events), "cats": [[str((category, "X")), count] for category, count in
                                                       counts.most_common()]})}


FILES = (before, after, power_iteration)
