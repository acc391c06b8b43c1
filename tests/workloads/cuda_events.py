# SPDX-License-Identifier: Apache-2.0
"""Records events of CUDA, and waits for them: cuda_events.py. Three times: a kernel, an event after it, a
second stream that waits for the event and has a kernel, and a host that waits for an event after that."""

import ctypes
import sys

sys.argv[1:] = ["0"]
import cuda_lines  # noqa: E402: without steps of its own

cuda = cuda_lines.cuda


def made(function, *arguments):
    handle = ctypes.c_void_p()
    assert function(ctypes.byref(handle), *arguments) == 0
    return handle


def launch(kernel, stream):
    size = cuda_lines.Size3
    cuda.cudaLaunchKernel(kernel, size(8, 1, 1), size(256, 1, 1), None, 0, stream)


streams = [made(cuda.cudaStreamCreateWithFlags, 1) for _ in range(2)]
events = [made(cuda.cudaEventCreate) for _ in range(2)]
for _ in range(3):
    launch(cuda_lines.GEMM, streams[0])
    assert cuda.cudaEventRecord(events[0], streams[0]) == 0
    assert cuda.cudaStreamWaitEvent(streams[1], events[0], 0) == 0
    launch(cuda_lines.ADD, streams[1])
    assert cuda.cudaEventRecord(events[1], streams[1]) == 0
    assert cuda.cudaEventSynchronize(events[1]) == 0
