# SPDX-License-Identifier: Apache-2.0
"""A described run: what the host of each rank does (a tree of halves.py, played with described times), what
it launches, and when each device does that. Everything is whole nanoseconds, and follows from a seed.

A rank stops where the host waits for its device; drive() then lets the devices of all ranks work on,
since a collective begins to move data when its last rank has arrived."""

import dataclasses
import random
import re

from .devices import Device, Launch, launches_of
from .halves import ANNOTATION, FRAME, MEMORY, Node

MAIN, BACKWARD, LOADER = "main", "backward", "loader"
CALLS = {"kernel": "cudaLaunchKernel", "memcpy": "cudaMemcpyAsync", "memset": "cudaMemsetAsync"}
CALLS_OF_AMD = {"kernel": "hipLaunchKernel", "memcpy": "hipMemcpyAsync", "memset": "hipMemsetAsync"}


@dataclasses.dataclass
class Span:
    """An operator, an annotation or a frame of Python on the host. id: PyTorch's "External id"."""

    node: Node
    thread: str
    begin: int
    end: int = 0
    id: int = 0
    stack: tuple = ()
    sequence: int = None

    @property
    def name(self):
        return self.node.name


@dataclasses.dataclass
class Call:
    """Of the device's runtime or driver. within: the innermost operator around it."""

    name: str
    thread: str
    begin: int
    end: int
    correlation: int
    within: Span = None
    launch: Launch = None
    is_driver: bool = False


@dataclasses.dataclass
class Collective:
    """group: its name; size: how many ranks take part; order: its number in the group."""

    kind: str
    elements: int
    group: str
    size: int
    order: int = 0
    late_ns: int = 0


@dataclasses.dataclass
class Work:
    """On a device. call is None where the launch lies before the recording."""

    launch: Launch
    stream: int
    ready: int
    length: int
    correlation: int
    call: Call = None
    collective: Collective = None
    after: tuple = ()
    overlap: int = 0
    begin: int = None
    end: int = None

    @property
    def kind(self):
        return self.launch.kind


@dataclasses.dataclass
class Allocation:
    thread: str
    at: int
    size: int
    address: int
    on_device: bool
    allocated: int = 0


