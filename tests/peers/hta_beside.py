#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""HolisticTraceAnalysis and stepscope on the same files of torch.profiler, in one run: wall time, peak
memory, and the figures that both compute. Where they differ, HTA's events are computed again with one
definition changed after the other, until they agree: that change is the reason.

    hta_beside.py [FILE…]      (default: what $STEPSCOPE_TRACES or ../shared/data/traces holds)

$HTA_PYTHON: an interpreter that has hta (default: this one). $STEPSCOPE: the program (default:
build/release/stepscope). Exit status 1: a difference has no reason."""

import collections
import json
import math
import os
import pathlib
import re
import subprocess
import sys
import tarfile
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "e2e"))
import kineto_files  # noqa: E402

WORK = ("kernel", "gpu_memcpy", "gpu_memset")
OLD_WORK = ("Kernel", "Memcpy", "Memset")  # of PyTorch before 1.11
FIGURES = ("busy", "compute", "other", "idle", "overlap %", "kernels", "kernel time")

# --- definitions ---


def union(spans):
    """Their total length."""
    total, until = 0, float("-inf")
    for begin, end in sorted(spans):
        total += max(0, end - max(begin, until))
        until = max(until, end)
    return total


def figures_of_device(events, class_of):
    """events: (category, name, begin, end, device)."""
    every = [(event[2], event[3]) for event in events]
    sent, computed = ([(event[2], event[3]) for event in events if class_of(*event[:2]) == wanted]
                      for wanted in ("sent", "computed"))
    kernels = [event for event in events if event[0] in ("kernel", "Kernel")]
    timed = kernels if class_of is own_class else [event for event in events if not is_memory(event[1])]
    busy, span = union(every), max(end for _, end in every) - min(begin for begin, _ in every)
    return {"busy": busy, "compute": union(computed), "other": busy - union(computed), "idle": span - busy,
            "sent": union(sent), "overlap": union(sent) + union(computed) - union(sent + computed),
            "kernels": len(kernels), "kernel time": sum(event[3] - event[2] for event in timed)}


def figures(events, class_of, by_device=False):
    """In microseconds, as HTA defines them."""
    parts = collections.defaultdict(list)
    for event in events:
        parts[event[4] if by_device else 0].append(event)
    total = collections.Counter()
    for part in parts.values():
        total.update(figures_of_device(part, class_of))
    total["overlap %"] = 100 * total["overlap"] / total["sent"] if total["sent"] else None
    return {key: total[key] for key in FIGURES}


def is_compute(name):
    return re.match(r"(.*(Memcpy)|(Memset))|(.*Sync)", name) is None


def is_memory(name):
    return re.match(r"Memcpy|Memset|.*Sync", name) is not None


def is_hta_communication(name):
    return re.match(r"nccl.*Kernel", name) is not None


def is_communication(name):
    """As stepscope names it."""
    return re.match(r"(?!triton_)(nccl|rccl|mscclKernel|.*(ncclDevKernel|ncclKernel|multimem|nvshmem|"
                    r"all_reduce|all_gather|reduce_scatter|all_to_all|cross_device_reduce|ShotAllReduce|"
                    r"allreduce_fusion))", name, re.S) is not None


def hta_class(category, name):
    """"sent", "computed" or "": by name alone."""
    return "sent" if is_hta_communication(name) else "computed" if is_compute(name) else ""


def own_class(category, name):
    """By what the event is; only kernels compute or communicate."""
    if category not in ("kernel", "Kernel"):
        return ""
    return "sent" if is_communication(name) else "computed"


def events_of(path):
    """All with a stream, in microseconds since the first: exact, and in HTA's numbers. These are doubles, in
    which begins move up and ends down to whole microseconds where the file has decimals."""
    every = kineto_files.ranges(kineto_files.loose(path))
    events = [event for event in every if (event.get("args") or {}).get("stream", -1) != -1]
    base = int(min(event["ts"] for event in events))
    exact, whole = [], []
    for event in events:
        what = event["cat"], event["name"]
        device = event["args"].get("device", event["pid"])
        begin, end = float(event["ts"]), float(event["ts"]) + float(event["dur"])
        exact.append((*what, float(event["ts"] - base), float(event["ts"] + event["dur"] - base), device))
        whole.append((*what, math.ceil(begin) - base, math.floor(end) - base, device))
    return exact, whole, copies_of(every, events)


def copies_of(every, events):
    """How often HTA has each: as many times as calls until the end of the last step have its correlation."""
    steps = [event["ts"] + event["dur"] for event in every if "ProfilerStep" in event["name"]]
    if len({event["name"] for event in every if "ProfilerStep" in event["name"]}) < 2:
        return [1] * len(events)
    calls = collections.Counter(event["args"]["correlation"] for event in every
                                if "correlation" in (event.get("args") or {})
                                and event["args"].get("stream", -1) == -1 and event["ts"] <= max(steps))
    return [calls[event["args"].get("correlation", -1)] for event in events]


def changes(events, whole, copies, theirs):
    """[(what changes, the figures with this and all changes before)]; `theirs`: the number of HTA's events."""
    work = [event for event in events if event[0] in WORK + OLD_WORK]
    odd = collections.Counter(event[0] for event in events if event[0] not in WORK + OLD_WORK)
    renamed = sorted({event[1] for event in work if hta_class(*event[:2]) != own_class(*event[:2])})
    if theirs == sum(copies) != len(events) or 0 in copies and theirs == sum(copies):
        reasons = ((copies.count(0), "leaves out {} works whose call lies behind the last step or is not in the file"),
                   (sum(count > 1 for count in copies), "has {} works several times, whose number several calls have"))
        yield ("HTA " + " and ".join(text.format(f"{count:,}") for count, text in reasons if count),
               figures(whole, hta_class))
    yield "HTA counts whole microseconds", figures(events, hta_class)
    yield (f"HTA counts {', '.join(f'{count:,} {kind}' for kind, count in odd.items())} with a stream as work",
           figures(work, hta_class))
    yield (f"HTA recognises computation by names of its own: {len(renamed)} differ, such as {''.join(renamed[:1])[:60]}",
           figures(work, own_class))
    yield "HTA has one timeline for all devices of a file", figures(work, own_class, by_device=True)


