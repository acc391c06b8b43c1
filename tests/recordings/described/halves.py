# SPDX-License-Identifier: Apache-2.0
"""What a CPU does in one training step, as torch.profiler recorded it: a tree of operators, annotations,
frames of Python and allocations. Names, shapes, stacks and order are real; the times are left out,
because a described run (run.py) has its own."""

import gzip
import json
import pathlib
import re
import tempfile

HALVES = pathlib.Path(__file__).resolve().parent / "halves"
OPERATOR, ANNOTATION, FRAME, MEMORY = "operator", "annotation", "frame", "memory"
KINDS = {"cpu_op": OPERATOR, "user_annotation": ANNOTATION, "python_function": FRAME,
         "cpu_instant_event": MEMORY}
# The writers number these anew.
NUMBERED = {"External id", "Record function id", "Ev Idx", "Python id", "Python parent id", "Fwd thread id",
            "finished", "Total Reserved", "Total Allocated", "Device Id", "Device Type"}
PROFILER = re.compile(r"torch/(profiler|autograd/profiler)|perf_counter_ns|_KinetoProfile|halves\.py")


class Node:
    """An event of the host, and those within it, in their order."""

    __slots__ = ("kind", "name", "args", "children")

    def __init__(self, kind, name, args=None, children=()):
        self.kind, self.name, self.args = kind, name, args or {}
        self.children = list(children)

    def copy(self):
        return Node(self.kind, self.name, dict(self.args), [child.copy() for child in self.children])

    def walk(self):
        yield self
        for child in self.children:
            yield from child.walk()

    def packed(self):
        return [self.kind, self.name, self.args, [child.packed() for child in self.children]]


def _unpacked(packed):
    return Node(packed[0], packed[1], packed[2], [_unpacked(child) for child in packed[3]])


def _tree(step, events):
    """The events of one thread within a step. The profiler's own frame, in which the step ends, outlives it."""
    top = Node(ANNOTATION, step["name"])
    open_ones = [(step["ts"] + step["dur"], top)]
    inside = [event for event in events if step["ts"] <= event["ts"] < open_ones[0][0] and event is not step]
    for event in sorted(inside, key=lambda event: (event["ts"], -event.get("dur", 0))):
        ends = event["ts"] + event.get("dur", 0)
        # An annotation begins in the call that opens it, and outlives it.
        while open_ones[-1][0] <= event["ts"] or (
                event["cat"] == "user_annotation" and open_ones[-1][0] < ends and len(open_ones) > 1):
            open_ones.pop()
        args = {key: value for key, value in event["args"].items() if key not in NUMBERED}
        node = Node(KINDS[event["cat"]], event["name"], args)
        open_ones[-1][1].children.append(node)
        if "dur" in event:
            open_ones.append((min(open_ones[-1][0], ends), node))
    return top


def _holds_operators(node):
    return any(one.kind == OPERATOR for one in node.walk())


def _without_bare_frames(node):
    """Frames that run no operator are most of a recording, and those of the profiler are not the
    program's."""
    kept = []
    for child in node.children:
        _without_bare_frames(child)
        if child.kind != FRAME or _holds_operators(child) and not PROFILER.search(child.name):
            kept.append(child)
        elif _holds_operators(child):
            kept += child.children
    node.children = kept


def record(name, make):
    """Runs a program of programs.py under torch.profiler; stores its third step."""
    import torch  # pylint: disable=import-outside-toplevel
    step = make()
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "trace.json")
        with torch.profiler.profile(
                activities=[torch.profiler.ProfilerActivity.CPU], record_shapes=True, with_stack=True,
                profile_memory=True, with_modules=True,
                schedule=torch.profiler.schedule(wait=0, warmup=2, active=2, repeat=1),
                on_trace_ready=lambda done: done.export_chrome_trace(str(path))) as profiler:
            for _ in range(4):
                step()
                profiler.step()
        events = [event for event in json.loads(path.read_text("utf-8"))["traceEvents"]
                  if event.get("cat") in KINDS]
    (step,) = [event for event in events if event["name"] == "ProfilerStep#2"]
    found = _tree(step, events)
    _without_bare_frames(found)
    text = json.dumps({"torch": torch.__version__, "step": found.packed()}, separators=(",", ":"))
    text = re.sub(r"[\w/]*programs\.py\((\d+)\)", r"train.py(\1)", text)
    HALVES.mkdir(exist_ok=True)
    (HALVES / f"{name}.json.gz").write_bytes(gzip.compress(text.encode(), 9, mtime=0))


def step_of(name):
    """The step of a program, as a tree of its own."""
    return _unpacked(json.loads(gzip.decompress((HALVES / f"{name}.json.gz").read_bytes()))["step"])
