#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What merging costs: eight files of trace events beside json.load, concatenation and json.dump; ten
million records of 64 ranks beside a bare heap merge of as many 40-byte records; opening a run of a
thousand ranks. Both sides of each ratio run in turn, on files in the page cache."""

import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

STEPSCOPE = os.environ["STEPSCOPE"]
TOOLS = pathlib.Path(STEPSCOPE).parent / "tests"
ROUNDS = int(os.environ.get("BENCH_ROUNDS", "3"))
FILES = 8
STREAMS, RECORDS = 64, int(os.environ.get("BENCH_RECORDS", "10000000"))
RANKS = 1000
SMALL, LARGE = (int(size) * 1_000_000 for size in os.environ.get("BENCH_MERGE_MB", "50,500").split(","))

# A process of its own: what a child inherits of a large parent before exec counts as its peak.
MEASURE = """
import os, subprocess, sys, time
begin = time.perf_counter()
child = subprocess.Popen(sys.argv[1:], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                         stderr=subprocess.DEVNULL)
_, status, usage = os.wait4(child.pid, 0)
print(time.perf_counter() - begin, usage.ru_maxrss, os.waitstatus_to_exitcode(status))
"""
NAIVE = """
import json, sys
events = []
for path in sys.argv[2:]:
    with open(path) as file:
        events += json.load(file)["traceEvents"]
with open(sys.argv[1], "w") as file:
    json.dump({"traceEvents": events}, file)