# --- HTA, in a process of its own ---


def worker(path):
    """Prints HTA's figures as a line of JSON."""
    import logging
    import warnings
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    from hta.trace_analysis import TraceAnalysis
    analysis = TraceAnalysis(trace_files={0: path}, trace_dir=os.path.dirname(path),
                             include_last_profiler_step=True)
    times = analysis.get_temporal_breakdown(visualize=False).iloc[0]
    overlap = analysis.get_comm_comp_overlap(visualize=False).iloc[0]["comp_comm_overlap_pctg"]
    _, kernels = analysis.get_gpu_kernel_breakdown(visualize=False, num_kernels=100000,
                                                   duration_ratio=1.0)
    kernels = kernels[~kernels["name"].map(is_memory)]
    frame = analysis.t.traces[0]
    names = analysis.t.symbol_table.get_sym_table()
    work = frame[frame["stream"].ne(-1)]
    print(json.dumps({
        "events": len(frame), "work": len(work),
        "figures": {"busy": float(times["kernel_time(us)"] - times["idle_time(us)"]),
                    "compute": float(times["compute_time(us)"]), "other": float(times["non_compute_time(us)"]),
                    "idle": float(times["idle_time(us)"]),
                    "overlap %": None if overlap != overlap else float(overlap),
                    "kernels": sum(names[int(kind)] in ("kernel", "Kernel") for kind in work["cat"]),
                    "kernel time": float(kernels["sum (us)"].sum())}}))


# --- both ---


# In a process that is small itself: a program's peak includes that of the one which it is started from.
STARTER = """import os, sys, time
begin = time.monotonic()
_, status, usage = os.wait4(os.posix_spawnp(sys.argv[1], sys.argv[1:], os.environ), 0)
print(os.waitstatus_to_exitcode(status), time.monotonic() - begin, usage.ru_maxrss, file=sys.stderr)
"""


def measured(command):
    """(stdout, seconds, peak bytes); raises RuntimeError with its last line."""
    done = subprocess.run([sys.executable, "-ISc", STARTER, *map(str, command)], stdin=subprocess.DEVNULL,
                          capture_output=True, check=True)
    *said, figures_of_it = done.stderr.decode("utf-8", "replace").strip().splitlines()
    status, seconds, peak_kb = figures_of_it.split()
    if status != "0":
        raise RuntimeError((said or ["?"])[-1])
    return done.stdout.decode(), float(seconds), int(peak_kb) * 1024


def rows_of(stepscope, path, by):
    text, seconds, peak = measured([stepscope, "report", path, "--by", by, "-f", "json", "--num-rows", "all"])
    return json.loads(text)["tables"][0]["rows"], seconds, peak


