# SPDX-License-Identifier: Apache-2.0
"""Which failures come again. A test that fails and then passes alone is unstable: it counts as neither
passed nor failed, is shown with its output, and fails if it was unstable in the run before too."""

import json
import os

from runner.results import FAILED, PASSED, SKIPPED, UNSTABLE

# A few failures among thousands of tests that run programs in real time are repeated. More failures
# than these are no accident.
MOST_REPEATED = 5
REPEATS = 3
# How the reason of a skip begins if the test needs cores that others used: it is repeated too.
BUSY = "the machine is busy"
MOST_RUNS = 20
MOST_LINES = 10


def repeat_failures(suite, cases):
    """Sets the outcome of the failures that pass each time when they are repeated alone."""
    failed = [case for case in cases if case.outcome == FAILED]
    if not 0 < len(failed) <= MOST_REPEATED:
        return
    unstable = {case.name for case in failed if case.target}
    for _ in range(REPEATS):
        again = suite.repeat([case for case in failed if case.name in unstable]) if unstable else []
        unstable &= {case.name for case in again if case.outcome == PASSED}
    for case in failed:
        if case.name in unstable:
            case.outcome = UNSTABLE


def repeat_busy(suite, cases):
    """Sets the outcome of the tests that were skipped because other programs used the cores."""
    busy = {case.name: case for case in cases
            if case.outcome == SKIPPED and case.text.startswith(BUSY) and case.target}
    for again in suite.repeat(list(busy.values())) if busy else ():
        case = busy.get(again.name)
        if case is not None:
            case.outcome = UNSTABLE if again.outcome == PASSED else again.outcome
            case.text = case.text if again.outcome == PASSED else again.text


def repeat(suite, cases):
    repeat_failures(suite, cases)
    repeat_busy(suite, cases)


class History:
    """The last runs, in a file: [{"when", "revision", "suites", "unstable": [{"suite", "name",
    "output"}]}]."""

    def __init__(self, path):
        self.path = path
        try:
            self.runs = list(json.loads(path.read_text(encoding="utf-8"))["runs"])
        except (OSError, ValueError, KeyError, TypeError):
            self.runs = [] # none yet, or cut short: one more run makes it whole

    def before(self, suite):
        """{test: when} of those that were unstable in the last run that had this suite."""
        for run in reversed(self.runs):
            if suite in run["suites"]:
                return {one["name"]: f"{run['when']} of {run['revision']}"
                        for one in run["unstable"] if one["suite"] == suite}
        return {}

    def add(self, when, revision, suites):
        """Adds a run of {suite: cases}. What was unstable in the run before too becomes a failure."""
        unstable = [(suite, case) for suite, cases in suites.items() for case in cases
                    if case.outcome == UNSTABLE]
        for suite, case in unstable:
            before = self.before(suite).get(case.name)
            if before is not None:
                case.outcome = FAILED
                case.text = f"unstable in the run before too ({before})\n{case.text}"
        self.runs.append({
            "when": when, "revision": revision, "suites": sorted(suites),
            "unstable": [{"suite": suite, "name": case.name,
                          "output": case.text.splitlines()[:MOST_LINES]} for suite, case in unstable]})
        self.runs = self.runs[-MOST_RUNS:]

    def save(self):
        written = self.path.with_suffix(".new")
        written.write_text(json.dumps({"runs": self.runs}, indent=1, ensure_ascii=False) + "\n",
                           encoding="utf-8")
        os.replace(written, self.path)
