# SPDX-License-Identifier: Apache-2.0
"""Ranges of NVTX as captures: captures.py [forever]. A mark "in N" lies in the Nth range "window", a mark
"out" outside of all. forever: again and again, until it is terminated."""

import sys
import threading

import nvtx
import stepscope


def run_on_threads():
    """A range that begins on one thread and ends on another."""
    ids = []
    for function in (lambda: ids.append(nvtx.start_range("window", domain="own")),
                     lambda: stepscope.mark("in 3"),
                     lambda: nvtx.end_range(ids[0])):
        thread = threading.Thread(target=function)
        thread.start()
        thread.join()


def run():
    stepscope.mark("out")
    with nvtx.annotate("other"):
        stepscope.mark("out")
    with nvtx.annotate("window"):
        stepscope.mark("in 1")
        with nvtx.annotate("window"):
            stepscope.mark("in 1")
        stepscope.mark("in 1")
    stepscope.mark("out")
    with nvtx.annotate("window", domain="own"):
        with nvtx.annotate("other"):
            stepscope.mark("in 2")
    stepscope.mark("out")
    run_on_threads()
    stepscope.mark("out")


run()
while len(sys.argv) > 1:
    run()
