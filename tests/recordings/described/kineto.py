# SPDX-License-Identifier: Apache-2.0
"""Described runs as files of PyTorch's profiler, as its versions of 2022 to 2026 write them: the same
members, categories, arguments, their order and their oddities. kineto_old.py has those before."""

import dataclasses
import gzip
import json

from .halves import ANNOTATION, FRAME, OPERATOR

BREAKS = {"cbid", "cid", "kernel", "queued", "device", "stream", "registers per thread", "shared memory",
          "blocks per SM", "warps per SM", "grid", "block", "est. achieved occupancy %", "bytes"}
CBIDS = {"cudaLaunchKernel": 211, "cudaLaunchKernelExC": 430, "cudaMemcpyAsync": 41, "cudaMemsetAsync": 51,
         "cudaStreamSynchronize": 131, "cudaEventRecord": 135, "cudaStreamWaitEvent": 147, "cudaGraphLaunch": 311,
         "cudaDeviceSynchronize": 165, "cuLaunchKernel": 307, "cuLaunchKernelEx": 652, "cudaEventQuery": 138}
CIDS = {"hipLaunchKernel": 107, "hipExtModuleLaunchKernel": 67, "hipModuleLaunchKernel": 137, "hipMemcpyAsync": 120,
        "hipMemsetAsync": 131, "hipStreamSynchronize": 171, "hipEventRecord": 59, "hipStreamWaitEvent": 175,
        "hipGraphLaunch": 83, "hipExtLaunchKernel": 66, "hipDeviceSynchronize": 48}
SCALARS = {"allreduce": ("Float", "float"), "all_to_all": ("Byte", "char"), "_allgather_base": ("BFloat16", "c10::BFloat16")}


class Raw(str):
    """A number as it is written."""


def text_of(value):
    if isinstance(value, Raw):
        return str(value)
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(key)}: {text_of(one)}" for key, one in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(text_of, value)) + "]"
    return json.dumps(value)


@dataclasses.dataclass
class Style:
    """year: 2022 (integers of µs), 2023 (the same, other arguments), 2024 and 2025 (ns). base_ns: the member
    baseTimeNanoseconds; None: times count from 1970. layout: kineto, compact or indented. members: further
    ones of the head, foot those behind the events."""

    year: int = 2025
    base_ns: int = None
    layout: str = "kineto"
    shapes: bool = True
    memory: bool = False
    backward_flows: bool = True
    device_annotations: bool = True
    names: bool = True
    record_ids: bool = True
    devices: int = 8
    process: str = "python3"
    members: dict = dataclasses.field(default_factory=dict)
    foot: dict = dataclasses.field(default_factory=dict)


