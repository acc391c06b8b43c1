# SPDX-License-Identifier: Apache-2.0
"""Launches kernels within and outside of cudaProfilerStart and cudaProfilerStop: cuda_captures.py. Of 9
steps of 3 kernels, the fourth and fifth are captured, and the last; the runtime's stop is called twice. With
"steps": the steps are marked, and the first capture has three. With "running": the captured kernels run on when a capture ends, and further
kernels are launched then."""

import sys

MARKS, RUNNING = sys.argv[1:] == ["steps"], sys.argv[1:] == ["running"]
sys.argv[1:] = ["0"]
import cuda_lines  # noqa: E402: without steps of its own

if MARKS:
    import stepscope

cuda = cuda_lines.cuda
for number in range(9):
    if MARKS:
        stepscope.step(number)
    if number in (3, 8):
        cuda.cudaProfilerStart()
    cuda_lines.forward()
    cuda_lines.update()
    if not RUNNING:
        cuda.cudaDeviceSynchronize()
    if number in ((5,) if MARKS else (4, 5)):
        cuda.cudaProfilerStop()
cuda.cudaDeviceSynchronize()
