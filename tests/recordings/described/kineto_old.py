# SPDX-License-Identifier: Apache-2.0
"""Described runs as files of PyTorch's profiler of 2020 and 2021: other categories and arguments, threads
that are text, and in 2020 an array without members around it."""

from .halves import FRAME
from .kineto import CBIDS, Kineto, event_text, layout

TYPES = {"Scalar": "Int", "ScalarList": "GenericList", "TensorList": "GenericList"}


class Kineto2021(Kineto):
    """Operators are in the order of their ends; backward is known by its thread only."""

    FLOW = ("async", "launch")
    KINDS = {"kernel": "Kernel", "memcpy": "Memcpy", "memset": "Memset"}

    def name_of(self, name):
        name = super().name_of(name).replace("ConvolutionBackward", "CudnnConvolutionBackward")
        return name.removesuffix("0") if name.endswith("Backward0") and not name.startswith("Add") else name

    def args_of(self, span):
        args = {"Device": self.run.pid, "External id": span.id, "Trace name": "PyTorch Profiler",
                "Trace iteration": 0}
        dims = span.node.args.get("Input Dims")
        if dims is not None:
            args["Input Dims"] = [one if one and not isinstance(one[0], list) else [] for one in dims]
        if stack := self.stack_of(span):
            args["Call stack"] = stack
        if dims is not None:
            args["Input type"] = [TYPES.get(one, one) for one in span.node.args["Input type"]]
        if span.sequence is not None:
            args |= {"Fwd thread id": int(span.thread == "backward"), "Sequence number": span.sequence}
        return args

    def host(self):
        spans = [span for span in self.run.spans if span.node.kind != FRAME and
                 not span.name.startswith("autograd::engine")]
        for span in sorted(spans, key=lambda span: (span.end, -span.begin)):
            self.range("Operator", self.name_of(span.name), self.run.pid, str(self.threads[span.thread]),
                       span.begin, span.end, self.args_of(span))

    def memory(self):
        for one in self.run.allocations:
            self.add(ph="i", s="t", name="[memory]", pid=self.run.pid, tid=self.threads[one.thread],
                     ts=self.at(one.at), args={"Device Type": int(one.on_device),
                                               "Device Id": self.run.number if one.on_device else -1,
                                               "Bytes": one.size})

    def frames(self):
        """Stacks are arguments."""

    def external_old(self, call):
        return {"external id": call.within.id if call and call.within else 0}

    def call(self, call):
        args = {"cbid": CBIDS.get(call.name, 152), "correlation": call.correlation, **self.external_old(call),
                "external ts": self.at(call.within.begin if call.within else call.begin)}
        self.range("Runtime", call.name, self.run.pid, str(self.threads[call.thread]), call.begin, call.end, args)

    def work(self, work):
        args = self.kernel_args(work, {}) if work.kind == "kernel" else self.moved_args(work, {})
        head, rest = {}, dict(args)
        for key in [key for key in ("queued", "device", "context", "stream", "correlation") if key in rest]:
            head[key] = rest.pop(key)
        self.range(self.KINDS[work.kind], work.launch.name, self.run.number, self.stream_of(work), work.begin,
                   work.end, head | self.external_old(work.call) | rest)

    def stream_of(self, work):
        return f"stream {work.stream}"

    def devices(self):
        """Without flows of calls that launch nothing."""
        super().devices()
        known = {work.correlation for work in self.run.works}
        self.events = [event for event in self.events if event.get("cat") != "async" or event["id"] in known]

    def names(self):
        at = self.at(self.run.start)
        for pid in [self.run.pid, *range(8)]:
            for what, key, value in (("process_name", "name", "python"),
                                     ("process_labels", "labels", "CPU" if pid == self.run.pid else f"GPU {pid}")):
                self.add(name=what, ph="M", ts=at, pid=pid, tid=0, args={key: value})
        for tid in sorted({self.threads[span.thread] for span in self.run.spans}):
            self.add(name="thread_name", ph="M", ts=at, pid=self.run.pid, tid=str(tid),
                     args={"name": f"thread {tid} (python)"})

    def frame(self):
        begin = self.at(self.run.start)
        self.add(ph="X", cat="Trace", ts=begin, dur=self.time(self.run.at - self.run.start), pid="Traces",
                 tid="PyTorch Profiler", name="PyTorch Profiler (0)", args={"Op count": 0})
        self.add(name="Iteration Start: PyTorch Profiler", ph="i", s="g", pid="Traces",
                 tid="Trace PyTorch Profiler", ts=begin)
        self.end_of_window()

    def end_of_window(self):
        self.add(name="Record Window End", ph="i", s="g", pid="", tid="", ts=self.at(self.run.at + 1000000))

    def text(self):
        return "\n" + layout(self.build(), ",\n      ", "\n    ")


class Kineto2020(Kineto2021):
    """Shapes are lower-case, with six lists of which one has content; steps begin before the file does."""

    def args_of(self, span):
        dims = [one if one and not isinstance(one[0], list) else [] for one in span.node.args.get("Input Dims", [])]
        return {"Input dims": dims, "Input type": [], "Input names": [], "Output dims": [], "Output type": [],
                "Output names": [], "Device": 0, "External id": span.id, "Extra arguments": [],
                "Trace name": "PyTorch Profiler", "Trace iteration": 0}

    def kernel_args(self, work, external):
        args = super().kernel_args(work, external)
        return {key: value for key, value in args.items() if key not in ("blocks per SM", "est. achieved occupancy %")}

    def end_of_window(self):
        """It has none."""

    def text(self):
        return "[\n\n" + ",\n".join(event_text(one, ",\n      ", "\n    ") for one in self.build()["traceEvents"]) + "\n]"

