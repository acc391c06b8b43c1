# SPDX-License-Identifier: Apache-2.0
"""Recordings of other tools, as `stepscope report` reads them, beside facts that were computed without
it: one row for each recording and quantity, "equal" or "DIFFERENT". Exit status 1 if a difference has
no reason here.

    python tests/peers/recorded_facts.py [--stepscope PROGRAM] [--traces FOLDER] [NAME…]

NAME: only recordings with this in their path. The folder holds facts.json."""

import argparse
import json
import math
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import table_recordings

ROOT = pathlib.Path(__file__).resolve().parents[2]

# Differences that are no error of ours: (part of the path, quantity): why.
EXPLAINED = {
    ("/trace-", "time of"):
        "the file has 32-bit floats of seconds; the facts add them as such",
}

# Files that are no recordings: settings and results of another project's analysis.
NO_RECORDING = ("meta-AR.yaml", "meta-ST.yaml", "ms-ST.json", "mw-ST.json", "result-AR.json",
                "result-ST.json")


class Reader:
    def __init__(self, program, folder):
        self.program, self.folder = program, folder

    def run(self, *arguments):
        done = subprocess.run([self.program, *map(str, arguments)], capture_output=True, text=True,
                              check=False)
        if done.returncode != 0:
            raise RuntimeError(f"stepscope {arguments[0]}: {done.stderr.strip()}")
        return done.stdout

    def document(self, path, *options):
        return json.loads(self.run("report", path, "--format", "json", "--num-rows", "all",
                                   *options))

    def rows(self, path, by):
        return self.document(path, "--by", by)["tables"][0]["rows"]


def ns(us):
    return round(us * 1000)


def total(rows, column):
    return sum(row[column] for row in rows)


def communicates(row):
    return re.search("nccl", row["name"], re.IGNORECASE) is not None


# --- kinds of recordings: (quantity, ours, the fact, what they may differ by) -----------------------

def streams_of(reader, path, known, name="kernel_us", factor=1000):
    rows = {f"dev{row['device']}/stream{row['stream']}": row for row in reader.rows(path, "stream")}
    for stream, fact in sorted(known.items()):
        if fact["kernels"] > 0:
            row = rows.get(stream, {"kernels": 0, "kernel_ns": 0})
            yield f"kernels of {stream}", row["kernels"], fact["kernels"], 0
            yield f"kernel ns of {stream}", row["kernel_ns"], round(fact[name] * factor), 0
    yield "kernels of all streams", total(rows.values(), "kernels"), sum(
        fact["kernels"] for fact in known.values()), 0


def device_of(rows, fact):
    """Facts of unions are sums of doubles of microseconds: each is right to the distance of two such
    numbers, a quarter of a microsecond where they count from 1970. Ours are exact."""
    step_ns = 1000 * math.ulp(float(fact["ts_range"][1]))
    rounded = step_ns if fact["ts_decimals"][0][0] or step_ns > 100 else 0
    yield "kernels", total(rows, "kernels"), fact["kernels"], 0
    yield "kernel ns", total(rows, "kernel_ns"), ns(fact["kernel_us"]), 0
    yield ("busy ns", total(rows, "busy_ns"), ns(fact["gpu_busy_union_us"]),
           2 * rounded * fact["gpu_events"] ** 0.5)
    yield ("span ns", max(row["span_ns"] for row in rows), ns(fact["gpu_span_us"]), 2 * rounded)


def memory_events(reader, path):
    with tempfile.TemporaryDirectory() as folder:
        copy = pathlib.Path(folder, "copy.json")
        reader.run("export", path, "--to", "kineto", "-o", copy)
        return copy.read_text("utf-8").count('"[memory]"')


