# SPDX-License-Identifier: Apache-2.0
"""Pages of 64 KiB, as kernels of aarch64 may have: each thread's annotations arrive."""

import os
import subprocess
import sys

from test_annotations import tools  # noqa: F401  (a fixture)
from test_annotations_hard import package  # noqa: F401  (a fixture)
from trace_events import Trace

PROGRAM = """
import stepscope, threading
def work(number):
    for _ in range(10):
        with stepscope.annotate(f"work of {number}"):
            pass
    barrier.wait()
barrier = threading.Barrier(4)
threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
"""


def test_rings_of_several_threads(stepscope, tools, package, tmp_path):  # noqa: F811
    path = tmp_path / "t.pftrace"
    done = subprocess.run([stepscope.path, "record", "-q", "-o", path, "--", sys.executable, "-c", PROGRAM],
                          capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False,
                          env={**os.environ, "PYTHONPATH": str(package), "LD_PRELOAD": tools / "fakes" / "large_pages.so"})
    assert done.returncode == 0, done.stderr
    names = [name for _, name, _, _ in Trace(tools, path).ranges()]
    assert sorted(names) == sorted(f"work of {number}" for number in range(4) for _ in range(10))