def ours(stepscope, path):
    """(figures, seconds, peak bytes, devices)"""
    devices, seconds, peak = rows_of(stepscope, path, "gpu")
    kernels, more, other = rows_of(stepscope, path, "kernel")
    total = collections.Counter()
    for row in devices:
        total.update({key: row[key] or 0 for key in ("busy_ns", "compute_ns", "kernels", "communication_ns")})
        total["overlap_ns"] += (row["communication_ns"] or 0) * (row["overlap_percent"] or 0) / 100
    sent = total["communication_ns"]
    found = {"busy": total["busy_ns"] / 1000, "compute": total["compute_ns"] / 1000,
             "other": (total["busy_ns"] - total["compute_ns"]) / 1000,
             "idle": sum(row["span_ns"] - row["busy_ns"] for row in devices) / 1000,
             "overlap %": 100 * total["overlap_ns"] / sent if sent else None,
             "kernels": total["kernels"], "kernel time": sum(row["total_ns"] for row in kernels) / 1000}
    return found, seconds + more, max(peak, other), len(devices)


def agree(key, a, b):
    if a is None or b is None:
        return a == b
    return abs(a - b) <= (0.006 if key == "overlap %" else 1)


def reasons_of(key, theirs, found, changed):
    """What leads from HTA's figure to stepscope's; None: nothing does."""
    reasons, at = [], theirs
    if agree(key, at, found):
        return []
    for reason, values in changed:
        if not agree(key, at, values[key]):
            reasons.append(reason)
            at = values[key]
        if agree(key, at, found):
            return reasons
    return None


def show(value, key):
    return "-" if value is None else f"{value:,.2f}" if key == "overlap %" else f"{value:,.0f}"


def beside(stepscope, python, path):
    """The number of differences without a reason."""
    try:
        text, seconds, peak = measured([python, __file__, "--worker", str(path)])
    except RuntimeError as error:
        print(f"\n{path.name}: HTA fails: {error}")
        return 0
    theirs = json.loads(text.splitlines()[-1])
    found, own_seconds, own_peak, devices = ours(stepscope, path)
    print(f"\n{path.name}: {theirs['events']:,} events, {theirs['work']:,} on {devices} device(s)")
    print(f"  HTA {seconds:.2f} s, {peak / 2**20:.0f} MiB; stepscope {own_seconds:.2f} s, {own_peak / 2**20:.0f} MiB: "
          f"{seconds / own_seconds:.0f} times faster, {peak / own_peak:.1f} times less memory")
    unexplained, changed = 0, list(changes(*events_of(path), theirs["work"]))
    for key in FIGURES:
        reasons = reasons_of(key, theirs["figures"][key], found[key], changed)
        unexplained += reasons is None
        print(f"  {key:12}{show(theirs['figures'][key], key):>14}{show(found[key], key):>14}  "
              f"{'NOT EXPLAINED' if reasons is None else '; '.join(reasons)}")
    return unexplained


def files_of(folder, scratch):
    """The Kineto files of the data; those of an archive are unpacked."""
    found = [path for path in sorted(folder.glob("0[234]*/*.json.gz"))]
    for path in sorted(folder.glob("01*/*.tar.gz")):
        with tarfile.open(path) as archive:
            archive.extractall(scratch, filter="data")
        found += sorted(pathlib.Path(scratch).rglob("*.json"))
    return found


def main():
    if sys.argv[1:2] == ["--worker"]:
        worker(sys.argv[2])
        return 0
    stepscope = os.environ.get("STEPSCOPE", str(ROOT / "build" / "release" / "stepscope"))
    python = os.environ.get("HTA_PYTHON", sys.executable)
    folder = pathlib.Path(os.environ.get("STEPSCOPE_TRACES") or ROOT.parent / "shared" / "data" / "traces")
    with tempfile.TemporaryDirectory() as scratch:
        paths = [pathlib.Path(path) for path in sys.argv[1:]] or files_of(folder, scratch)
        if not paths:
            print(f"no traces in {folder}: name files, or set STEPSCOPE_TRACES")
            return 0
        print("microseconds              HTA     stepscope")
        unexplained = sum(beside(stepscope, python, path) for path in paths)
    print(f"\n{unexplained} differences without a reason")
    return int(unexplained > 0)


if __name__ == "__main__":
    sys.exit(main())