"""


def row(identity, value, beside=""):
    print(f"{identity}\t{value:.4g}\t{beside}", flush=True)


def measure(*command):
    done = subprocess.run([sys.executable, "-c", MEASURE, *map(str, command)], check=True, text=True,
                          capture_output=True)
    seconds, peak_kb, status = done.stdout.split()
    assert status == "0", command
    return float(seconds), int(peak_kb) / 1024


def write_events(path, size, rank):
    """As torch.profiler writes: an operator, its launch, the arrow, the kernel."""
    head = {"schemaVersion": 1, "distributedInfo": {"rank": rank, "world_size": FILES},
            "baseTimeNanoseconds": 10**18 + rank * 1000}
    with open(path, "w") as file:
        file.write(json.dumps(head)[:-1] + ', "traceEvents": [\n')
        written, i = 0, 0
        while written < size:
            ts, ident = f"{i * 30}.{i % 1000:03}", i + 1
            written += file.write(
                f'  {{"ph": "X", "cat": "cpu_op", "name": "aten::addmm", "pid": 4242, "tid": 4242, "ts": {ts}, '
                f'"dur": 21.500, "args": {{"External id": {ident}, "Ev Idx": {i}, "Input Dims": [[64], [32, 128], '
                f'[128, 64], [], []], "Input type": ["float", "float", "float", "Scalar", "Scalar"]}}}},\n'
                f'  {{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 4242, "tid": 4242, '
                f'"ts": {ts}, "dur": 5.250, "args": {{"External id": {ident}, "cbid": 211, "correlation": {ident}}}}},\n'
                f'  {{"ph": "s", "id": {ident}, "pid": 4242, "tid": 4242, "ts": {ts}, "cat": "ac2g", "name": "ac2g"}},\n'
                f'  {{"ph": "X", "cat": "kernel", "name": "void cutlass::Kernel2<cutlass_80_simt_sgemm_128x64_8x5_nn_'
                f'align1>(cutlass_80_simt_sgemm_128x64_8x5_nn_align1::Params)", "pid": 0, "tid": 7, "ts": {ts}, '
                f'"dur": 9.125, "args": {{"External id": {ident}, "device": 0, "context": 1, "stream": 7, '
                f'"correlation": {ident}, "grid": [1, 2, 1], "block": [128, 1, 1]}}}},\n'
                f'  {{"ph": "f", "id": {ident}, "pid": 0, "tid": 7, "ts": {ts}, "cat": "ac2g", "name": "ac2g", '
                f'"bp": "e"}},\n')
            i += 1
        file.write('  {"ph": "i", "s": "g", "name": "Record Window End", "pid": "", "tid": "", "ts": 0}\n]}\n')


def bench_json(folder):
    paths = [folder / f"rank{rank}.json" for rank in range(FILES)]
    for rank, path in enumerate(paths):
        write_events(path, SMALL, rank)
    (folder / "naive.py").write_text(NAIVE)
    ours, naive = [], []
    for _ in range(ROUNDS):
        ours.append(measure(STEPSCOPE, "merge", *paths, "-o", folder / "out.json"))
        naive.append(measure(sys.executable, folder / "naive.py", folder / "naive.json", *paths))
    seconds, base = (statistics.median(run[0] for run in runs) for runs in (ours, naive))
    peak = max(run[1] for run in ours)
    row("merge_json_ratio", seconds / base, f"{seconds:.2f} s, json.load and json.dump {base:.1f} s")
    row("merge_json_memory", peak, f"{FILES} files of {SMALL // 10**6} MB; json.load "
                                   f"{statistics.median(run[1] for run in naive):.0f} MiB")
    for name in ("naive.json", "out.json"):
        (folder / name).unlink()
    for rank, path in enumerate(paths):
        write_events(path, LARGE, rank)
    large = measure(STEPSCOPE, "merge", *paths, "-o", folder / "out.json")
    row("merge_json_growth", abs(large[1] / peak - 1) * 100,
        f"{FILES} files of {LARGE // 10**6} MB: {large[0]:.1f} s, {large[1]:.1f} MiB")
    for path in [*paths, folder / "out.json"]:
        path.unlink()


def make_run(folder, streams, events, kind="traces"):
    (folder / "ranks").mkdir(parents=True)
    subprocess.run([TOOLS / "merge_streams", kind, folder, str(streams), str(events)], check=True)
    (folder / "run.json").write_text(json.dumps({"files": "ranks", "launcher": "bench", "max_ranks": 0, "ranks": "",
                                                 "run_id": "bench", "schema": 1, "world_size": streams}, indent=1))


def bench_native(folder):
    run, packed, raw = folder / "run.stepscope", folder / "packed.stepscope", folder / "raw"
    make_run(run, STREAMS, RECORDS)
    make_run(packed, STREAMS, RECORDS, "packed")
    raw.mkdir()
    subprocess.run([TOOLS / "merge_streams", "raw", raw, str(STREAMS), str(RECORDS)], check=True)
    commands = {"ours": (STEPSCOPE, "merge", run, "--flat", "--plain", "-o", folder / "out.pftrace"),
                "compressed": (STEPSCOPE, "merge", packed, "--flat", "-o", folder / "packed.pftrace"),
                "pack": (STEPSCOPE, "merge", run, "--pack", "-o", folder / "out.tar"),
                "heap": (TOOLS / "merge_streams", "heap", raw, STREAMS, folder / "out.raw")}
    runs = {name: [] for name in commands}
    for _ in range(ROUNDS):
        for name, command in commands.items():
            runs[name].append(measure(*command))
    seconds = {name: statistics.median(one[0] for one in some) for name, some in runs.items()}
    peak = max(one[1] for one in runs["ours"])
    row("merge_native_ratio", seconds["ours"] / seconds["heap"],
        f"{RECORDS / 1e6:g} M records of {STREAMS} ranks in {seconds['ours']:.2f} s, {peak:.0f} MiB; heap "
        f"{seconds['heap']:.2f} s")
    row("merge_compressed_ratio", seconds["compressed"] / seconds["heap"],
        f"{seconds['compressed']:.2f} s, {max(one[1] for one in runs['compressed']):.0f} MiB")
    row("merge_pack_ratio", seconds["pack"] / seconds["heap"], f"{seconds['pack']:.2f} s")
    subprocess.run(["rm", "-r", run, packed, raw, *[folder / name for name in
                                           ("out.pftrace", "packed.pftrace", "out.tar", "out.raw")]], check=True)


def bench_open(folder):
    run = folder / "thousand.stepscope"
    make_run(run, RANKS, RANKS * 200)
    for command, name in (("info", "merge_open_info"), ("report", "merge_open_report")):
        seconds = statistics.median(measure(STEPSCOPE, command, run)[0] for _ in range(ROUNDS))
        row(name, seconds, f"{RANKS} ranks")
    training = folder / "training.stepscope"
    subprocess.run([TOOLS / "training_ranks", training, str(RANKS), "20", str(RANKS // 8)], check=True)
    seconds = statistics.median(measure(STEPSCOPE, "report", training)[0] for _ in range(ROUNDS))
    row("merge_open_training", seconds, f"{RANKS} ranks of {RANKS // 8} nodes, 20 steps each")


def main():
    with tempfile.TemporaryDirectory(dir=os.environ.get("BENCH_FOLDER")) as folder:
        bench_native(pathlib.Path(folder))
        bench_open(pathlib.Path(folder))
        bench_json(pathlib.Path(folder))


main()
