# SPDX-License-Identifier: Apache-2.0
"""Imports PyTorch once and runs programs of this folder, one after the other, each in a forked process.
Prints a line of JSON for each: its pid, its status (of waitpid), and what it wrote to standard output
and standard error.

    torch_forked.py [-W ACTION] [--ranks N] PROGRAM [ARGUMENT…] [-- …]

-W: what is done about warnings, as Python has it. --ranks: N processes at once, in torchrun's environment."""

import argparse
import atexit
import gc
import json
import os
import pathlib
import runpy
import socket
import sys
import traceback
import warnings

import torch  # noqa: F401
import torch._dynamo  # noqa: F401 an optimizer imports it

FOLDER = pathlib.Path(__file__).resolve().parent


def options_of(words):
    parser = argparse.ArgumentParser()
    parser.add_argument("-W", dest="action")
    parser.add_argument("--ranks", type=int, default=0)
    parser.add_argument("program", nargs=argparse.REMAINDER)
    return parser.parse_args(words)


def become(given, variables, files):
    """The forked process is that program from here on. It ends without taking PyTorch's modules apart,
    which takes a second."""
    for descriptor, file in zip((1, 2), files):
        os.dup2(file, descriptor)
    os.environ.update(variables)
    if given.action:
        warnings.simplefilter(given.action)
    path = FOLDER / given.program[0]
    sys.argv[:] = [str(path), *given.program[1:]]
    sys.path[0] = str(path.parent)
    status = 1
    try:
        runpy.run_path(str(path), run_name="__main__")
        status = 0
    except SystemExit as end:
        status = end.code or 0
    except BaseException:
        traceback.print_exc()
    finally:
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def ranks_of(count):
    """The variables of each process."""
    if count == 0:
        return [{}]
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port = one.getsockname()[1]
    return [{"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(count), "LOCAL_WORLD_SIZE": str(count),
             "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)} for rank in range(count)]


def run(given):
    started = []
    for variables in ranks_of(given.ranks):
        files = os.memfd_create("output"), os.memfd_create("errors")
        pid = os.fork()
        if pid == 0:
            become(given, variables, files)
        started.append((pid, files))
    for pid, files in started:
        status = os.waitpid(pid, 0)[1]
        out, err = (os.pread(file, 1 << 24, 0).decode() for file in files)
        print(json.dumps({"pid": pid, "status": status, "out": out, "err": err}), flush=True)


def main():
    gc.freeze()  # else each process copies all of PyTorch's objects as it collects garbage
    words = sys.argv[1:]
    while words:
        end = words.index("--") if "--" in words else len(words)
        run(options_of(words[:end]))
        words = words[end + 1:]


main()
