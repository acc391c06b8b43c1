# SPDX-License-Identifier: Apache-2.0
"""Launches kernels within and outside of cudaProfilerStart and cudaProfilerStop: cuda_captures.py. Of 9
steps of 3 kernels, the fourth and fifth are captured, and the last; the runtime's stop is called twice. With
"steps": the steps are marked."""

import sys

MARKS = sys.argv[1:] == ["steps"]
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
    cuda.cudaDeviceSynchronize()
    if number in (4, 5):
        cuda.cudaProfilerStop()
