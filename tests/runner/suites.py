# SPDX-License-Identifier: Apache-2.0
"""The suites: each runs its tests, and some of them again, and returns cases (results.py)."""

import os
import re
import subprocess
import xml.etree.ElementTree as ElementTree

from runner.results import FAILED, PASSED, Case, read_ctest, read_fuzz, read_pytest


def run_quietly(command, log, environment, folder):
    """Runs it with its output in a file: returns what it wrote."""
    with open(log, "wb") as out:
        subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=out,
                       stderr=subprocess.STDOUT, env={**os.environ, **environment}, check=False)
    return log.read_text(errors="replace")


class Suite:
    """A command that writes its results into an XML file. `execute` is run_quietly, or what a test
    has in its place."""

    def __init__(self, name, results, root, execute=run_quietly):
        self.name, self.results, self.root, self.execute = name, results, root, execute

    def read(self, command, label, environment, read):
        """The cases of a run, or a failure that says why there are none."""
        path = self.results / f"{label}.xml"
        path.unlink(missing_ok=True)
        output = self.execute(command(path), self.results / f"{label}.log", environment, self.root)
        try:
            return read(path)
        except (OSError, ElementTree.ParseError) as error:
            return [Case("results", FAILED, f"{error}; its output ends with:\n{output[-3000:]}")]


class Ctest(Suite):
    """The unit tests and fuzz corpora of one build."""

    def __init__(self, name, results, root, build, jobs, execute=run_quietly):
        super().__init__(name, results, root, execute)
        self.build, self.jobs = build, jobs

    def cases(self, label, extra, jobs):
        return self.read(lambda path: ["ctest", "--test-dir", self.build, "-LE", "meta", "-j", str(jobs),
                                       "--output-junit", path, "--test-output-size-passed", "1000000",
                                       "--test-output-size-failed", "1000000", *extra],
                         label, {}, read_ctest)

    def run(self):
        return self.cases(self.name, [], self.jobs)

    def repeat(self, cases):
        programs = sorted({case.target for case in cases})
        again = self.cases(f"{self.name}-again", ["-R", f"^({'|'.join(map(re.escape, programs))})$"], 1)
        # A program that crashed or took too long has failed as a whole: now it has not.
        fine = {case.target for case in again} - {case.target for case in again if case.outcome == FAILED}
        return again + [Case(program, PASSED, "", program) for program in sorted(fine)]


class Pytest(Suite):
    """A folder below tests/. `options` choose tests and say how they run; `workers` are only for all of
    them at once."""

    def __init__(self, name, results, root, python, build, folder=None, options=(), workers=(),
                 execute=run_quietly):
        super().__init__(name, results, root, execute)
        self.python, self.build = python, build
        self.folder = root / "tests" / (folder or name)
        self.options, self.workers = list(options), list(workers)

    def cases(self, label, arguments):
        tests = self.root / "tests"
        environment = {"STEPSCOPE": str(self.build / "stepscope"), "STEPSCOPE_BUILD_DIR": str(self.build)}
        # Of pytest's two formats, this one names the file of a test.
        return self.read(lambda path: [self.python, "-m", "pytest", "-q", "-c", tests / "pytest.ini",
                                       f"--rootdir={tests}", "-o", "junit_family=xunit1",
                                       "--junitxml", path, *self.options, *arguments],
                         label, environment, read_pytest)

    def run(self):
        if not any(self.folder.rglob("test_*.py")):
            return []
        return self.cases(self.name, [*self.workers, self.folder])

    def repeat(self, cases):
        tests = self.root / "tests"
        return self.cases(f"{self.name}-again", ["-m", "", *(f"{tests}/{case.target}" for case in cases)])


class Fuzz:
    """Each fuzz target, for some seconds; a line each as it ends."""
    name = "fuzz"

    def __init__(self, root, seconds, jobs):
        self.root, self.command = root, [root / "tools" / "fuzz", str(seconds), str(jobs)]

    def run(self):
        with subprocess.Popen(self.command, cwd=self.root, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              errors="replace") as fuzz:
            lines = []
            for line in fuzz.stdout:
                print(line, end="", flush=True)
                lines.append(line)
        return read_fuzz("".join(lines), fuzz.returncode)

    def repeat(self, cases):
        """An input that fails is kept, and fails whenever it is replayed."""
        return []
