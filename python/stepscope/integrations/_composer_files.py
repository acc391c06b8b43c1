# SPDX-License-Identifier: Apache-2.0
"""What Composer's profiler writes beside the files of windows: one file with all of them, and the
files of its torch profiler. Both are exports of the recording."""

import fcntl
import os
import subprocess

from stepscope import _recorder
from stepscope._tools import warn

_RANKS = {"rank": 0, "local_rank": 0, "node_rank": 0, "world_size": 1, "local_world_size": 1}


def ranks():
    """Those of this process, as torchrun and Composer's launcher set them."""
    return {name: int(os.environ.get(name.upper(), default)) for name, default in _RANKS.items()}


def native_of(path):
    """The trace beside a window's JSON."""
    return os.path.splitext(path)[0] + ".pftrace"


def export(to, output, inputs):
    """Whether it was written; warns otherwise."""
    os.makedirs(os.path.dirname(os.path.abspath(output)), exist_ok=True)
    environment = {name: value for name, value in os.environ.items()
                   if name not in _recorder._OUTER_VARIABLES}
    try:
        done = subprocess.run([_recorder.program(), "export", "--to", to, "-o", output, *inputs],
                              env=environment, check=False, stdin=subprocess.DEVNULL,
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    except OSError as error:
        warn(f"{output} was not written: {error}")
        return False
    if done.returncode != 0:
        warn(f"{output} was not written: {done.stderr.decode('utf-8', 'replace').strip()}")
    return done.returncode == 0


class Merged:
    """One file with the windows of all ranks of this node. The rank that closes last writes it: no
    rank waits for others, which may have failed."""

    def __init__(self, path):
        self._path = os.path.abspath(path)
        folder, name = os.path.split(self._path)
        self._windows = os.path.join(folder, f".{name}.rank")
        self._lock = os.path.join(folder, f".{name}.lock")
        self._own = []
        self._remove(self._windows + str(ranks()["local_rank"]))  # of a run that was killed
        self._remove(self._path)

    @staticmethod
    def _remove(path):
        try:
            os.unlink(path)
        except OSError:
            pass

    def add(self, window):
        """A window of this rank is complete."""
        self._own.append(native_of(window.path))

    def close(self):
        """This rank is done."""
        if not self._own:
            return
        with open(self._lock, "w", encoding="utf-8") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            own = self._windows + str(ranks()["local_rank"])
            with open(own, "w", encoding="utf-8", errors="surrogateescape") as file:
                file.write("\n".join(self._own))
            lists = [self._windows + str(rank) for rank in range(ranks()["local_world_size"])]
            if not all(map(os.path.exists, lists)):
                return
            windows = []
            for name in lists:
                with open(name, encoding="utf-8", errors="surrogateescape") as file:
                    windows += filter(os.path.exists, file.read().split("\n"))
            if windows:
                export("chrome", self._path, windows)
            for name in [*lists, self._lock]:
                self._remove(name)


class TorchFiles:
    """A file of torch.profiler's events for each window, in the form that torch writes."""

    def __init__(self, folder, filename, run_name):
        self._template = os.path.join(folder, filename)
        self._values = dict(ranks(), run_name=run_name)

    def add(self, window):
        """A window of this rank is complete."""
        batch = 0 if window.last_step is None else window.last_step + (not window.partial)
        try:
            path = self._template.format(batch=batch, **self._values)
        except (KeyError, IndexError, ValueError) as error:
            warn(f"torch_prof_filename: no variable {error}; there are batch, "
                 f"{', '.join(sorted(self._values))}")
            return
        export("kineto", path, [native_of(window.path)])
