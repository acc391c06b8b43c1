# SPDX-License-Identifier: Apache-2.0
"""The tests of a tree: programs that ctest knows, and tests of pytest; how each is run."""

import dataclasses
import json
import pathlib
import re
import subprocess
import tempfile

import sandbox

HERE = pathlib.Path(__file__).resolve().parent
LABELS = {"unit", "fuzz"}
MUTANTS_MAX = 4096  # mutants.h
PYTEST_ENDS = {0, 1, 5}  # all passed, some failed, none in the file
# A test program that needs more has been given a wrong size by a mutant.
PROGRAM_KIB = 8 << 20


@dataclasses.dataclass
class Test:
    name: str
    command: list
    folder: str
    seconds: float = 0.0
    opening_s: float = 0.0  # more, if no other test of its file runs before
    reached: frozenset = frozenset()
    fails: bool = False  # without a mutant

    @property
    def limit_s(self):
        return 20 + 20 * self.seconds


def programs(tree):
    done = subprocess.run(["ctest", "--test-dir", tree.build, "--show-only=json-v1"],
                          capture_output=True, text=True, check=True)
    found = []
    for test in json.loads(done.stdout)["tests"]:
        properties = {one["name"]: one["value"] for one in test["properties"]}
        if LABELS & set(properties.get("LABELS", ())):
            found.append(Test(test["name"], test["command"],
                              properties.get("WORKING_DIRECTORY", str(tree.build))))
    return found


def pytest_command(python, *arguments):
    return [python, "-B", "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "pytest_reach",
            *arguments]


def pytest_env(tree):
    return {"PYTHONPATH": str(HERE), "STEPSCOPE": str(tree.build / "stepscope")}


def run(tree, test, mutant):
    """Runs a program with a mutant on."""
    return sandbox.run(test.command, str(tree.home), test.folder,
                       {"STEPSCOPE_MUTANT": str(mutant)}, test.limit_s, PROGRAM_KIB)


def run_pytest(tree, python, names, mutant, limit_s):
    """Runs these tests, in this order, until one fails."""
    return sandbox.run(pytest_command(python, "-x", *names), str(tree.home), str(tree.source),
                       {"STEPSCOPE_MUTANT": str(mutant), **pytest_env(tree)}, limit_s)


def failed_of(done, names):
    """The test that failed, or the first one if none is named; None if all passed."""
    if not done.failed:
        return None
    named = re.findall(r"^(?:FAILED|ERROR) (.*?)(?: - .*)?$", done.output, re.M)
    return next((name for name in named if name in names), names[0])


def observe_program(tree, test):
    """Its row: which mutants it reaches, and its seconds."""
    with tempfile.NamedTemporaryFile(dir=tree.home) as reached:
        reached.truncate(MUTANTS_MAX)
        for limit_s in (60, 120, 240):  # other programs may use the machine
            done = sandbox.run(test.command, str(tree.home), test.folder,
                               {"STEPSCOPE_MUTANTS_REACHED": reached.name}, limit_s, PROGRAM_KIB)
            if not done.failed:
                break
        numbers = [number for number, byte in enumerate(reached.read()) if byte]
    return [{"test": test.name, "seconds": round(done.seconds, 3), "reached": numbers,
             "outcome": "failed" if done.failed else "passed"}]


def observe_pytest(tree, file, python):
    """A row for each test of one file."""
    with tempfile.NamedTemporaryFile(dir=tree.home) as reached, \
            tempfile.NamedTemporaryFile("r", dir=tree.home) as log:
        reached.truncate(MUTANTS_MAX)
        done = sandbox.run(pytest_command(python, file), str(tree.home), str(tree.source),
                           {"STEPSCOPE_MUTANTS_REACHED": reached.name, "MUTATE_REACH_LOG": log.name,
                            **pytest_env(tree)}, 3600)
        if done.status not in PYTEST_ENDS:
            print(f"{file}: {done.how}\n{done.output[-2000:]}", flush=True)
        return [json.loads(line) for line in log]