class Run:
    """One rank. tick_ns: the resolution of its clock. pace: how many times slower its host is than the
    first one, backward_pace in the backward pass. frames: whether Python's frames are recorded and take time. side: {launch kind or
    collective kind: stream}; all else is on stream `main`."""

    def __init__(self, device: Device, seed, *, rank=0, world=1, number=0, pid=4711, start_ns=0, tick_ns=1,
                 pace=1.0, backward_pace=None, frames=False, main=7, side=None, overlaps=0.0, correlation=1000, allocated=1 << 30,
                 external_is_correlation=False, slow_device=1.0):
        self.device, self.rank, self.world, self.number, self.pid = device, rank, world, number, pid
        self.random, self.tick, self.frames = random.Random(seed), tick_ns, frames
        self.pace, self.paces = pace, {MAIN: pace, BACKWARD: backward_pace or pace}
        self.main, self.side, self.overlaps, self.slow_device = main, side or {}, overlaps, slow_device
        self.at, self.start = start_ns, start_ns
        self.spans, self.calls, self.works, self.allocations, self.steps = [], [], [], [], []
        self.correlation, self.external_is_correlation = correlation, external_is_correlation
        self.ids, self.sequences, self.allocated = 0, 0, allocated
        self.unsolved, self.last, self.orders = [], {}, {}

    # --- the host ---

    def take(self, least, most):
        """Goes on by a while between two limits."""
        spent = int(self.random.randrange(least, most) * self.pace)
        self.at += max(self.tick, spent // self.tick * self.tick)

    def step(self, tree, number=None):
        """A generator that plays a step; it yields where the host waits for the device."""
        sequences = [node.args["Sequence number"] for node in tree.walk() if "Sequence number" in node.args]
        self.sequences -= min(sequences, default=0)
        top = tree.copy()
        if number is not None:
            top.name = f"ProfilerStep#{number}"
        first = len(self.spans)
        yield from self.play(top, MAIN, (), ())
        if number is not None:
            self.steps.append((number, self.spans[first].begin, self.spans[first].end))
        self.sequences += max(sequences, default=-1) + 1

    def play(self, node, thread, around, stack):
        """around: the operators and annotations outside, the innermost last."""
        if node.kind == MEMORY:
            self.allocate(node, thread, around)
            return
        if node.kind == FRAME and not self.frames:
            stack = (*stack, node.name)
            for child in node.children:
                yield from self.play(child, thread, around, stack)
            return
        if node.name.startswith("autograd::engine::evaluate_function"):
            thread = BACKWARD
        self.pace = self.paces[thread]
        self.take(300, 1400)
        span = Span(node, thread, self.at, stack=stack)
        if node.kind != FRAME:
            self.ids += 1
            span.id = self.ids
        if "Sequence number" in node.args:
            span.sequence = self.sequences + node.args["Sequence number"]
        self.spans.append(span)
        inside = around if node.kind == FRAME else (*around, span)
        if node.kind == FRAME:
            stack = (*stack, node.name)
        for child in node.children:
            yield from self.play(child, thread, inside, stack)
        yield from self.act(node, thread, inside)
        self.take(300, 1800)
        span.end = self.at

    def act(self, node, thread, around):
        """What an operator does itself: calls of the runtime."""
        if "_collective" in node.args:
            self.collect(node.args["_collective"], thread, around)
        if "_graph" in node.args:
            self.graph(node.args["_graph"], thread, around)
        if node.kind in (FRAME, ANNOTATION) or any("DataLoader" in span.name for span in around):
            return
        in_optimizer = any(span.name.startswith("Optimizer.") for span in around)
        scalar = not any(node.args.get("Input Dims") or [])
        if in_optimizer and (scalar or node.name == "aten::_local_scalar_dense"):
            return  # counters of steps, on the host
        if node.name == "aten::_local_scalar_dense":
            self.launch(Launch("Memcpy DtoH (Device -> Pageable)", "memcpy", moved_bytes=4), thread, around)
            yield from self.wait("cudaStreamSynchronize", thread, around)
            return
        for launch in self.launches(node, around):
            self.launch(launch, thread, around)

    def launches(self, node, around):
        copied = any(span.name == "aten::to" and span.node.args["Concrete Inputs"][6:7] == ["True"]
                     for span in around)
        if node.name == "aten::copy_" and copied:
            moved = 4 * max(1, sum(map(_elements, node.args["Input Dims"])) // 2)
            return [Launch("Memcpy HtoD (Pinned -> Device)", "memcpy", moved_bytes=moved)]
        return launches_of(node.name, node.args, self.device)

    def call(self, name, thread, around, launch=None, is_driver=False, least=2200, most=6200):
        self.take(200, 900)
        self.correlation += self.random.randrange(1, 4)
        begin = self.at
        self.take(least, most)
        done = Call(self.named(name), thread, begin, self.at, self.correlation, around[-1] if around else None,
                    launch, is_driver)
        self.calls.append(done)
        return done

    def named(self, name):
        return re.sub("^cuda", "hip", name) if self.device.is_amd else name

    def launch(self, launch, thread, around, stream=None, collective=None):
        calls = CALLS_OF_AMD if self.device.is_amd else CALLS
        name = launch.call or calls[launch.kind]
        done = self.call(name, thread, around, launch, name.startswith("cu") and not name.startswith("cuda"))
        if stream is None:
            stream = self.side.get(launch.kind, self.main)
        self.put(launch, stream, done.end + self.random.randrange(800, 2500), done, collective)
        return done

    def put(self, launch, stream, ready, call=None, collective=None, correlation=None):
        length = launch.length_ns(self.device, self.random, self.tick)
        length = int(length * self.slow_device) // self.tick * self.tick
        overlaps = self.random.random() < self.overlaps and length > self.tick
        overlap = max(self.tick, length // 5 // self.tick * self.tick) if overlaps else 0
        work = Work(launch, stream, ready // self.tick * self.tick, length,
                    call.correlation if call else correlation, call, collective, overlap=overlap)
        if collective or stream != self.main:
            work.after = tuple(self.works[-1:])  # an event that the streams wait for
        elif self.works and self.works[-1].collective:
            work.after = (self.works[-1],)
        self.works.append(work)
        self.unsolved.append(work)

    def graph(self, launches, thread, around):
        """Several kernels that one call starts."""
        done = self.call("cudaGraphLaunch", thread, around, least=9000, most=15000)
        for launch in launches:
            self.put(launch, self.main, done.end + 3000, done)

    def backlog(self, launches):
        """Kernels of a step before the recording: their launches are not in it."""
        for launch in launches:
            self.correlation += 1
            self.put(launch, self.main, self.at, correlation=self.correlation)

    def collect(self, collective, thread, around):
        order = self.orders[collective.group] = self.orders.get(collective.group, -1) + 1
        mine = dataclasses.replace(collective, order=order)
        name = KERNELS_OF_COLLECTIVES[self.device.is_amd, mine.kind]
        launch = Launch(name, moved_bytes=4 * mine.elements, grid=(8, 1, 1), block=(544, 1, 1), registers=96,
                        shared_bytes=0, call="hipExtLaunchKernel" if self.device.is_amd else "cudaLaunchKernelExC")
        self.call("cudaEventRecord", thread, around, least=900, most=1900)
        self.call("cudaStreamWaitEvent", thread, around, least=900, most=1900)
        self.launch(launch, thread, around, self.side.get(mine.kind, self.main), mine)

    def wait(self, name, thread, around):
        """The host waits for all that it launched."""
        self.take(200, 900)
        begin = self.at
        yield
        self.correlation += 1
        last = max((work.end for work in self.works), default=begin)
        self.at = max(begin, last) // self.tick * self.tick
        self.take(1500, 3000)
        self.calls.append(Call(self.named(name), thread, begin, self.at, self.correlation,
                               around[-1] if around else None))

    def allocate(self, node, thread, around):
        on_device = not any("DataLoader" in span.name or span.name.startswith("Optimizer.") for span in around)
        size, where = node.args["Bytes"], node.args["Addr"]
        self.take(100, 400)
        rounded = -(-abs(size) // 512) * 512 * (1 if size > 0 else -1) if on_device else size
        self.allocations.append(Allocation(thread, self.at, rounded, where, on_device))

    # --- the device ---

    def solve(self, arrived):
        """Times of what was launched, in order, up to a collective that a rank has not reached. `arrived`:
        {collective: {rank: when}}. Returns whether something went on."""
        went_on = False
        while self.unsolved:
            work = self.unsolved[0]
            begin = max([work.ready, self.last.get(work.stream, self.start) - work.overlap,
                         *(other.end for other in work.after)])
            if work.collective:
                key = work.collective.group, work.collective.order
                there = arrived.setdefault(key, {})
                went_on |= self.rank not in there
                there[self.rank] = begin
                if len(there) < min(work.collective.size, arrived["ranks"]):
                    return went_on
                begin = there[self.rank]
                work.end = (max(there.values()) + work.collective.late_ns + work.length +
                            self.random.randrange(0, 3) * self.tick)
            else:
                work.end = begin + work.length
            work.begin = begin
            self.last[work.stream] = max(work.end, self.last.get(work.stream, 0))
            self.unsolved.pop(0)
            went_on = True
        return went_on


KERNELS_OF_COLLECTIVES = {
    (False, "allreduce"): "ncclKernel_AllReduce_RING_LL_Sum_float(ncclDevComm*, unsigned long, ncclWork*)",
    (False, "all_to_all"): "ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclDevComm*, unsigned long, ncclWork*)",
    (False, "_allgather_base"): "ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
    (True, "allreduce"): "ncclDevKernel_Generic(ncclDevKernelArgsStorage<4096ul>)"}


def _elements(dims):
    product = 1
    for edge in dims if isinstance(dims, list) else []:
        product *= edge
    return product if dims else 0


def drive(programs):
    """Plays [(run, its generator)] together, until each has ended."""
    arrived, runs = {"ranks": len(programs)}, [run for run, _ in programs]
    active = list(programs)
    while active:
        active = [(run, program) for run, program in active if next(program, StopIteration) is not StopIteration]
        while any([run.solve(arrived) for run in runs]):
            pass
    assert not any(run.unsolved for run in runs)
