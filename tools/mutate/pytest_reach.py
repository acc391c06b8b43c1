# SPDX-License-Identifier: Apache-2.0
"""A pytest plugin: appends one line of JSON for each test, with the mutants that it reaches and its
seconds. STEPSCOPE_MUTANTS_REACHED names the bytes that the programs set, MUTATE_REACH_LOG the log.
What a fixture of several tests reaches counts for each test that uses the fixture."""

import json
import mmap
import os
import time

import pytest

LOG = os.environ.get("MUTATE_REACH_LOG")


class Reach:
    def __init__(self):
        with open(os.environ["STEPSCOPE_MUTANTS_REACHED"], "r+b") as file:
            self.bytes = mmap.mmap(file.fileno(), 0)
        self.fixtures = {}
        self.results = {}

    def take(self):
        """The mutants reached since the last call."""
        found = {number for number, byte in enumerate(self.bytes[:]) if byte}
        self.bytes[:] = bytes(len(self.bytes))
        return found

    @pytest.hookimpl(hookwrapper=True)
    def pytest_fixture_setup(self, fixturedef):
        if fixturedef.scope == "function":
            yield
            return
        before, start = self.take(), time.monotonic()
        yield
        seen, seconds = self.fixtures.get(fixturedef, (set(), 0.0))
        self.fixtures[fixturedef] = (seen | self.take(), seconds + time.monotonic() - start)
        for number in before:
            self.bytes[number] = 1

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_protocol(self, item):
        self.take()
        start = time.monotonic()
        yield
        reached, seconds = self.take(), time.monotonic() - start
        for definitions in item._fixtureinfo.name2fixturedefs.values():
            for definition in definitions:
                reached |= self.fixtures.get(definition, (set(), 0.0))[0]
        with open(LOG, "a", encoding="utf-8") as log:
            print(json.dumps({"test": name_of(item), "seconds": round(seconds, 3), "outcome":
                              self.results.pop(item.nodeid, "passed"),
                              "reached": sorted(reached)}), file=log)

    def pytest_runtest_logreport(self, report):
        if report.outcome != "passed":
            self.results[report.nodeid] = report.outcome


def name_of(item):
    """What runs it alone, from the folder that pytest was started in."""
    _, separator, rest = item.nodeid.partition("::")
    return os.path.relpath(item.path, item.config.invocation_params.dir) + separator + rest


def pytest_configure(config):
    if LOG:
        config.pluginmanager.register(Reach())
