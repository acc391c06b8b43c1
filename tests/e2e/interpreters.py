# SPDX-License-Identifier: Apache-2.0
"""The Python interpreters of this machine that stepscope reads, and programs run in them."""

import glob
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

WORKLOADS = Path(__file__).resolve().parents[1] / "workloads"
MINORS = range(8, 16)


def _candidates():
    """Commands: one executable, or a longer command that ends in one ("chroot DIR python3.14")."""
    root = os.environ.get("PYENV_ROOT", os.path.expanduser("~/.pyenv"))
    for minor in MINORS:
        yield from ([path] for path in sorted(glob.glob(f"{root}/versions/*/bin/python3.{minor}")))
        for suffix in ("", "-dbg", "d", "t"):
            path = shutil.which(f"python3.{minor}{suffix}", path="/usr/bin:/usr/local/bin")
            if path:
                yield [path]
    for extra in filter(None, os.environ.get("STEPSCOPE_EXTRA_PYTHONS", "").split(":")):
        yield shlex.split(extra)


def _describe(command):
    code = ("import sys, sysconfig; v = sys.version_info; "
            "print('%d.%d.%d' % v[:3] + {'final': '', 'candidate': 'rc%d' % v[4]}.get(v[3], v[3][0] + str(v[4])), "
            "int(bool(sysconfig.get_config_var('Py_GIL_DISABLED'))), "
            "int(hasattr(sys, 'gettotalrefcount')))")
    try:
        out = subprocess.run([*command, "-c", code], capture_output=True, text=True, timeout=60,
                             check=True).stdout.split()
    except (OSError, subprocess.SubprocessError):
        return None
    return out[0] + ("t" if out[1] == "1" else "") + (" debug" if out[2] == "1" else "")


def find_interpreters():
    """{version as stepscope shows it: command}; one command per version."""
    found = {}
    for command in _candidates():
        version = _describe(command)
        if version:
            found.setdefault(version, command)
    return found


INTERPRETERS = find_interpreters()


def by_minor():
    """The first release interpreter of each minor version: {"3.11": command}."""
    found = {}
    for version, command in INTERPRETERS.items():
        if re.fullmatch(r"[\d.]+", version) and len(command) == 1:
            found.setdefault(version.rsplit(".", 1)[0], command)
    return found


def without_gil():
    """The first free-threaded interpreter of each minor version: {"3.13t": command}."""
    found = {}
    for version, command in INTERPRETERS.items():
        if version.endswith("t") and len(command) == 1:
            found.setdefault(version.rsplit(".", 1)[0] + "t", command)
    return found


class Program:
    """A workload in an interpreter, that has printed one line when it was ready."""

    def __init__(self, command, workload, arguments=()):
        path = WORKLOADS / workload
        # Behind chroot the file is not to be seen: there the program comes through stdin.
        self.by_path = len(command) == 1
        self.file = str(path) if self.by_path else "<stdin>"
        script = [str(path)] if self.by_path else ["-"]
        with open(path, "rb") as source:
            self.process = subprocess.Popen(
                [*command, *script, *arguments], stdin=source, stdout=subprocess.PIPE,
                env={**os.environ, "PYTHONIOENCODING": "utf-8", "PYTHONUTF8": "1"})
        line = self.process.stdout.readline()
        self.ready = json.loads(line) if line else None
        self.pid = self.process.pid

    def __enter__(self):
        assert self.ready is not None, "the workload did not start"
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.stdout.close()
        self.process.wait()


def marked_lines(workload):
    """{marker: line} of the "# @marker" comments of a workload."""
    lines = {}
    text = (WORKLOADS / workload).read_text(encoding="utf-8")
    for number, line in enumerate(text.splitlines(), 1):
        for marker in re.findall(r"@(\w+)", line.partition("# @")[1] + line.partition("# @")[2]):
            lines[marker] = number
    return lines


if __name__ == "__main__":
    for version, command in INTERPRETERS.items():
        sys.stdout.write(f"{version:<14} {shlex.join(command)}\n")