def kineto(reader, path, fact):
    yield from device_of(reader.rows(path, "gpu"), fact)
    yield from streams_of(reader, path, fact["streams"])
    found = [row for row in reader.rows(path, "kernel") if communicates(row)]
    known = fact["nccl"] or {"n": 0, "us": 0}
    yield "communication kernels", total(found, "instances"), known["n"], 0
    yield "communication ns", total(found, "total_ns"), ns(known["us"]), 0
    steps = [step for step in fact["steps"] if step[1] in ("user_annotation", "Operator")]
    rows = {}
    for row in reader.rows(path, "step"):
        rows.setdefault(row["step"], []).append(row["duration_ns"])
    for name, _, duration_us in steps:
        number = int(name.split("#")[1])
        ours = rows.get(number, [])
        duration_ns = ns(duration_us)
        yield (f"step {number} ns", duration_ns if duration_ns in ours else sum(ours), duration_ns, 0)
    if fact["memory_events"]:
        yield "memory events", memory_events(reader, path), fact["memory_events"], 0


def kineto_ranks(reader, path, fact):
    rows = {row["rank"]: row for row in reader.rows(path, "gpu")}
    ranks = fact["ranks"]
    yield "ranks", len(rows), len(ranks), 0
    steps = [row["duration_ns"] for row in reader.rows(path, "step")]
    for name, known in sorted(ranks.items()):
        rank = int(re.match(r"worker(\d+)_", name).group(1))
        for quantity, ours, theirs, allowed in device_of([rows[rank]], known):
            yield f"rank {rank} {quantity}", ours, theirs, allowed
        for _, _, duration_us in known["steps"]:
            yield (f"rank {rank} step ns", ns(duration_us) if ns(duration_us) in steps else 0,
                   ns(duration_us), 0)
    found = [row for row in reader.rows(path, "kernel") if communicates(row)]
    yield ("communication kernels", total(found, "instances"),
           sum(known["nccl"]["n"] for known in ranks.values()), 0)
    yield ("communication ns", total(found, "total_ns"),
           sum(ns(known["nccl"]["us"]) for known in ranks.values()), 0)
    stages = reader.rows(path, "stage")
    yield ("exposed time of all stages: the longest step, ns", total(stages, "exposed_step_ns"),
           max(ns(step[2]) for known in ranks.values() for step in known["steps"]), len(stages))
    last = [row["last_rank"] for row in reader.rows(path, "collective")]
    for i, known in enumerate(fact["collective_alignment"]):
        yield f"last rank of collective {i}", last[i], known["last_arriver"], 0


def nsys(reader, path, fact):
    rows = reader.rows(path, "gpu")
    yield "kernels", total(rows, "kernels"), fact["kernels"], 0
    yield "kernel ns", total(rows, "kernel_ns"), fact["kernel_ns"], 0
    yield from streams_of(reader, path, fact["streams"], "kernel_ns", 1)
    kernels = reader.rows(path, "kernel")
    found = [row for row in kernels if communicates(row)]
    yield "communication kernels", total(found, "instances"), sum(
        count for count, _ in fact["nccl"].values()), 0
    yield "communication ns", total(found, "total_ns"), sum(
        time_ns for _, time_ns in fact["nccl"].values()), 0
    for name, count, time_ns in fact["top"]:
        of_name = [row for row in kernels if row["base_name"] == name]
        yield f"{name}: kernels", total(of_name, "instances"), count, 0
        yield f"{name}: ns", total(of_name, "total_ns"), time_ns, 0
    for table, by in (("MEMCPY", "memcpy"), ("MEMSET", "memset")):
        if table in fact:
            copies = reader.rows(path, by)
            yield f"{by}: count", total(copies, "instances"), fact[table][0], 0
            yield f"{by}: ns", total(copies, "total_ns"), fact[table][1], 0
            if len(fact[table]) > 2:
                yield f"{by}: bytes", total(copies, "total_bytes"), fact[table][2], 0
    yield "calls of the runtime", total(reader.rows(path, "api"), "instances"), \
        fact["runtime_rows"], 0


def chrome(reader, path, fact):
    """Kernels and calls of CUDA become work and calls, NVTX annotations of the thread and stream."""
    document = reader.document(path, "--by", "range")
    yield "events", document["header"]["inputs"][0]["events"], fact["events"], 0
    counts = {"cuda": total(reader.rows(path, "kernel"), "instances"),
              "cuda_api": total(reader.rows(path, "api"), "instances"), "nvtx": 0, "nvtx-kernel": 0}
    for row in document["tables"][0]["rows"]:
        counts["nvtx"] += row["count"] if (row["thread"] or "").startswith("NVTX") else 0
        counts["nvtx-kernel"] += row["count"] if row["domain"].endswith(" annotations") else 0
    for name, count in fact["cats"]:
        category = re.match(r"\('([^']+)'", name).group(1)
        yield f"events of {category}", counts[category], count, 0


