# SPDX-License-Identifier: Apache-2.0
"""Stragglers of two published trainings (github.com/ByteDance-Seed/StragglerAnalysis), as stepscope sees
them beside the results that are published with them: a table of quantities, and for each difference
why. Exit status 1 if a difference is larger than its reason allows.

    python tests/peers/straggler_beside.py [--stepscope PROGRAM] [--traces FOLDER] [ST | AR]…

The publication simulates a training whose every operation takes the mean of its kind, over all ranks,
micro-batches and steps. stepscope replays the ranks with phases that take no longer than those of the
median rank."""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

import table_recordings

ROOT = pathlib.Path(__file__).resolve().parents[2]
KINDS = {"forward-compute": "forward", "backward-compute": "backward"}

GAPS = ("theirs drops the time between operations, in which nothing was recorded (launch delays); "
        "ours keeps it")
MEDIAN = ("theirs takes each operation to the mean of its kind, in which the slow ranks count; ours takes "
          "only what exceeds the median rank, and leaves the other differences and the gaps")


class Reader:
    def __init__(self, program, folder):
        self.program, self.folder = program, folder

    def report(self, *options):
        done = subprocess.run([self.program, "report", self.folder, "--format", "json", *options],
                              capture_output=True, text=True, check=True)
        return json.loads(done.stdout)

    def rows(self, by, table=0):
        return self.report("--by", by, "--num-rows", "all")["tables"][table]["rows"]


def worst(published, by):
    found = published[f"blocking_decompose_by_{by}"]
    return max(found, key=found.get)


def slow_stages(published):
    """Stages that alone slow the training down by at least half of what the worst does."""
    found = published["blocking_decompose_by_stage"]
    most = max(found.values()) - 1
    return {int(stage) for stage, value in found.items() if value - 1 >= most / 2}


def longest(rows):
    """Of each step: from the first start of a rank to the last end, in seconds."""
    begins, ends = {}, {}
    for row in rows:
        begin, number = row["begin_ns"], row["step"]
        begins[number] = min(begins.get(number, begin), begin)
        ends[number] = max(ends.get(number, 0), begin + row["duration_ns"])
    return {number: (ends[number] - begins[number]) / 1e9 for number in ends}


def saved_percent(rows, what, rank=None):
    found = [row["saved_percent"] for row in rows if row["what_if"] == what and row["rank"] == rank]
    return found[0] if found else 0.0


def mean_beyond_median_percent(table, stages, step_s):
    """By how much a pipeline takes longer with computing at the mean of all ranks than at the median
    rank's: a pipeline of p stages and m micro-batches passes m + p - 1 of them."""
    sums, batches = {}, {}
    for row in table_recordings.rows_of(table):
        if row["optype"] in KINDS:
            key = row["rank"], row["step"]
            sums[key] = sums.get(key, 0) + row["duration"]
            batches[key] = batches.get(key, 0) + (row["optype"] == "forward-compute")
    ranks = {}
    for (rank, _), computed in sums.items():
        ranks.setdefault(rank, []).append(computed)
    of_rank = [statistics.fmean(found) for found in ranks.values()]
    count = max(batches.values())
    more = (statistics.fmean(of_rank) - statistics.median(of_rank)) / count
    return 100 * more * (count + stages - 1) / step_s


