# SPDX-License-Identifier: Apache-2.0
"""Memory by allocation: snapshots and timelines of PyTorch's memory, and traces with [memory] events,
beside figures that are computed here from the same files.

No device is needed: tests/workloads/memory_snapshots.py writes the snapshots, and foreign.py names the
traces."""

import gzip
import json
import pathlib
import pickle
import pickletools
import sys

import pytest
from foreign import each

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "workloads"))

import memory_snapshots as torch_memory  # noqa: E402

@pytest.fixture
def tables(stepscope):
    """{name: rows} of a table of --by."""
    def read(path, by, *options):
        done = stepscope("report", path, "--by", by, "--format", "json", "--num-rows", "all",
                         *options)
        return {table["by"]: table["rows"] for table in json.loads(done.stdout)["tables"]}
    return read


@pytest.fixture
def snapshot(tmp_path):
    """The path of an allocator's snapshot."""
    def write(gpu, generation="2.4", protocol=4, name="snapshot.pickle", **options):
        path = tmp_path / name
        path.write_bytes(pickle.dumps(gpu.snapshot(generation, **options), protocol))
        return path
    return write


def trained(**options):
    gpu = torch_memory.Allocator(**{key: options.pop(key) for key in ("capacity", "expandable")
                                    if key in options})
    torch_memory.train(gpu, **options)
    return gpu


def by(rows, key):
    return {row[key]: row["peak_bytes"] for row in rows if row["peak_bytes"] > 0}


# --- snapshots

# Segments that grow exist since 2.1.
@pytest.mark.parametrize("generation, expandable", [
    ("2.0", False), ("2.1", False), ("2.1", True), ("2.4", False), ("2.4", True), ("2.9", False),
    ("2.9", True)])
def test_snapshot_gives_the_answers_of_the_allocator(tables, snapshot, generation, expandable):
    gpu = trained(expandable=expandable)
    path = snapshot(gpu, generation)
    memory = tables(path, "memory")
    pool, = memory["allocator"]
    answers = gpu.answers
    assert pool["device"] == "GPU 0"
    assert pool["peak_bytes"] == answers.peak
    assert pool["peak_phase"] == "backward"
    assert pool["reserved_bytes"] == answers.peak_reserved
    assert pool["unused_bytes"] == answers.peak_reserved - answers.peak
    assert pool["largest_free_bytes"] == max(answers.free_at_peak)
    assert pool["free_blocks"] == len(answers.free_at_peak)
    events = [event for event in gpu.trace if event["action"] == "alloc"]
    assert pool["allocations"] == len(events)
    assert pool["allocated_bytes"] == sum(event["size"] for event in events)
    assert by(memory["allocation"], "category") == answers.by_label()
    lines = tables(path, "allocation", "--group", "line")["allocation"]
    assert by(lines, "line") == {10: answers.by_label()["parameters"],
                                 20: answers.by_label()["input"],
                                 31: answers.by_label()["activations"],
                                 41: answers.by_label()["gradients"] +
                                     answers.by_label().get("autograd", 0),
                                 51: answers.by_label()["optimizer state"]}


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_protocols(tables, snapshot, protocol):
    gpu = trained()
    path = snapshot(gpu, protocol=protocol)
    pool, = tables(path, "memory")["allocator"]
    assert pool["peak_bytes"] == gpu.answers.peak
    path.write_bytes(pickletools.optimize(path.read_bytes()))
    assert tables(path, "memory")["allocator"] == [pool]


def test_compressed(tables, snapshot):
    gpu = trained()
    path = snapshot(gpu)
    packed = path.with_suffix(".pickle.gz")
    packed.write_bytes(gzip.compress(path.read_bytes()))
    pool, = tables(packed, "memory")["allocator"]
    assert pool["peak_bytes"] == gpu.answers.peak


def test_list_of_segments(tables, snapshot):
    """Before 2.0 there is no history: what is in use when it is taken."""
    gpu = trained()
    path = snapshot(gpu, "1.13")
    memory = tables(path, "memory")
    labels = {}
    for size, label in gpu.answers.live.values():
        labels[label] = labels.get(label, 0) + size
    assert memory["allocator"][0]["peak_bytes"] == sum(labels.values())
    assert by(memory["allocation"], "category") == labels


def test_frees_with_the_frames_of_their_allocations(tables, snapshot):
    """context="alloc": a free says where its memory was allocated, which is not a phase of its own."""
    gpu = trained(frees_have_frames=False)
    memory = tables(snapshot(gpu), "memory")
    assert by(memory["allocation"], "category") == gpu.answers.by_label()


def replay(snapshot):
    """The peak of a snapshot: from what is in use at its end, backwards through its history."""
    live = {block["address"]: block["requested_size"] for segment in snapshot["segments"]
            for block in segment["blocks"] if block["state"] == "active_allocated"}
    total = sum(live.values())
    peak = total
    for event in reversed(snapshot["device_traces"][0]):
        if event["action"] == "alloc":
            total -= event["size"]
        elif event["action"] == "free_requested":
            total += event["size"]
        peak = max(peak, total)
    return peak