def ncu(reader, path, fact):
    found = {(row["section"], row["metric"]): row["avg"] for row in reader.rows(path, "metric")}
    light = "GPU Speed Of Light Throughput"
    # One metric of the file is a text.
    yield "metrics", len(found) + 1, fact["rows"] - fact["rule_rows"], 0
    for section, metric, name in ((light, "Duration", "duration_ns"),
                                  (light, "DRAM Frequency", "dram_hz"),
                                  (light, "SM Frequency", "sm_hz"),
                                  (light, "Elapsed Cycles", "elapsed_cycles"),
                                  (light, "Memory Throughput", "dram_pct"),
                                  ("Occupancy", "Achieved Occupancy", "ach_occ")):
        yield metric, found[section, metric], fact[name], 0
    rows = reader.rows(path, "kernel")
    yield "kernels", total(rows, "instances"), 1, 0
    yield "kernel ns", total(rows, "total_ns"), fact["duration_ns"], 0


def speedscope(reader, path, fact):
    threads = reader.rows(path, "thread")
    header = reader.document(path, "--by", "thread")["header"]["inputs"][0]
    yield "threads", len(threads), fact["profiles"], 0
    yield "samples", total(threads, "self_samples"), fact["total_samples"], 0
    yield "tool", header["tool"], fact["exporter"], 0
    yield ("time of all samples, ns", round(fact["total_samples"] * 1e9 / header["asked_hz"]),
           round(fact["total_weight_s"] * 1e9), 0)


# --- tables of other projects, which table_recordings.py turns into traces ----------------------------

def converted(reader, path, convert, compare, fact):
    with tempfile.TemporaryDirectory() as folder:
        made = pathlib.Path(folder, "made.json")
        convert(path, made)
        yield from compare(reader, made, fact)


def jax(reader, made, fact):
    rows = reader.rows(made, "gpu")
    yield "kernels (thunks)", total(rows, "kernels"), fact["thunks"], 0
    yield "kernel ns", total(rows, "kernel_ns"), fact["thunk_projected_ns"], 0
    yield "device", rows[0]["model"], fact["gpu"], 0
    kernels = reader.rows(made, "kernel")
    names = dict(fact["collective_names"])
    found = {name: [row for row in kernels if re.sub(r"[.\d]+$", "", row["name"]) == name]
             for name in names}
    for name, count in names.items():
        yield f"{name}: kernels", total(found[name], "instances"), count, 0
    yield "communication ns", sum(total(rows, "total_ns") for rows in found.values()), \
        fact["collective_ns"], 0
    steps = [row["duration_ns"] for row in reader.rows(made, "step")]
    yield "steps", len(steps), fact["step_executions"], 0
    for number, duration_ns in enumerate(fact["step_projected_ns"]):
        yield f"step {number} ns", steps[number], duration_ns, 0


def straggler(reader, made, fact):
    """Times are 32-bit floats: their sums are compared to 7 digits."""
    operations = {}
    for row in reader.rows(made, "range"):
        if row["kind"] == "range":
            count, time_ns = operations.get(row["name"], (0, 0))
            operations[row["name"]] = (count + row["count"], time_ns + row["total_ns"])
    header = reader.document(made, "--by", "range")["header"]["inputs"][0]
    yield "processes (ranks)", header["processes"], fact["ranks"], 0
    yield "events", header["events"] - fact["steps"] * fact["ranks"], fact["rows"], 0
    for name, (count, time_s) in sorted(fact["ops"].items()):
        ours = operations.get(name, (0, 0))
        yield f"count of {name}", ours[0], count, 0
        yield f"time of {name}, ns", ours[1], round(time_s * 1e9), 0
    steps = {row["step"] for row in reader.rows(made, "step")}
    yield "steps", len(steps), fact["steps"], 0


# --- the table ------------------------------------------------------------------------------------

