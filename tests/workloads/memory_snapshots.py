# SPDX-License-Identifier: Apache-2.0
"""Snapshots of PyTorch's memory without a device: an allocator that follows the rules of
c10/cuda/CUDACachingAllocator.cpp and writes what torch.cuda.memory._snapshot() returns, for several
generations of PyTorch; and a training that uses it. It knows the answers: see `Answers`.

    python memory_snapshots.py FILE [GENERATION]
"""

import pickle
import sys

BLOCK, SMALL, LARGE, ROUND = 512, 2 << 20, 20 << 20, 2 << 20
TORCH = "/opt/venv/lib/python3.11/site-packages/torch/"
PROGRAM = "/home/me/project/train.py"

# What a generation's dicts have: the first writes a list of segments, later ones a dict.
GENERATIONS = ("1.13", "2.0", "2.1", "2.4", "2.9")


def frame(filename, line, name):
    return {"filename": filename, "line": line, "name": name}


def frames(*places):
    """Innermost first; each is (file, line, function)."""
    return [frame(*place) for place in places]


MODULE = (TORCH + "nn/modules/module.py", 1736, "_call_impl")


class Answers:
    """What a reader should find, computed beside the allocator."""

    def __init__(self):
        self.live = {}  # address: (requested bytes, label)
        self.reserved = {}  # address: bytes
        self.allocated = self.peak = self.peak_reserved = 0
        self.at_peak = {}
        self.free_at_peak = []

    def update(self, segments):
        self.allocated = sum(size for size, _ in self.live.values())
        if self.allocated > self.peak:
            self.peak = self.allocated
            self.peak_reserved = sum(segment["total"] for segment in segments)
            self.at_peak = dict(self.live)
            self.free_at_peak = [size for segment in segments
                                 for _, size, used in segment["blocks"] if not used]

    def by_label(self):
        sums = {}
        for size, label in self.at_peak.values():
            sums[label] = sums.get(label, 0) + size
        return sums


