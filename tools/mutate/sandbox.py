# SPDX-License-Identifier: Apache-2.0
"""Runs one test where a mutant can harm nothing: in PID and mount namespaces of its own, because a
mutant of the recorder may signal the wrong process or remove the wrong file."""

import dataclasses
import itertools
import os
import signal
import subprocess
import time

# The shell is the namespace's process 1, since the kernel ignores many signals of that process.
# `home` stays writable; all else is read-only, but for a private /tmp and /dev/shm. Tests name files
# by their pid, so that no two namespaces may have the same.
SETUP = """
mount -t tmpfs -o size=3g tmpfs /tmp && mount -t tmpfs -o size=1g tmpfs /dev/shm || exit 99
mount --bind "$1" "$1" && mount -o remount,bind,ro "$2" || exit 99
echo "$5" >/proc/sys/kernel/ns_last_pid || exit 99
ulimit -c 0; ulimit -v "$3"; cd "$4"; shift 5
setsid --wait "$@" </dev/null
exit $?
"""
NAMESPACES = ["unshare", "--pid", "--fork", "--mount", "--mount-proc", "--kill-child=KILL"]
UNLIMITED = "unlimited"
# Of the first process, by turns; below the smallest limit of pids.
PIDS = itertools.cycle(range(500, 30000, 500))


@dataclasses.dataclass
class Done:
    status: int         # 128 + the signal's number if one ended it
    seconds: float
    is_late: bool
    output: str

    @property
    def failed(self):
        return self.is_late or self.status != 0

    @property
    def how(self):
        if self.is_late:
            return "out of time"
        return f"signal {self.status - 128}" if self.status > 128 else f"exit status {self.status}"


def run(command, home, folder, env, limit_s, memory_kib=UNLIMITED):
    mount = _mount_of(home)
    start = time.monotonic()
    process = subprocess.Popen(
        ["setpriv", "--pdeathsig", "KILL", *NAMESPACES, "--", "sh", "-c", SETUP, "sh", home, mount,
         str(memory_kib), folder, str(next(PIDS)), *command],
        env={**os.environ, **env}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, start_new_session=True)
    is_late = False
    try:
        output, _ = process.communicate(timeout=limit_s)
    except subprocess.TimeoutExpired:
        is_late = True
        os.killpg(process.pid, signal.SIGKILL)
        output, _ = process.communicate()
    if process.returncode == 99:
        raise SystemExit(f"mutate: tests need namespaces of their own, so root: {output.decode()}")
    status = process.returncode if process.returncode >= 0 else 128 - process.returncode
    return Done(status, time.monotonic() - start, is_late, output.decode(errors="replace"))


def _mount_of(folder):
    folder = os.path.realpath(folder)
    while not os.path.ismount(folder):
        folder = os.path.dirname(folder)
    return folder
