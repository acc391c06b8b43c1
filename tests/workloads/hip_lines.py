# SPDX-License-Identifier: Apache-2.0
"""Kernels of HIP, launched from known lines through ctypes: python hip_lines.py LIBRARY STEPS. Marks
its steps with stepscope, if that is importable."""

import ctypes
import sys

HIP = ctypes.CDLL(sys.argv[1])


class Dim3(ctypes.Structure):
    _fields_ = [("x", ctypes.c_uint32), ("y", ctypes.c_uint32), ("z", ctypes.c_uint32)]


def load(name):
    HIP.fake_hip_kernel.restype = ctypes.c_void_p
    return ctypes.c_void_p(HIP.fake_hip_kernel(name, 0, 32, 0))


SCALE, REDUCE = load(b"_Z5scalePff.kd"), load(b"_Z6reducePfi.kd")


GRID, BLOCK, SHARED = Dim3(8, 1, 1), Dim3(64, 1, 1), ctypes.c_size_t(0)


def forward():
    HIP.hipLaunchKernel(SCALE, GRID, BLOCK, None, SHARED, None)  # line of scale
    HIP.hipLaunchKernel(REDUCE, GRID, BLOCK, None, SHARED, None)  # line of reduce


def step():
    forward()
    HIP.hipDeviceSynchronize()


def main():
    try:
        import stepscope
    except ImportError:
        stepscope = None
    for _ in range(int(sys.argv[2])):
        step()
        if stepscope is not None:
            stepscope.step()


main()