def comparisons(reader, name, fact):
    """An iterator of comparisons; or a text: why there are none."""
    path = reader.folder / name
    base = pathlib.PurePath(name).name
    if "as_recorded" in fact:
        return "no facts: PyTorch's own recordings and counts, which other tests compare"
    if base in NO_RECORDING:
        return "settings or results of another analysis, no recording"
    if "ranks" in fact and isinstance(fact["ranks"], dict):
        return kineto_ranks(reader, path, fact)
    if name.endswith(".sqlite"):
        return nsys(reader, path, fact)
    if name.endswith(".csv"):
        return ncu(reader, path, fact)
    if name.endswith(".speedscope.json"):
        return speedscope(reader, path, fact)
    if name.endswith((".zip", ".parquet")):
        why = table_recordings.missing()
        if why:
            return why
        is_jax = name.endswith(".zip")
        return converted(reader, path,
                         table_recordings.nsys_jax if is_jax else table_recordings.straggler,
                         jax if is_jax else straggler, fact)
    if base == "timeline-ST.json.gz":
        return straggler_timeline(reader, name)
    return chrome(reader, path, fact) if "events" in fact else kineto(reader, path, fact)


def straggler_timeline(reader, name):
    """The same recording as trace-ST.parquet, whose facts these are."""
    facts, path = json.loads((reader.folder / "facts.json").read_text()), reader.folder / name
    fact = facts[str(pathlib.PurePath(name).parent / "trace-ST.parquet")]["facts"]
    yield "events", reader.document(path, "--by", "range")["header"]["inputs"][0]["events"], \
        fact["rows"], 0
    counts = {}
    for row in reader.rows(path, "range"):
        counts[row["name"]] = counts.get(row["name"], 0) + row["count"]
    for name, (count, _) in sorted(fact["ops"].items()):
        yield f"count of {name}", counts.get(name, 0), count, 0


def reason_of(name, quantity):
    for (path, part), reason in EXPLAINED.items():
        if path in name and part in quantity:
            return reason
    return ""


def judge(name, quantity, ours, known, allowed):
    """"equal", or why not; and whether that is an error."""
    if ours == known:
        return "equal", False
    is_number = isinstance(ours, (int, float)) and isinstance(known, (int, float))
    if is_number and abs(ours - known) <= allowed:
        return f"equal within {allowed:.0f}", False
    reason = reason_of(name, quantity)
    # A reason explains the last digits, not a wrong number.
    if reason and is_number and abs(ours - known) <= max(1, 1e-4 * abs(known)):
        return f"differs: {reason}", False
    return "DIFFERENT", True


def compare(reader, name, fact, out):
    """Prints the rows of one recording; returns (compared, equal, errors)."""
    found = comparisons(reader, name, fact)
    if isinstance(found, str):
        print(f"{name}\n  not compared: {found}", file=out)
        return 0, 0, 0
    print(name, file=out)
    compared = equal = errors = 0
    try:
        for quantity, ours, known, allowed in found:
            verdict, is_error = judge(name, quantity, ours, known, allowed)
            print(f"  {quantity:45} {ours!s:>22} {known!s:>22}  {verdict}", file=out)
            compared += 1
            equal += verdict.startswith("equal")
            errors += is_error
    except RuntimeError as error:
        print(f"  UNREADABLE: {error}", file=out)
        errors += 1
    return compared, equal, errors


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--stepscope", default=os.environ.get("STEPSCOPE") or
                        ROOT / "build/dev/stepscope")
    parser.add_argument("--traces", type=pathlib.Path, default=pathlib.Path(
        os.environ.get("STEPSCOPE_TRACES") or ROOT.parent / "shared/data/traces"))
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    facts = json.loads((options.traces / "facts.json").read_text())
    reader = Reader(options.stepscope, options.traces)
    recordings = [name for name in sorted(facts)
                  if not options.names or any(part in name for part in options.names)]
    sums = [compare(reader, name, facts[name]["facts"], sys.stdout) for name in recordings]
    compared, equal, errors = (sum(column) for column in zip(*sums, strict=True))
    print(f"\n{len(recordings)} recordings, {sum(row[0] > 0 for row in sums)} compared: {compared} "
          f"quantities, {equal} equal, {compared - equal - errors} explained, {errors} DIFFERENT")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
