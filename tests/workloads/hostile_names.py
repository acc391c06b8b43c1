# SPDX-License-Identifier: Apache-2.0
"""A program whose functions, files and threads have names that a terminal or a spreadsheet would
obey: python hostile_names.py SECONDS."""

import sys
import threading
import time

COMMANDS = "\x1b]0;owned\x07\x1b[31m\x9b2J\u202e\r\nWARNING"
SOURCE = """def run(until):
    while time.monotonic() < until:
        sum(range(500))
"""


def make():
    space = {"time": time}
    exec(compile(SOURCE, f"/tmp/{COMMANDS}/evil.py", "exec"), space)
    name = f"=cmd|{COMMANDS}"
    names = {"co_name": name}
    if sys.version_info >= (3, 11):
        names["co_qualname"] = name
    run = space["run"]
    run.__code__ = run.__code__.replace(**names)
    return run


def main():
    run, until = make(), time.monotonic() + float(sys.argv[1])
    thread = threading.Thread(target=run, args=(until,), name=f"@thread{COMMANDS}")
    thread.start()
    print("ready", flush=True)
    run(until)
    thread.join()


main()
