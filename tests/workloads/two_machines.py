# SPDX-License-Identifier: Apache-2.0
"""Four ranks of a program of this folder on two machines whose clocks differ: two time namespaces, 5,000 s
apart, each with a boot id of its own, in which torchrun starts two of the ranks, and a recorder records them.
Their wall clock is one, so that the truth is known. Needs root.

    two_machines.py FOLDER PROGRAM [OPTION…]    writes FOLDER/node0.pftrace and node1.pftrace; options of `record`"""

import pathlib
import shlex
import socket
import subprocess
import sys

AHEAD_S = 5000
BOOT = "{:08}-0000-4000-8000-000000000000"
MACHINE = """echo {boot} > {folder}/boot{node}
mount --bind {folder}/boot{node} /proc/sys/kernel/random/boot_id || exit 77
exec {command}
"""


def unshare(ahead_s, script):
    return ["unshare", "--mount", "--pid", "--mount-proc", "--time", "--fork", "--kill-child",
            "--monotonic", str(ahead_s), "--boottime", str(ahead_s), "sh", "-c", script]


def on_machine(node, folder, command):
    """The command that runs this one there; exit status 77: this host cannot have such machines."""
    return unshare(node * AHEAD_S, MACHINE.format(boot=BOOT.format(node + 1), node=node, folder=shlex.quote(str(folder)),
                                                  command=shlex.join(map(str, command))))


def main(out, program, *options):
    boots, workload = pathlib.Path(out).parent, pathlib.Path(__file__).with_name(program)
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port = one.getsockname()[1]
    started = [subprocess.Popen(on_machine(node, boots, [
        "stepscope", "record", "-q", *options, "-o", f"{out}/node{node}.pftrace", "--", sys.executable, "-m",
        "torch.distributed.run", "--nnodes", 2, "--nproc-per-node", 2, "--node-rank", node, "--master-addr", "127.0.0.1",
        "--master-port", port, workload])) for node in (0, 1)]
    sys.exit(max(one.wait() for one in started))


if __name__ == "__main__":
    main(*sys.argv[1:])
