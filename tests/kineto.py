# SPDX-License-Identifier: Apache-2.0
"""Writes traces as PyTorch's profiler does, of a training whose times are given exactly."""

import json

PID, THREAD, STREAM, COMMUNICATION_STREAM = 4000, 4000, 7, 20


class Kineto:
    """Events in microseconds. Launches and their work share a correlation."""

    def __init__(self, model="NVIDIA A100-SXM4-80GB", rank=0, world_size=1):
        self.model, self.rank, self.world_size = model, rank, world_size
        self.events, self.correlation = [], 0

    def range(self, category, name, begin, duration, pid=PID, tid=THREAD, **arguments):
        self.events.append({"ph": "X", "cat": category, "name": name, "pid": pid, "tid": tid,
                            "ts": begin, "dur": duration, "args": arguments})

    def step(self, number, begin, duration):
        self.range("user_annotation", f"ProfilerStep#{number}", begin, duration)

    def operator(self, name, begin, duration, tid=THREAD, **arguments):
        self.range("cpu_op", name, begin, duration, tid=tid, **arguments)

    def call(self, name, begin, duration, **arguments):
        self.range("cuda_runtime", name, begin, duration, **arguments)

    def launch(self, name, called, begin, duration, stream=STREAM, call_duration=4, **more):
        """A kernel: launched at `called`, running from `begin`."""
        self.correlation += 1
        self.call("cudaLaunchKernel", called, call_duration, correlation=self.correlation)
        self.range("kernel", name, begin, duration, pid=0, tid=stream, device=0, stream=stream,
                   context=1, correlation=self.correlation, grid=[64, 1, 1], block=[128, 1, 1],
                   **more)

    def copy(self, name, called, begin, duration, size, call_duration=5):
        self.correlation += 1
        self.call("cudaMemcpyAsync", called, call_duration, correlation=self.correlation)
        self.range("gpu_memcpy", name, begin, duration, pid=0, tid=STREAM, device=0,
                   stream=STREAM, context=1, correlation=self.correlation, bytes=size)

    def content(self):
        return {
            "schemaVersion": 1,
            "deviceProperties": [{"id": 0, "name": self.model, "totalGlobalMem": 85 << 30}],
            "distributedInfo": {"backend": "nccl", "rank": self.rank,
                                "world_size": self.world_size},
            "displayTimeUnit": "ms",
            "baseTimeNanoseconds": 1759000000000000000,
            "traceEvents": self.events,
            "traceName": "trace.json",
        }

    def write(self, path):
        path.write_text(json.dumps(self.content()))
        return path