class Kineto:
    """One file: the events of one rank."""

    FLOW = ("ac2g", "ac2g")

    def __init__(self, run, style):
        self.run, self.style, self.events = run, style, []
        self.is_amd = run.device.is_amd
        self.threads = {"main": run.pid, "backward": run.pid + 97, "loader": run.pid + 41}
        self.index = 0

    # --- numbers ---

    def time(self, ns):
        if self.style.year < 2024:
            return Raw(ns // 1000)
        text = f"{ns // 1000}.{ns % 1000:03}"
        if self.style.layout != "kineto":
            text = text.rstrip("0")
            text += "0" * text.endswith(".")
        return Raw(text)

    def at(self, ns):
        return self.time(ns - (self.style.base_ns or 0))

    def real(self, value):
        return Raw(f"{value:.6f}" if self.style.year >= 2024 else f"{value:.7g}")

    def add(self, **event):
        self.events.append(event)

    def range(self, category, name, pid, tid, begin, end, args):
        self.add(ph="X", cat=category, name=name, pid=pid, tid=tid, ts=self.at(begin),
                 dur=self.time(end - begin), args=args)

    # --- the host ---

    def shapes_of(self, span):
        args = span.node.args
        if not self.style.shapes or "Input Dims" not in args:
            return {}
        if self.style.year >= 2025:
            return {key: args[key] for key in ("Concrete Inputs", "Input type", "Input Strides", "Input Dims")}
        return {"Input Dims": args["Input Dims"], "Input type": args["Input type"]}

    def sequence_of(self, span):
        if span.sequence is None:
            return {}
        forward = {"Fwd thread id": int(span.thread == "backward")}
        number = {"Sequence number": span.sequence}
        return forward | number if self.style.year < 2024 else number | forward

    def args_of(self, span):
        index, self.index = self.index, self.index + 1
        if self.style.year == 2022:
            return {"Trace name": "PyTorch Profiler", "Trace iteration": 0, "External id": span.id,
                    "Profiler Event Index": index, **self.shapes_of(span), **self.sequence_of(span),
                    "Module Hierarchy": "", "Call stack": self.stack_of(span)}
        if self.style.year == 2023:
            return {"External id": span.id, "Ev Idx": index, **self.shapes_of(span), **self.sequence_of(span)}
        record = {"Record function id": 0} if self.style.record_ids else {}
        extra = {key: value for key, value in span.node.args.get("_args", {}).items() if key != "_grid"}
        return {"External id": span.id, **(self.sequence_of(span) if self.style.year == 2025 else {}), **record,
                **(self.sequence_of(span) if self.style.year == 2024 else {}), **self.shapes_of(span), **extra,
                "Ev Idx": index}

    def stack_of(self, span):
        """Only the forward pass has one: PyTorch's own frames, then those of the program."""
        if span.thread == "backward":
            return ""
        frames = [frame for frame in span.stack if not frame.startswith(("<", "nn.Module"))]
        return ";".join(f"/opt/conda/lib/python3.8/site-packages/{frame}" if frame.startswith("torch") else frame
                        for frame in reversed(frames))

    def host(self):
        spans = [span for span in self.run.spans if span.node.kind != FRAME]
        spans.sort(key=lambda span: (span.thread != "backward", span.begin, -span.end))
        flows = self.backward_flows(spans) if self.style.backward_flows and self.style.year >= 2024 else {}
        for span in spans:
            category = "user_annotation" if span.node.kind == ANNOTATION else "cpu_op"
            self.range(category, self.name_of(span.name), self.run.pid, self.threads[span.thread], span.begin,
                       span.end, self.args_of(span))
            for flow in flows.get(id(span), ()):
                self.add(**flow)

    def name_of(self, name):
        kind = "miopen" if self.is_amd else "cudnn"
        return (name.replace("aten::mkldnn", f"aten::{kind}").replace("aten::native_batch", f"aten::{kind}_batch")
                .replace("NativeBatchNorm", f"{kind.title()}BatchNorm"))

    def backward_flows(self, spans):
        """From the last operator of forward with a sequence number to the node of backward that has it."""
        forward, flows, number = {}, {}, 0
        for span in spans:
            if span.thread == "main" and span.sequence is not None and span.node.kind == OPERATOR:
                forward[span.sequence] = span
        for span in spans:
            if span.thread == "backward" and span.name.endswith(tuple("0123456789")) and \
                    not span.name.startswith("autograd") and span.sequence in forward:
                number += 1
                for end, phase in ((forward[span.sequence], "s"), (span, "f")):
                    event = {"ph": phase, "id": number, "pid": self.run.pid, "tid": self.threads[end.thread],
                             "ts": self.at(end.begin), "cat": "fwdbwd", "name": "fwdbwd"}
                    flows.setdefault(id(end), []).append(event | ({"bp": "e"} if phase == "f" else {}))
        return flows

    def frames(self):
        """Calls of Python, with ids of their own; a module's name ends with its number."""
        open_ones, modules = [], {}
        frames = sorted((span for span in self.run.spans if span.node.kind == FRAME),
                        key=lambda span: (span.begin, -span.end))
        for number, span in enumerate(frames, 1):
            while open_ones and open_ones[-1][0] <= span.begin:
                open_ones.pop()
            args = {"Python parent id": open_ones[-1][1] if open_ones else None, "Python id": number}
            if span.name.startswith("nn.Module: "):
                args["Python module id"] = modules.setdefault(span.name, len(modules))
            self.index += 1
            self.range("python_function", span.name, self.run.pid, self.threads[span.thread], span.begin, span.end,
                       args | {"Ev Idx": self.index})
            open_ones.append((span.end, number))

    def memory(self):
        for one in self.run.allocations:
            self.index += 1
            self.add(ph="i", cat="cpu_instant_event", s="t", name="[memory]", pid=self.run.pid,
                     tid=self.threads[one.thread], ts=self.at(one.at), args={
                         "Ev Idx": self.index, "Device Type": int(one.on_device),
                         "Device Id": self.run.number if one.on_device else -1, "Addr": one.address,
                         "Bytes": one.size, "Total Allocated": one.allocated,
                         "Total Reserved": (2 << 30) * one.on_device})

    # --- the device ---

    def external_of(self, call, correlation):
        if self.run.external_is_correlation:
            return {"External id": correlation}
        return {"External id": call.within.id} if call and call.within else {}

    def call(self, call):
        launch, number = call.launch, {"correlation": call.correlation}
        external = self.external_of(call, call.correlation)
        if not self.is_amd:
            args = external | {"cbid": CBIDS.get(call.name, 152)} | number
        elif launch is None or launch.kind == "memset":
            args = external | {"cid": CIDS.get(call.name, 76)} | number
        elif launch.kind == "kernel":
            args = external | {"kernel": launch.name, "cid": CIDS[call.name]} | number | {
                "grid": list(launch.grid), "block": list(launch.block), "shared memory": launch.shared_bytes}
        else:
            args = external | {"cid": CIDS[call.name]} | number | {
                "src": "0x7f3a5c400000", "dst": "0x7f2b1e000000", "bytes": int(launch.moved_bytes),
                "kind": "DtoH" if "DtoH" in launch.name else "HtoD"}
        category = "cuda_driver" if call.is_driver else "cuda_runtime"
        self.range(category, call.name, self.run.pid, self.threads[call.thread], call.begin, call.end, args)

    def kernel_args(self, work, external):
        launch = work.launch
        if self.is_amd:
            shape = {"grid": list(launch.grid), "block": list(launch.block)} if self.has_shape(work) else {}
            return external | {"device": self.run.number, "stream": work.stream, "correlation": work.correlation,
                               "kind": "Dispatch Kernel"} | shape
        blocks, warps, percent = launch.occupancy(self.run.device)
        return external | {
            "queued": 0, "device": self.run.number, "context": 1, "stream": work.stream,
            "correlation": work.correlation, "registers per thread": launch.registers,
            "shared memory": launch.shared_bytes, "blocks per SM": self.real(blocks), "warps per SM": self.real(warps),
            "grid": list(launch.grid), "block": list(launch.block), "est. achieved occupancy %": percent}

    def has_shape(self, work):
        return work.call is not None and work.call.launch is not None

    def moved_args(self, work, external):
        moved = int(work.launch.moved_bytes)
        args = external | {"device": self.run.number}
        if self.is_amd:
            kind = work.launch.name.split()[1] if work.kind == "memcpy" else "Device"
            args |= {"stream": work.stream, "correlation": work.correlation, "kind": kind}
            if work.kind == "memset" or work.call is None:
                return args
        else:
            args |= {"context": 1, "stream": work.stream, "correlation": work.correlation}
        return args | {"bytes": moved, "memory bandwidth (GB/s)": moved / max(1, work.length)}

    def collective_args(self, work):
        one = work.collective
        if one is None or self.style.year < 2024:
            return {}
        return {"Collective name": one.kind, "In msg nelems": one.elements, "Out msg nelems": one.elements,
                "Group size": one.size, "dtype": SCALARS[one.kind][0], "In split size": "[]", "Out split size": "[]",
                "Process Group Name": one.group, "Process Group Description": "default_pg",
                "Process Group Ranks": str(list(range(one.size)))}

    def work(self, work):
        external = self.external_of(work.call, work.correlation)
        if work.kind == "kernel":
            category, args = "kernel", self.kernel_args(work, external) | self.collective_args(work)
        else:
            category, args = f"gpu_{work.kind}", self.moved_args(work, external)
        self.range(category, work.launch.name, self.run.number, work.stream, work.begin, work.end, args)

    def flow(self, phase, correlation, pid, tid, at):
        category, name = self.FLOW
        event = {"ph": phase, "id": correlation, "pid": pid, "tid": tid, "ts": at, "cat": category, "name": name}
        self.add(**event, **({"bp": "e"} if phase == "f" or category == "async_cpu_to_gpu" else {}))

    def devices(self):
        works = {}
        for work in self.run.works:
            works.setdefault(work.correlation, []).append(work)
        known = {call.correlation for call in self.run.calls}
        for correlation in [one for one in works if one not in known]:
            self.works_of(works[correlation])
        for call in self.run.calls:
            done = works.get(call.correlation, [])
            self.call(call)
            self.flow("s" if done else "f", call.correlation, self.run.pid, self.threads[call.thread],
                      self.at(call.begin))
            self.works_of(done)

    def works_of(self, works):
        for work in works:
            self.work(work)
            self.flow("f", work.correlation, self.run.number, self.stream_of(work), self.at(work.begin))

    def stream_of(self, work):
        return work.stream

    def annotations_of_devices(self):
        """The time in which a stream did what was launched within an annotation."""
        for span in self.run.spans:
            if span.node.kind != ANNOTATION or span.name.startswith(("nccl:", "enumerate")):
                continue
            inside = [work for work in self.run.works if work.call and span.begin <= work.call.begin < span.end and
                      work.stream == self.run.main]
            if inside:
                self.range("gpu_user_annotation", span.name, self.run.number, self.run.main,
                           min(work.begin for work in inside) - self.run.tick,
                           max(work.end for work in inside) + self.run.tick, {"External id": span.id})

    # --- the file ---

    def names(self):
        at = self.at(self.run.start)

        def name(what, pid, tid, key, value):
            self.add(name=what, ph="M", ts=at, pid=pid, tid=tid, args={key: value})
        for pid in [self.run.pid, *range(8)]:
            name("process_name", pid, 0, "name", self.style.process)
            name("process_labels", pid, 0, "labels", "CPU" if pid == self.run.pid else f"GPU {pid}")
            name("process_sort_index", pid, 0, "sort_index", pid if pid == self.run.pid else pid + 5000000)
        for stream in sorted({work.stream for work in self.run.works}):
            name("thread_name", self.run.number, stream, "name", f"stream {stream} ")
            name("thread_sort_index", self.run.number, stream, "sort_index", stream)
        for thread in sorted({span.thread for span in self.run.spans}):
            tid = self.threads[thread]
            name("thread_name", self.run.pid, tid, "name", f"thread {tid} ({self.style.process})")
            name("thread_sort_index", self.run.pid, tid, "sort_index", tid)

    def frame(self):
        begin = self.at(self.run.start)
        self.add(ph="X", cat="Trace", ts=begin, dur=self.time(self.run.at - self.run.start), pid="Spans",
                 tid="PyTorch Profiler", name="PyTorch Profiler (0)", args={"Op count": 0})
        self.add(name="process_sort_index", ph="M", ts=begin, pid="Spans", tid=0, args={"sort_index": 536870912})
        self.add(name="Iteration Start: PyTorch Profiler", ph="i", s="g", pid="Traces",
                 tid="Trace PyTorch Profiler", ts=begin)
        self.add(name="Record Window End", ph="i", s="g", pid="", tid="", ts=self.at(self.run.at + 1000000))

    def properties(self):
        device = self.run.device
        shared = {"sharedMemPerBlock": 65536 if device.is_amd else 49152}
        first = {"totalGlobalMem": device.memory_bytes, "computeMajor": device.major, "computeMinor": device.minor,
                 "maxThreadsPerBlock": 1024, "maxThreadsPerMultiprocessor": 2048, "regsPerBlock": device.registers}
        per_sm = {"regsPerMultiprocessor": device.registers}
        optin = {"sharedMemPerBlockOptin": device.shared_bytes - device.reserved_shared_bytes}
        whole = {"sharedMemPerMultiprocessor": device.shared_bytes}
        if device.is_amd:
            rest = {"warpSize": 64} | shared | {"numSms": device.sms, "maxSharedMemoryPerMultiProcessor": 65536}
        elif self.style.year < 2024:
            rest = per_sm | {"warpSize": 32} | shared | whole | {"numSms": device.sms} | optin
        else:
            rest = {"warpSize": 32} | shared | {"numSms": device.sms} | per_sm | optin | whole
        return [{"id": i, "name": device.name} | first | rest for i in range(self.style.devices)]

    def build(self):
        self.host()
        if self.style.memory:
            self.memory()
        self.frames()
        self.devices()
        if self.style.device_annotations and self.style.year >= 2024:
            self.annotations_of_devices()
        if self.style.names:
            self.names()
            self.frame()
        foot = dict(self.style.foot)
        if self.style.base_ns is not None:
            foot |= {"displayTimeUnit": "ms", "baseTimeNanoseconds": self.style.base_ns}
        return {"schemaVersion": 1, "deviceProperties": self.properties(), **self.style.members,
                "traceEvents": self.events, **foot}

    def text(self):
        content = self.build()
        if self.style.layout == "compact":
            return text_of(content)
        if self.style.layout == "indented":
            return json.dumps(json.loads(text_of(content)), indent=4)
        return "\n" + layout(content, ",\n      " if self.style.year < 2024 else ",      ")


def event_text(event, split, before_name=""):
    """As Kineto lays out an event: head, times and arguments on lines of their own."""
    parts = [text_of({key: value for key, value in event.items() if key not in ("ts", "dur", "args")})[1:-1]]
    times = {key: event[key] for key in ("ts", "dur") if key in event}
    if times:
        parts.append(text_of(times)[1:-1])
    text = ",\n    ".join(parts)
    if event.get("cat") and event["ph"] == "X":
        text = text.replace(' "name"', f' {before_name}"name"', 1)
    if "args" in event:
        args = ""
        for key, value in event["args"].items():
            args += (split if key in BREAKS else ", ") * bool(args) + f"{json.dumps(key)}: {text_of(value)}"
        text += f',\n    "args": {{\n      {args}\n    }}'
    return f"  {{\n    {text}\n  }}"


def layout(content, split, before_name=""):
    lines = []
    for key, value in content.items():
        if key == "traceEvents":
            lines.append('  "traceEvents": [\n' + ",\n".join(event_text(one, split, before_name) for one in value) + "\n  ]")
        else:
            lines.append(f"  {json.dumps(key)}: {text_of(value)}")
    return "{\n" + ",\n".join(lines) + "\n}\n"


def packed(text):
    return gzip.compress(text.encode(), 9, mtime=0)
