# SPDX-License-Identifier: Apache-2.0
"""A training in pipelines with a slow last stage, as a study of stragglers publishes it: the table of all
operations, and what the training would take if some of them took their mean. Times are 32-bit seconds."""

import gzip
import json
import random
import statistics

from . import parquet

STAGES, PIPELINES, BATCHES, STEPS = 4, 2, 4, (23, 25, 33, 34, 36, 259, 261, 263)
MS = 1e-3
MEAN = {"forward-compute": 86 * MS, "backward-compute": 158 * MS, "send": .6 * MS, "params-all-gather": 24 * MS,
        "layernorm-grads-all-reduce": .04 * MS, "embedding-grads-all-reduce": 90 * MS,
        "grads-reduce-scatter": 55 * MS, "optimizer-clip-main-grad": 3 * MS, "optimizer": 40 * MS, "gc": 0.0}
# The last stage computes the loss too; by pipeline.
SLOW_STAGE, SLOWER = 3, {"forward-compute": (1.6, 1.615), "backward-compute": (1.2, 1.205)}
DELAY = .4 * MS  # between two operations of a rank


def schedule(stage):
    """One forward, one backward: [(forward or backward, micro-batch)] of a stage."""
    ahead = min(BATCHES, STAGES - 1 - stage)
    order, forward, backward = [("forward", i) for i in range(ahead)], ahead, 0
    while backward < BATCHES:
        if forward < BATCHES:
            order.append(("forward", forward))
            forward += 1
        order.append(("backward", backward))
        backward += 1
    return order


class Step:
    """Plays one step. length: a function of (kind, rank, micro-batch); delay: between operations."""

    def __init__(self, length, delay):
        self.length, self.delay = length, delay
        self.ranks = [(stage, pipeline) for stage in range(STAGES) for pipeline in range(PIPELINES)]
        self.at, self.rows = dict.fromkeys(self.ranks, 0.0), []
        self.sent = {}
        self.together("params-all-gather", by_stage)
        waiting = {rank: list(schedule(rank[0])) for rank in self.ranks}
        while any(waiting.values()):
            assert any([self.batch(rank, waiting[rank]) for rank in self.ranks])
        for kind, group in (("layernorm-grads-all-reduce", by_stage), ("embedding-grads-all-reduce", ends),
                            ("grads-reduce-scatter", by_stage), ("optimizer-clip-main-grad", lambda rank: 0)):
            self.together(kind, group)
        for rank in self.ranks:
            self.put("optimizer", rank, 0, self.at[rank], self.at[rank] + self.length("optimizer", rank, 0))
            self.put("gc", rank, 0, self.at[rank], self.at[rank])

    def put(self, kind, rank, batch, begin, end):
        self.rows.append((kind, rank, batch, begin, end))
        self.at[rank] = end + self.delay

    def batch(self, rank, waiting):
        """The next micro-batch of a rank, if what it needs has been sent."""
        if not waiting:
            return False
        (way, number), (stage, pipeline) = waiting[0], rank
        step = 1 if way == "forward" else -1
        source, target = (stage - step, pipeline), (stage + step, pipeline)
        if source in self.at:
            if (way, source, number) not in self.sent:
                return False
            # Data moves when both have come to it: the sender does something else meanwhile.
            begin, moving = self.sent[way, source, number]
            end = max(begin, self.at[rank]) + moving
            self.rows.append((f"{way}-send", source, number, begin, end))
            self.put(f"{way}-recv", rank, number, self.at[rank], end + .1 * MS)
        begin = self.at[rank]
        self.put(f"{way}-compute", rank, number, begin, begin + self.length(f"{way}-compute", rank, number))
        if target in self.at:
            self.sent[way, rank, number] = self.at[rank], self.length("send", rank, number)
        waiting.pop(0)
        return True

    def together(self, kind, group_of):
        """Begins as each rank arrives, and ends for all as the last one has arrived and data has moved."""
        groups = {}
        for rank in self.ranks:
            groups.setdefault(group_of(rank), []).append(rank)
        for group, members in groups.items():
            if group is None:
                continue
            begins = {rank: self.at[rank] for rank in members}
            end = max(begins.values()) + max(self.length(kind, rank, 0) for rank in members)
            for rank in members:
                self.put(kind, rank, 0, begins[rank], end)

    def seconds(self):
        return max(row[4] for row in self.rows) - min(row[3] for row in self.rows)


def by_stage(rank):
    return rank[0]


def ends(rank):
    """The first and the last stage share their embeddings."""
    return f"pipeline {rank[1]}" if rank[0] in (0, STAGES - 1) else None


def measured(number):
    """How long each operation of a step takes, drawn once."""
    dice, known = random.Random(800 + number), {}

    def length(kind, rank, batch):
        slow = SLOWER[kind][rank[1]] if rank[0] == SLOW_STAGE and kind in SLOWER else 1
        key = kind, rank, batch
        if key not in known:
            known[key] = MEAN[kind] * slow * (1 + dice.uniform(-.015, .015))
        return known[key]
    return length


