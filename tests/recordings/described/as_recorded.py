# SPDX-License-Identifier: Apache-2.0
"""Files that PyTorch's profiler wrote on a CPU, as they are but for the name of the host and the file:
what they say is compared with what PyTorch says itself in others of them."""

import gzip
import json
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
FOREIGN, WORKLOADS = HERE.parent / "foreign", HERE.parents[1] / "workloads"
# program: {the file that it writes: as what it is stored}
PROGRAMS = {
    "torch_shapes.py": {"trace.json": "pytorch/torch_cpu_shapes.json.gz",
                        "counts.json": "pytorch/torch_cpu_flops.json"}}


def record():
    """Runs the programs, which need PyTorch, and stores what they write."""
    for program, files in PROGRAMS.items():
        with tempfile.TemporaryDirectory() as folder:
            arguments = [pathlib.Path(folder, name) for name in files]
            subprocess.run([sys.executable, "-W", "ignore", WORKLOADS / program, *arguments], check=True)
            for name, stored in files.items():
                data = pathlib.Path(folder, name).read_bytes()
                if name == "trace.json":
                    content = json.loads(data) | {"host_name": "node", "traceName": "trace.json"}
                    data = json.dumps(content).encode()
                (FOREIGN / stored).write_bytes(gzip.compress(data, 9, mtime=0) if stored.endswith(".gz") else data)


def stored():
    """The files as they are stored; nothing is made again."""
    return {name: ((FOREIGN / name).read_bytes(), {"as_recorded": True})
            for files in PROGRAMS.values() for name in files.values()}


FILES = (stored,)
