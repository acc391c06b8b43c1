# SPDX-License-Identifier: Apache-2.0
"""What a user does with a wheel, in any system that has a Python of 3.8 or later and nothing of this tree:

    python3 installed.py WHEELS STEP…

Each step prints one line of JSON: its name, what it found, or why it failed. `roots.py` runs this in other
systems."""

import importlib.util
import json
import os
import platform
import re
import subprocess
import sys
import tempfile
import threading
import time
import traceback
import urllib.parse
import urllib.request

TRAINING = """
import stepscope
try:
    import numpy
except ImportError:
    numpy = None

def multiply_rows(left, right):
    if numpy is not None:
        return left @ right
    return [[sum(map(float.__mul__, row, column)) for column in zip(*right)] for row in left]

def make(rows, columns):
    if numpy is not None:
        return numpy.ones((rows, columns))
    return [[1.0] * columns for _ in range(rows)]

def train(steps):
    weights, batch = make(64, 64), make(64, 64)
    stepscope.step(0)
    for _ in range(steps):
        with stepscope.annotate("forward"):
            for _ in range(WORK):
                multiply_rows(batch, weights)
        stepscope.step()

train(12)
print("trained")
"""


def run(command, status=0, **options):
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          universal_newlines=True, check=False, **options)
    if done.returncode != status:
        raise AssertionError(f"{' '.join(map(str, command))}: status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout + done.stderr


class User:
    """A folder with a virtual environment, and what was recorded there."""

    def __init__(self, wheels):
        self.wheels = wheels
        self.folder = tempfile.mkdtemp(prefix="stepscope-user-")
        self.bin = os.path.join(self.folder, "venv", "bin")
        self.stepscope, self.python = os.path.join(self.bin, "stepscope"), os.path.join(self.bin, "python")
        self.trace = os.path.join(self.folder, "training.pftrace")

    def install(self):
        """Seconds of pip; the environment and the pip are the user's, not ours."""
        run([sys.executable, "-m", "venv", "--system-site-packages", "--without-pip", os.path.join(self.folder, "venv")])
        start = time.monotonic()
        run([self.python, *self.pip(), "install", "-q", "--disable-pip-version-check", "--no-index", "--find-links",
             self.wheels, "stepscope"])
        return {"seconds": round(time.monotonic() - start, 1)}

    def pip(self):
        """The pip of the system, or the one that each Python brings for its environments."""
        if importlib.util.find_spec("pip"):
            return ["-m", "pip"]
        import ensurepip
        folder = os.path.join(os.path.dirname(ensurepip.__file__), "_bundled")
        wheel, = (name for name in os.listdir(folder) if name.startswith("pip-"))
        return [os.path.join(folder, wheel, "pip")]

    def version(self):
        """Of 20 starts the shortest and the median."""
        times = []
        for _ in range(20):
            start = time.monotonic()
            text = run([self.stepscope, "--version"])
            times.append(time.monotonic() - start)
        times.sort()
        return {"text": text.strip(), "least_ms": round(times[0] * 1e3, 2), "median_ms": round(times[10] * 1e3, 2)}

    def annotate(self):
        """The module for this Python is in the wheel, and loads the annotation library."""
        code = ("import stepscope\nwith stepscope.annotate('x'): pass\n"
                "print(getattr(stepscope._stepscope, 'has_runtime', None), stepscope.__version__)")
        found, version = run([self.python, "-I", "-c", code]).split()
        assert found == "1", f"the module found no annotation library (has_runtime is {found})"
        return {"version": version}

    def record(self):
        script = os.path.join(self.folder, "train.py")
        with open(script, "w") as file:
            file.write(TRAINING.replace("WORK", os.environ.get("INSTALLED_WORK", "40")))
        said = run([self.stepscope, "record", "-r", "500", "-o", self.trace, "--", self.python, script])
        assert "trained" in said, said
        return {"bytes": os.path.getsize(self.trace)}

    def report(self):
        functions = run([self.stepscope, "report", "--by", "function", self.trace])
        assert "multiply_rows" in functions, functions
        summary = run([self.stepscope, "report", self.trace])
        steps = re.search(r"(\d+) steps", summary)
        assert steps is not None, summary
        return {"steps": int(steps.group(1)), "first_lines": summary.splitlines()[:3]}

    def read(self, trace=None):
        """In Python."""
        code = "import stepscope, sys; print(*stepscope.open(sys.argv[1]).table('function')['name'], sep='\\n')"
        names = run([self.python, "-I", "-c", code, trace or self.trace]).splitlines()
        assert names, "the table of functions is empty"
        return {"functions": len(names)}

    def view(self):
        """The server's page and an answer of its interface."""
        server = subprocess.Popen([self.stepscope, "view", self.trace], stdin=subprocess.DEVNULL,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True)
        guard = threading.Timer(60, server.kill)
        guard.start()
        try:
            address = urllib.parse.urlsplit(server.stdout.readline().strip())
            assert address.port, server.stderr.read()
            token = urllib.parse.parse_qs(address.fragment)["token"][0]
            asked = urllib.request.Request(f"http://127.0.0.1:{address.port}/api/overview",
                                           headers={"Authorization": f"Bearer {token}"})
            groups = json.loads(urllib.request.urlopen(asked, timeout=60).read())["groups"]
            with urllib.request.urlopen(f"http://127.0.0.1:{address.port}/", timeout=60) as page:
                assert page.status == 200
            return {"groups": len(groups)}
        finally:
            guard.cancel()
            server.terminate()
            server.communicate()

    def doctor(self):
        done = subprocess.run([self.stepscope, "doctor"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, universal_newlines=True, check=False)
        assert done.returncode in (0, 1, 4), done.stdout
        return {"status": done.returncode, "text": done.stdout}

    def given(self):
        """A recording from elsewhere, in $INSTALLED_TRACE: its report has to have the same bytes there."""
        path = os.environ["INSTALLED_TRACE"]
        self.read(path)
        return {"report": run([self.stepscope, "report", "--format", "json", path])}


STEPS = ("install", "version", "annotate", "record", "report", "read", "view", "doctor")


def system():
    name = ""
    try:
        with open("/etc/os-release") as file:
            name = re.search(r'PRETTY_NAME="?([^"\n]+)', file.read()).group(1)
    except (OSError, AttributeError):
        pass
    return {"system": name, "libc": " ".join(platform.libc_ver()), "python": platform.python_version(),
            "machine": platform.machine(), "user": os.getuid(),
            "compilers": [one for one in ("cc", "gcc", "clang") if any(
                os.path.exists(os.path.join(folder, one)) for folder in os.environ["PATH"].split(":"))]}


def main():
    user = User(sys.argv[1])
    print(json.dumps({"step": "system", **system()}), flush=True)
    failed = 0
    for name in sys.argv[2:] or STEPS:
        try:
            row = {"step": name, **getattr(user, name)()}
        except Exception as error:
            failed = 1
            row = {"step": name, "failed": str(error) or traceback.format_exc()}
        print(json.dumps(row), flush=True)
    return failed


if __name__ == "__main__":
    sys.exit(main())