@pytest.mark.parametrize("entries", [0, 1, 7, 40, 90])
def test_history_that_lost_its_begin(tables, snapshot, entries):
    gpu = trained()
    path = snapshot(gpu, entries=entries)
    memory = tables(path, "memory")
    peak = replay(pickle.loads(path.read_bytes()))
    assert memory["allocator"][0]["peak_bytes"] == peak
    rows = by(memory["allocation"], "category")
    assert sum(rows.values()) == peak
    # Before the history, frames alone say what an allocation is.
    assert rows["parameters"] == gpu.answers.by_label()["parameters"]


def test_second_device(tables, snapshot):
    gpu = trained()
    pool, = tables(snapshot(gpu, device=1), "memory")["allocator"]
    assert (pool["device"], pool["peak_bytes"]) == ("GPU 1", gpu.answers.peak)


def test_steps_of_annotations(tables, snapshot):
    """Since 2.9 the program's ranges are in the snapshot: with them, steps."""
    gpu = trained(steps=3)
    memory = tables(snapshot(gpu, "2.9"), "memory")
    assert [row["step"] for row in memory["memory-step"]] == [0, 1, 2]
    assert max(row["peak_bytes"] for row in memory["memory-step"]) == gpu.answers.peak
    assert memory["allocator"][0]["peak_step"] == 1
    only = tables(snapshot(gpu, "2.9"), "memory", "--steps", "1")
    assert [row["step"] for row in only["memory-step"]] == [1]
    requests = sum(event["action"] == "segment_alloc" for event in gpu.trace)
    assert memory["allocator"][0]["device_requests"] == requests
    assert 0 < memory["allocator"][0]["requests_in_steps"] < requests


def test_out_of_memory(stepscope, tables, snapshot):
    gpu = trained(capacity=100 << 20)
    assert gpu.alloc(64 << 20, torch_memory.LINEAR, "activations") is None
    path = snapshot(gpu)
    pool, = tables(path, "memory")["allocator"]
    assert pool["out_of_memory"] == 1
    text = stepscope("report", path).stdout
    allocated = gpu.answers.allocated
    assert (f"out of memory on GPU 0: 64.0 MiB requested at train.py:31 forward with "
            f"{allocated / 2**20:.1f} MiB allocated") in text
    assert f"{(gpu.capacity - gpu.reserved()) / 2**20:.1f} MiB free on the device" in text


def test_retry(tables, snapshot):
    """The allocator gives back what it caches to make room; the program does so by itself."""
    gpu = torch_memory.Allocator(capacity=50 << 20)
    first = gpu.alloc(30 << 20, torch_memory.LINEAR, "activations")
    gpu.free(first, torch_memory.LINEAR)
    gpu.alloc(40 << 20, torch_memory.LINEAR, "activations")
    pool, = tables(snapshot(gpu), "memory")["allocator"]
    assert (pool["retries"], pool["device_requests"]) == (1, 2)
    gpu = torch_memory.Allocator(capacity=1 << 40)
    first = gpu.alloc(30 << 20, torch_memory.LINEAR, "activations")
    gpu.free(first, torch_memory.LINEAR)
    gpu.release(torch_memory.EMPTY)
    gpu.alloc(40 << 20, torch_memory.LINEAR, "activations")
    pool, = tables(snapshot(gpu), "memory")["allocator"]
    assert (pool["retries"], pool["device_requests"]) == (0, 2)


def test_report_says_where_the_memory_went(stepscope, snapshot):
    text = stepscope("report", snapshot(trained())).stdout
    assert "GPU 0: at most 60.7 MiB allocated in backward; 80.0 MiB reserved, 24.2 % of it not in use" \
        in text
    assert "allocated, over time" in text
    assert "train.py    31  forward" in text
    assert "--by allocation" in text


def test_csv(stepscope, snapshot):
    rows = stepscope("report", snapshot(trained()), "--by", "allocation", "--format", "csv",
                     "--group", "category,line").stdout.splitlines()
    assert rows[0].startswith("device,pid,category,phase,step,operator,module,path,line,function,"
                              "peak_bytes,share_percent")
    assert rows[1].startswith("GPU 0,,optimizer state,,,,,train.py,51,main,25165824,")


# --- hostile files

class Runs:
    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return open, (str(self.path), "w")


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_pickle_that_runs_code(stepscope, tmp_path, protocol):
    victim = tmp_path / "victim"
    path = tmp_path / "snapshot.pickle"
    path.write_bytes(pickle.dumps({"segments": [Runs(victim)], "device_traces": []}, protocol))
    done = stepscope("report", path, status=3)
    assert "this pickle runs code (" in done.stderr and "byte " in done.stderr
    assert not victim.exists()