def compare(program, traces, name):
    """(quantity, ours, published, largest difference, why they differ)"""
    table = next(traces.rglob(f"trace-{name}.parquet"))
    published = json.loads((table.parent / f"result-{name}.json").read_text())
    meta = published["job_meta"]
    base, ideal = published["step_t_base"], published["step_t_noblk"]
    compact = published["step_t_nodelay"]
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        table_recordings.straggler_ranks(table, folder)
        reader = Reader(program, folder)
        lengths = longest(reader.rows("step"))
        opening = reader.report()["ranks"]
        path, what_if = (reader.rows("critical-path", table) for table in (0, 1))
        stages = reader.rows("stage")
    for number in sorted(base, key=int)[:3]:
        yield f"step {number}, s", lengths[int(number)], base[number], 1e-3 * base[number], \
            "the file has 32-bit floats, and steps begin with their first operation"
    mean = statistics.fmean(base.values())
    yield "mean step, s", statistics.fmean(lengths.values()), mean, 1e-3 * mean, "as above"
    on_path = sum(row["step_ns"] for row in path) / 1e9
    yield "critical path of the mean step, s", on_path, mean, 1e-3 * mean, "as above"
    without_gaps = statistics.fmean(compact.values())
    yield "replayed unchanged, s", on_path, without_gaps, 0.03 * mean, GAPS
    per_stage = meta["dp_size"] * meta["tp_size"]
    stage = opening["slowest_rank"] // per_stage
    yield "stage of the slowest rank", stage, int(worst(published, "stage")), 0, ""
    if name == "AR":
        within = opening["slowest_rank"] % per_stage // meta["tp_size"]
        yield "pipeline of the slowest rank", within, int(worst(published, "dp_rank")), 0, ""
    slow = KINDS[worst(published, "optype")]
    yield f"slower in (published: {slow})", opening["slower_in"], slow, 0, ""
    delayed = max(stages, key=lambda row: row["delay_step_ns"])
    yield "rank that falls behind, by stages of a step: its stage", delayed["rank"] // per_stage, \
        int(worst(published, "stage")), 0, ""
    theirs = 100 * (1 - statistics.fmean(ideal.values()) / without_gaps)
    by_mean = mean_beyond_median_percent(table, meta["pp_size"], mean)
    reason = f"{MEDIAN}. In a pipeline, the mean alone is {by_mean:.1f} points"
    yield "saved, all ranks alike, %", saved_percent(what_if, "every rank as fast as the median"), \
        theirs, by_mean + 2, reason
    if name == "AR":
        yield "saved, the slowest rank alike, %", saved_percent(
            what_if, "rank as fast as the median", opening["slowest_rank"]), theirs, \
            by_mean + 2, reason + "; published is one rank that explains all (dp_rank 0 of stage 0)"
    else:
        yield "saved, one of two slow ranks alike, %", saved_percent(
            what_if, "rank as fast as the median", opening["slowest_rank"]), 0.0, 1, \
            "published is both ranks of the stage at once; of one alone, the other remains"


def is_equal(ours, theirs):
    if isinstance(ours, float):
        return abs(ours - theirs) <= 1e-4 * abs(theirs)
    return ours == theirs


def shown(value):
    return f"{value:.4f}" if isinstance(value, float) else str(value)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--stepscope", default=os.environ.get("STEPSCOPE") or
                        ROOT / "build/dev/stepscope")
    parser.add_argument("--traces", type=pathlib.Path, default=pathlib.Path(
        os.environ.get("STEPSCOPE_TRACES") or ROOT.parent / "shared/data/traces"))
    parser.add_argument("names", nargs="*", help="ST or AR; default both")
    options = parser.parse_args()
    if table_recordings.missing():
        print(f"not compared: {table_recordings.missing()}")
        return 0
    counts = {"equal": 0, "explained": 0, "DIFFERENT": 0}
    for name in options.names or ("ST", "AR"):
        print(f"{name:56} {'stepscope':>12} {'published':>12}")
        for quantity, ours, theirs, allowed, why in compare(options.stepscope, options.traces, name):
            if is_equal(ours, theirs):
                verdict = "equal"
            elif isinstance(ours, float) and abs(ours - theirs) <= allowed:
                verdict = "explained"
            else:
                verdict = "DIFFERENT"
            counts[verdict] += 1
            reason = f": {why}" if verdict == "explained" else ""
            print(f"  {quantity:54} {shown(ours):>12} {shown(theirs):>12}  {verdict}{reason}", flush=True)
    print(", ".join(f"{count} {verdict}" for verdict, count in counts.items()))
    return 1 if counts["DIFFERENT"] else 0


if __name__ == "__main__":
    sys.exit(main())