def results():
    """(rows of each step, what is published of it)"""
    lengths = {number: measured(number) for number in STEPS}
    steps = {number: Step(lengths[number], DELAY) for number in STEPS}
    compact = {number: Step(lengths[number], 0) for number in STEPS}
    drawn = {}
    for number, step in steps.items():
        for kind, rank, batch, *_ in step.rows:
            if kind in MEAN:
                drawn.setdefault(kind, []).append(lengths[number](kind, rank, batch))
    means = {kind: statistics.fmean(found) for kind, found in drawn.items()} | {"send": MEAN["send"]}
    ideal = Step(lambda kind, rank, batch: means[kind], 0).seconds()

    def slowdown(keeps):
        """With only some operations as they were."""
        return statistics.fmean(Step(lambda kind, rank, batch: lengths[number](kind, rank, batch) if keeps(
            kind, rank) else means[kind], 0).seconds() for number in STEPS) / ideal
    return steps, {
        "job_meta": {"trial_name": "ST", "run_id": 0, "dp_size": PIPELINES, "pp_size": STAGES, "tp_size": 1,
                     "dsp_size": 1, "vpp_size": 1, "world_size": STAGES * PIPELINES},
        "step_t_base": {str(number): step.seconds() for number, step in steps.items()},
        "step_t_nodelay": {str(number): step.seconds() for number, step in compact.items()},
        "step_t_noblk": {str(number): ideal for number in STEPS},
        "blocking_decompose_by_stage": {str(stage): slowdown(lambda kind, rank, stage=stage: rank[0] == stage)
                                        for stage in range(STAGES)},
        "blocking_decompose_by_dp_rank": {str(one): slowdown(lambda kind, rank, one=one: rank[1] == one)
                                          for one in range(PIPELINES)},
        "blocking_decompose_by_optype": {wanted: slowdown(lambda kind, rank, wanted=wanted: kind == wanted)
                                         for wanted in drawn if wanted != "gc"}}


def training():
    """The table, the results, the settings, and the timeline of the same training."""
    steps, published = results()
    rows = [(number, *row) for number, step in steps.items() for row in step.rows]
    sequence, numbers = {}, []
    for number, kind, rank, *_ in rows:
        sequence[number, kind, rank] = sequence.get((number, kind, rank), -1) + 1
        numbers.append(sequence[number, kind, rank])
    table = {"dp_rank": ("int8", [row[2][1] for row in rows]), "stage": ("int8", [row[2][0] for row in rows]),
             "rank": ("int16", [rank_of(row[2]) for row in rows]), "step": ("int64", [row[0] for row in rows]),
             "optype": ("dictionary", [row[1] for row in rows]), "start_ts": ("float32", [row[4] for row in rows]),
             "duration": ("float32", [row[5] - row[4] for row in rows]), "seq_id": ("int32", numbers),
             "mc": ("int8", [0] * len(rows)), "mb_id": ("int8", [row[3] for row in rows]),
             "gmc": ("int16", [0] * len(rows))}
    settings = "".join(f"{name}: {value}\n" for name, value in published["job_meta"].items())
    return {"pipelines/trace-ST.parquet": (parquet.written(table), facts(rows, steps)),
            "pipelines/result-ST.json": (json.dumps(published, indent=2).encode(), None),
            "pipelines/meta-ST.yaml": (settings.encode(), None),
            "pipelines/timeline-ST.json.gz": (gzip.compress(timeline(rows, numbers, steps).encode(), 9, mtime=0), {
                "same_as": "pipelines/trace-ST.parquet"})}


def rank_of(place):
    return place[0] * PIPELINES + place[1]


def facts(rows, steps):
    operations = {}
    for _, kind, _, _, begin, end in rows:
        count, total = operations.get(kind, (0, 0.0))
        operations[kind] = (count + 1, total + end - begin)
    return {"rows": len(rows), "ranks": STAGES * PIPELINES, "steps": len(steps), "ops": operations,
            "zero_dur": sum(row[5] == row[4] for row in rows),
            "mean_step_s": statistics.fmean(step.seconds() for step in steps.values())}


def timeline(rows, numbers, steps):
    at, begins = 0.0, {}
    for number, step in steps.items():
        begins[number] = at
        at += step.seconds() + MS
    kinds = sorted({row[1] for row in rows})
    return json.dumps([{
        "name": kind, "cat": kind, "pid": rank_of(rank), "tid": kinds.index(kind),
        "ts": (begins[step] + begin) * 1e6, "dur": (end - begin) * 1e6, "ph": "X",
        "args": {"step": step, "model_chunk": 0, "mb_id": batch, "seq_id": sequence}}
        for (step, kind, rank, batch, begin, end), sequence in zip(rows, numbers, strict=True)])


FOLDER = "pipelines"
FILES = (training,)