class Allocator:
    """One device. Blocks are [address, size, use]; use: None, or what the snapshot says of it."""

    def __init__(self, capacity=1 << 40, expandable=False, base=0x7F0000000000):
        self.capacity, self.expandable, self.next = capacity, expandable, base
        self.segments, self.trace, self.answers = [], [], Answers()
        self.time_us, self.annotations = 1_700_000_000_000_000, []

    # --- events

    def record(self, action, address, size, stack):
        self.time_us += 10
        self.trace.append({"action": action, "addr": address, "size": size, "stream": 0,
                           "frames": stack, "time_us": self.time_us})

    def annotate(self, name, stage):
        self.time_us += 1
        self.annotations.append({"device": 0, "time_us": self.time_us, "name": name,
                                 "stage": stage})

    # --- blocks

    def reserved(self):
        return sum(segment["total"] for segment in self.segments)

    def find(self, size):
        """The smallest free block that is large enough: (segment, index)."""
        best = None
        for segment in self.segments:
            for index, (_, length, use) in enumerate(segment["blocks"]):
                if use is None and length >= size and (best is None or length < best[2]):
                    best = segment, index, length
        return best and best[:2]

    def grow(self, size, stack):
        total = SMALL if size <= 1 << 20 else LARGE if size < 10 << 20 else -(-size // ROUND) * ROUND
        if self.reserved() + total > self.capacity:
            self.release(stack)
        if self.reserved() + total > self.capacity:
            return False
        last = self.segments[-1] if self.segments else None
        if self.expandable and last is not None:
            address = last["address"] + last["total"]
            last["total"] += total
            if last["blocks"][-1][2] is None:
                last["blocks"][-1][1] += total
            else:
                last["blocks"].append([address, total, None])
        else:
            address = self.next
            self.segments.append({"address": address, "total": total, "frames": stack,
                                  "blocks": [[address, total, None]]})
        self.next = address + total + (0 if self.expandable else ROUND)
        self.record("segment_map" if self.expandable else "segment_alloc", address, total, stack)
        return True

    def release(self, stack):
        """Gives all segments back that have no block in use."""
        for segment in list(self.segments):
            if all(use is None for _, _, use in segment["blocks"]):
                self.segments.remove(segment)
                self.record("segment_unmap" if self.expandable else "segment_free",
                            segment["address"], segment["total"], stack)

    def alloc(self, requested, stack, label):
        size = max(BLOCK, -(-requested // BLOCK) * BLOCK)
        if self.find(size) is None and not self.grow(size, stack):
            self.time_us += 10
            self.trace.append({"action": "oom", "device_free": self.capacity - self.reserved(),
                               "size": requested, "stream": 0, "frames": stack,
                               "time_us": self.time_us})
            return None
        segment, index = self.find(size)
        address, length, _ = segment["blocks"][index]
        use = {"requested": requested, "frames": stack}
        segment["blocks"][index:index + 1] = [[address, size, use]] + (
            [[address + size, length - size, None]] if length > size else [])
        self.record("alloc", address, requested, stack)
        self.answers.live[address] = requested, label
        self.answers.update(self.segments)
        return address

    def free(self, address, stack=None):
        """Without frames of its own a free has those of the allocation."""
        for segment in self.segments:
            for index, (start, _, use) in enumerate(segment["blocks"]):
                if start == address and use is not None:
                    stack = use["frames"] if stack is None else stack
                    self.record("free_requested", address, use["requested"], stack)
                    self.record("free_completed", address, use["requested"], stack)
                    segment["blocks"][index][2] = None
                    self.merge(segment)
                    del self.answers.live[address]
                    self.answers.update(self.segments)
                    return
        raise KeyError(address)

    @staticmethod
    def merge(segment):
        merged = []
        for address, size, use in segment["blocks"]:
            if merged and use is None and merged[-1][2] is None:
                merged[-1][1] += size
            else:
                merged.append([address, size, use])
        segment["blocks"] = merged

    # --- the snapshot

    def block(self, generation, block):
        address, size, use = block
        row = {"size": size, "state": "inactive" if use is None else "active_allocated"}
        if generation in ("1.13", "2.0"):
            if use is not None:
                row["history"] = [{"addr": address, "real_size": use["requested"],
                                   "frames": use["frames"]}]
            return row
        row.update(address=address, requested_size=use["requested"] if use else 0,
                   frames=use["frames"] if use else [])
        return row

    def segment(self, generation, segment):
        used = sum(size for _, size, use in segment["blocks"] if use is not None)
        row = {"device": 0, "address": segment["address"], "total_size": segment["total"],
               "allocated_size": used, "active_size": used, "stream": 0,
               "segment_type": "large" if segment["total"] > SMALL else "small",
               "blocks": [self.block(generation, block) for block in segment["blocks"]]}
        if generation >= "2.1":
            row.update(segment_pool_id=(0, 0), is_expandable=self.expandable,
                       frames=segment["frames"],
                       requested_size=sum(use["requested"] for _, _, use in segment["blocks"]
                                          if use is not None))
        return row

    def entry(self, generation, entry):
        left_out = {"time_us"} if generation == "2.0" else set()
        row = {key: value for key, value in entry.items() if key not in left_out}
        if generation == "2.9":
            row.update(compile_context="N/A", user_metadata="", pool_id=(0, 0))
        return row

    def snapshot(self, generation="2.4", entries=None, device=0):
        """`entries`: the history keeps only the newest of them."""
        segments = [dict(self.segment(generation, segment), device=device)
                    for segment in self.segments]
        if generation == "1.13":
            return segments
        trace = self.trace if entries is None else self.trace[-entries:] if entries else []
        traces = [[] for _ in range(device)] + [[self.entry(generation, row) for row in trace]]
        result = {"segments": segments, "device_traces": traces}
        if generation >= "2.4":
            result["allocator_settings"] = {"PYTORCH_CUDA_ALLOC_CONF": "", "max_split_size": -1,
                                            "garbage_collection_threshold": 0.0,
                                            "expandable_segments": self.expandable,
                                            "roundup_power2_divisions": {"1": 0, "2": 0}}
        if generation >= "2.9":
            result["external_annotations"] = self.annotations
        return result


# --- a training

def in_program(line, function, *inner):
    return frames(*inner, (PROGRAM, line, function), (PROGRAM, 99, "<module>"))


BUILD = in_program(10, "main", (TORCH + "nn/modules/module.py", 1340, "to"))
BATCH = in_program(20, "main", (TORCH + "utils/data/_utils/pin_memory.py", 30, "pin"))
LINEAR = in_program(31, "forward", (TORCH + "nn/modules/linear.py", 125, "forward"), MODULE)
RELU = in_program(32, "forward", (TORCH + "nn/functional.py", 1700, "relu"), MODULE)
BACKWARD = in_program(41, "main", (TORCH + "autograd/graph.py", 769, "_engine_run_backward"))
ADAM = in_program(51, "main", (TORCH + "optim/adam.py", 150, "_init_group"))
UPDATE = in_program(51, "main", (TORCH + "optim/adam.py", 400, "_multi_tensor_adam"))
ZERO = in_program(60, "main", (TORCH + "optim/optimizer.py", 900, "zero_grad"))
EMPTY = in_program(70, "main", (TORCH + "cuda/memory.py", 160, "empty_cache"))


def train(gpu, steps=3, layers=4, width=3 << 20, frees_have_frames=True):
    """A step keeps activations until backward, gradients until the next step, and Adam's state."""
    own = (lambda stack: stack) if frees_have_frames else lambda stack: None
    weights = [gpu.alloc(width, BUILD, "parameters") for _ in range(layers)]
    state, batch = [], None
    for step in range(steps):
        gpu.annotate(f"ProfilerStep#{step}", "START")
        previous, batch = batch, gpu.alloc(700_000, BATCH, "input")
        if previous is not None:
            gpu.free(previous, own(BATCH))
        activations = []
        for _ in range(layers):
            activations.append(gpu.alloc(5 << 20, LINEAR, "activations"))
            scratch = gpu.alloc(400_000, RELU, "temporaries")
            gpu.free(scratch, own(RELU))
        gradients = []
        for activation in reversed(activations):
            scratch = gpu.alloc(1 << 20, BACKWARD, "autograd")
            gradients.append(gpu.alloc(width, BACKWARD, "gradients"))
            gpu.free(scratch, own(BACKWARD))
            gpu.free(activation, own(BACKWARD))
        gpu.annotate("Optimizer.step#Adam.step", "START")
        if not state:
            state = [gpu.alloc(width, ADAM, "optimizer state") for _ in range(2 * layers)]
        scratch = gpu.alloc(width, UPDATE, "temporaries")
        gpu.free(scratch, own(UPDATE))
        gpu.annotate("Optimizer.step#Adam.step", "END")
        for gradient in gradients:
            gpu.free(gradient, own(ZERO))
        gpu.annotate(f"ProfilerStep#{step}", "END")
    return weights, state


if __name__ == "__main__":
    device = Allocator()
    train(device)
    with open(sys.argv[1], "wb") as file:
        pickle.dump(device.snapshot(*sys.argv[2:]), file)
