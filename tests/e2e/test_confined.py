# SPDX-License-Identifier: Apache-2.0
"""Containers and sandboxes: what they refuse, `record` does without, since it reads its own descendants; where
another process cannot be read, the message says why."""

import errno
import os
import platform
import shutil
import subprocess
import sys
import tempfile

import pytest

# Numbers of x86-64. Docker before 20.10, containerd with its old profile: refused to all but CAP_SYS_PTRACE.
CONTAINER = {"ptrace": 101, "process_vm_readv": 310, "process_vm_writev": 311, "kcmp": 312, "perf_event_open": 298,
             "bpf": 321, "userfaultfd": 323, "open_by_handle_at": 304, "io_uring_setup": 425, "pidfd_getfd": 438}
# gVisor's kernel does not have these.
GVISOR = {"perf_event_open": 298, "bpf": 321, "userfaultfd": 323, "kcmp": 312, "io_uring_setup": 425, "openat2": 437,
          "pidfd_open": 434, "pidfd_getfd": 438, "pidfd_send_signal": 424, "process_vm_readv": 310,
          "process_vm_writev": 311, "name_to_handle_at": 303, "landlock_create_ruleset": 444, "epoll_pwait2": 441,
          "copy_file_range": 326, "open_tree": 428}
PROGRAM = """
import time
def spin_here(end):
    while time.monotonic() < end:
        sum(range(1000))
spin_here(time.monotonic() + 0.5)
print("ends well")
"""
STRANGER = 54321


def check(stepscope, trace, done):
    assert (done.returncode, done.stdout) == (0, "ends well\n"), done.stderr
    report = stepscope("report", trace)
    assert "spin_here" in report.stdout and "lost 0" in report.stdout, report.stdout


def record(stepscope, trace, prefix=(), **options):
    return subprocess.run([*prefix, stepscope.path, "record", "-q", "-r", "200", "-o", trace, "--",
                           os.path.realpath(sys.executable), "-c", PROGRAM], capture_output=True, text=True,
                          stdin=subprocess.DEVNULL, check=False, **options)


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the numbers are those of x86-64")
@pytest.mark.parametrize("calls, error", [(CONTAINER, errno.EPERM), (GVISOR, errno.ENOSYS)], ids=["container", "gvisor"])
def test_record_does_without_what_sandboxes_refuse(stepscope, tools, tmp_path, calls, error):
    """Without --cap-add=SYS_PTRACE: the memory of a descendant is also a file."""
    refused = ",".join(map(str, calls.values()))
    done = record(stepscope, tmp_path / "t.pftrace", [tools / "without_call", f"{refused}:{error}"])
    if done.returncode == 100:
        pytest.skip("no filter of system calls can be set here")
    check(stepscope, tmp_path / "t.pftrace", done)


def test_an_environment_as_large_as_the_kernel_permits(stepscope, tmp_path):
    """12 variables of 120 KiB each: what record adds to it still fits."""
    large = {f"LARGE_{number}": "x" * 120 * 1024 for number in range(12)}
    done = record(stepscope, tmp_path / "t.pftrace", env={**os.environ, **large})
    check(stepscope, tmp_path / "t.pftrace", done)


@pytest.fixture
def hidden(needs_root, needs_tool):
    """The start of a command that runs it as a stranger, where /proc hides the processes of other users."""
    needs_tool("unshare")
    needs_tool("setpriv")
    python = os.path.realpath("/usr/bin/python3")
    if not os.path.exists(python):
        pytest.skip("no /usr/bin/python3, which other users can run")
    script = 'mount -t proc -o hidepid=2 proc /proc && exec setpriv --reuid "$0" --regid "$0" --clear-groups "$@"'
    prefix = ["unshare", "--mount", "sh", "-c", script, str(STRANGER)]
    tried = subprocess.run([*prefix, "true"], capture_output=True, text=True, check=False)
    if tried.returncode != 0:
        pytest.skip(f"/proc cannot be mounted anew here: {tried.stderr.strip()}")
    return prefix, python


@pytest.fixture
def public(stepscope):
    """The program and what it loads, in a folder that everyone may read."""
    folder = tempfile.mkdtemp(prefix="stepscope-public-")
    subprocess.run(["cmake", "--install", os.path.dirname(os.path.realpath(stepscope.path)), "--prefix",
                    f"{folder}/tree"], capture_output=True, check=True)
    os.chmod(folder, 0o755)
    own = os.path.join(folder, "own")
    os.mkdir(own)
    os.chown(own, STRANGER, STRANGER)
    yield os.path.join(folder, "tree", "bin", "stepscope"), own
    shutil.rmtree(folder)


def test_where_proc_hides_other_users_own_programs_are_recorded(stepscope, hidden, public):
    (prefix, python), (program, own) = hidden, public
    trace = os.path.join(own, "t.pftrace")
    done = subprocess.run([*prefix, program, "record", "-q", "-r", "200", "-o", trace, "--", python, "-c", PROGRAM],
                          capture_output=True, text=True, check=False, cwd=own, env={"PATH": os.environ["PATH"]})
    check(stepscope, trace, done)


def test_a_hidden_process_of_another_user_is_called_hidden(hidden, public):
    (prefix, _), (program, own) = hidden, public
    done = subprocess.run([*prefix, program, "record", "-p", str(os.getpid()), "-d", "1"], capture_output=True, text=True,
                          check=False, cwd=own, env={"PATH": os.environ["PATH"]})
    assert done.returncode != 0 and "hidepid" in done.stderr, done.stderr