@pytest.mark.parametrize("content, message", [
    ({"epoch": 3, "loss": 0.5}, "is a pickle, but no snapshot of PyTorch's memory"),
    ([1, 2, 3], "is a pickle, but no snapshot of PyTorch's memory"),
    ({"segments": [], "device_traces": [[]]}, "no memory in use and no history"),
])
def test_other_pickles(stepscope, tmp_path, content, message):
    path = tmp_path / "other.pickle"
    path.write_bytes(pickle.dumps(content))
    assert message in stepscope("report", path, status=3).stderr


def test_cut_snapshot(stepscope, snapshot):
    path = snapshot(trained())
    path.write_bytes(path.read_bytes()[:5000])
    assert "the file ends within the pickle" in stepscope("report", path, status=3).stderr


# --- allocations of devices in traces

def events_of(path):
    """[memory] events in order of time: (device or -1, time in ns, bytes, arguments)."""
    with gzip.open(path) as file:
        trace = json.load(file)["traceEvents"]
    events = [(event["args"]["Device Id"], event["ts"] * 1000, event["args"]["Bytes"],
               event["args"]) for event in trace if event.get("name") == "[memory]"]
    steps = {int(event["name"].split("#")[1]): (event["ts"] * 1000,
                                                (event["ts"] + event["dur"]) * 1000)
             for event in trace if event.get("name", "").startswith("ProfilerStep#")
             and event["ph"] == "X"}
    return sorted(events, key=lambda event: event[1]), steps


class Totals:
    """What is allocated after each event of a device: as recorded, else counted from the events."""

    def __init__(self, events, device):
        rows = [(time, size, arguments) for where, time, size, arguments in events
                if where == device]
        self.sizes = [size for _, size, _ in rows]
        if "Total Allocated" in rows[0][2]:
            first = rows[0][2]["Total Allocated"] - rows[0][1]
            self.points = [(time, arguments["Total Allocated"]) for time, _, arguments in rows]
            self.reserved = max(arguments["Total Reserved"] for _, _, arguments in rows)
        else:
            running, sums = 0, []
            for _, size, _ in rows:
                running += size
                sums.append(running)
            first = -min(0, *sums)
            self.points = [(time, first + total) for (time, _, _), total in zip(rows, sums)]
            self.reserved = None
        self.points.insert(0, (rows[0][0], first))

    def peak(self):
        return max(total for _, total in self.points)

    def peak_in(self, begin, end):
        before = [total for time, total in self.points if time <= begin][-1:]
        return max(before + [total for time, total in self.points if begin < time < end])


@pytest.mark.parametrize("trace", each(["v100_two_ranks_rank1", "v100_2021_resnet"]))
def test_recorded_memory(tables, trace):
    events, steps = events_of(trace)
    assert len(events) == trace.facts["memory_events"] > 100
    memory = tables(trace, "memory")
    for pool in memory["allocator"]:
        device = -1 if pool["device"] == "host" else int(pool["device"].split()[1])
        totals = Totals(events, device)
        assert pool["peak_bytes"] == totals.peak()
        assert pool["most_reserved_bytes"] in (totals.reserved, None)
        assert pool["allocations"] == sum(size > 0 for size in totals.sizes)
        assert pool["allocated_bytes"] == sum(size for size in totals.sizes if size > 0)
        alive = [row for row in memory["allocation"] if row["device"] == pool["device"]]
        assert sum(row["peak_bytes"] for row in alive) == totals.peak()
        peaks = {row["step"]: row["peak_bytes"] for row in memory["memory-step"]
                 if row["device"] == pool["device"]}
        assert peaks == {step: totals.peak_in(*times) for step, times in steps.items()}


@pytest.mark.parametrize("trace", each("v100_two_ranks_rank1"))
def test_recorded_lifetimes(tables, trace):
    """Pairs of one address, one after the other: what is alive at the peak, and for how long."""
    events = [event for event in events_of(trace)[0] if event[0] == 1]
    open_at, lives = {}, []
    for number, (_, time, size, arguments) in enumerate(events, 1):
        if size > 0:
            open_at[arguments["Addr"]] = (number, time, size)
        else:
            lives.append((*open_at.pop(arguments["Addr"]), number, time))
    assert not open_at
    totals = Totals(events, 1)
    peak = [total for _, total in totals.points].index(totals.peak())
    alive = [size for begin, _, size, end, _ in lives if begin <= peak < end]
    rows = [row for row in tables(trace, "allocation")["allocation"] if row["device"] == "GPU 1"]
    assert sum(row["peak_count"] or 0 for row in rows) == len(alive)
    assert max(row["largest_bytes"] or 0 for row in rows) == max(alive)
    known = {row["category"]: row["peak_bytes"] for row in rows}
    assert known.pop("before") == totals.peak() - sum(alive)
    assert sum(known.values()) == sum(alive)
    assert max(row["longest_lifetime_ns"] or 0 for row in rows) == max(
        end - begin for _, begin, _, _, end in lives)
    count = sum(row["allocations"] or 0 for row in rows)
    mean = sum((row["lifetime_ns"] or 0) * (row["allocations"] or 0) for row in rows) / count
    assert mean == pytest.approx(sum(end - begin for _, begin, _, _, end in lives) / len(lives))
