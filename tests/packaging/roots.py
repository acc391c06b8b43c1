# SPDX-License-Identifier: Apache-2.0
"""Other systems in folders, and what a user without root, compiler and network does there with a wheel.

    roots.py WHEELS ROOT…        a table: one row for each folder with a root file system that has a Python

Needs root (for namespaces and chroot); folders come from `make_root`. Of another processor they need qemu-user
as the kernel's interpreter (binfmt_misc, flag F)."""

import ctypes
import fcntl
import json
import os
import pathlib
import shlex
import socket
import stat
import struct
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
USER = 12345
DEVICES = {"null": (1, 3), "zero": (1, 5), "full": (1, 7), "random": (1, 8), "urandom": (1, 9)}
PR_SET_NO_NEW_PRIVS = 38


def mount(*words, **options):
    subprocess.run(["mount", *map(str, words)], check=True, **options)


def raise_loopback():
    """The only network of the new namespace."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as end:
        request = bytearray(struct.pack("16sh14x", b"lo", 0))
        flags = struct.unpack("16sh", fcntl.ioctl(end, 0x8913, bytes(request))[:18])[1]
        fcntl.ioctl(end, 0x8914, struct.pack("16sh14x", b"lo", flags | 1))


def furnish(root, shared):
    """Mounts that end with the namespace: /proc, /dev, an empty /tmp, and `shared` as /tmp/shared."""
    source = os.open(shared, os.O_PATH)  # which may lie below /tmp
    mount("-t", "proc", "proc", root / "proc")
    mount("-t", "tmpfs", "-o", "mode=755", "dev", root / "dev")
    for name, number in DEVICES.items():
        os.mknod(root / "dev" / name, 0o666 | stat.S_IFCHR, os.makedev(*number))
        os.chmod(root / "dev" / name, 0o666)
    (root / "dev" / "shm").mkdir()
    mount("-t", "tmpfs", "-o", "mode=1777", "shm", root / "dev" / "shm")
    mount("-t", "tmpfs", "-o", "mode=1777", "tmp", root / "tmp")
    (root / "tmp" / "shared").mkdir()
    mount("--rbind", f"/proc/self/fd/{source}", root / "tmp" / "shared", pass_fds=[source])
    os.close(source)


def enter(root, shared, command):
    """In namespaces of its own: the exit status of the command, run by a user of `root` who can gain nothing."""
    root = pathlib.Path(root).resolve()
    raise_loopback()
    furnish(root, shared)
    child = os.fork()  # the first process of a namespace is one that no signal ends
    if child != 0:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    os.chroot(root)
    os.chdir("/tmp")
    os.setgroups([])
    os.setresgid(USER, USER, USER)
    os.setresuid(USER, USER, USER)
    if ctypes.CDLL(None).prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
        raise OSError("no_new_privs is refused")
    kept = {name: value for name, value in os.environ.items() if name.startswith(("INSTALLED_", "STEPSCOPE_"))}
    os.execve("/bin/sh", ["sh", "-c", command], {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": "/tmp",
                                                 "LANG": "C.UTF-8", **kept})


def rows_of(root, wheels, steps=(), python="python3", environment=None, given=()):
    """{step: what installed.py found} in the file system `root`."""
    shared = pathlib.Path(wheels).resolve()
    command = f"exec {python} /tmp/shared/installed.py /tmp/shared {' '.join(map(shlex.quote, steps))}"
    (shared / "installed.py").write_bytes((HERE / "installed.py").read_bytes())
    for path in given:
        (shared / path.name).write_bytes(path.read_bytes())
    done = subprocess.run(["unshare", "--mount", "--pid", "--net", "--ipc", "--fork", "--kill-child", sys.executable,
                           HERE / "roots.py", "--enter", root, shared, command], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, check=False, env={**os.environ, **(environment or {})})
    found = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    if not found or done.returncode not in (0, 1):
        raise AssertionError(f"{root}: status {done.returncode}: {done.stdout}{done.stderr}")
    return {row.pop("step"): row for row in found}


def cells(rows):
    system = rows["system"]
    yield system["system"]
    yield system["libc"]
    yield f"{system['python']} {system['machine']}"
    for step in ("install", "version", "annotate", "record", "report", "read", "view"):
        row = rows.get(step, {"failed": "not run"})
        shown = {"install": "seconds", "version": "least_ms"}.get(step)
        yield f"FAILED: {row['failed'].splitlines()[-1]}" if "failed" in row else str(row.get(shown, "ok"))


def main():
    if sys.argv[1] == "--enter":
        return enter(*sys.argv[2:])
    failed = False
    print("| system | libc | Python | install, s | --version, ms | annotations | record | report | read | view |")
    print("|" + "---|" * 10)
    for root in sys.argv[2:]:
        row = list(cells(rows_of(root, sys.argv[1])))
        failed = failed or any("FAILED" in cell for cell in row)
        print("| " + " | ".join(row) + " |", flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
