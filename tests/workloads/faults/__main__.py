# SPDX-License-Identifier: Apache-2.0
"""Runs programs of this folder, each in a separate process; torch is imported once. Prints their
pids as JSON, and how much of their time they had a core. "NAME fixed" is the one without its fault.

    python tests/workloads/faults NAME…"""

import json
import os
import pathlib
import runpy
import sys
import time
import traceback

import training  # noqa: F401 what takes long, before the processes part

result = {}
for name in sys.argv[1:]:
    begin = time.monotonic()
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            sys.argv[1:] = name.split()
            runpy.run_path(str(pathlib.Path(__file__).with_name(sys.argv[1] + ".py")))
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stderr.flush()
            os._exit(status)
    _, status, usage = os.wait4(pid, 0)
    if status != 0:
        sys.exit(f"{name} failed")
    result[name] = {"pid": pid,
                    "cores": (usage.ru_utime + usage.ru_stime) / (time.monotonic() - begin)}
print(json.dumps(result))
