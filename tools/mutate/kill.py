# SPDX-License-Identifier: Apache-2.0
"""Runs tests on mutants: which tests reach which, and which mutants the tests kill."""

import concurrent.futures as futures
import json
import threading
import time

import suites
from tree import JOBS

MOST_OF_A_FILE = 8  # tests of pytest, for one mutant


class Rows:
    """A file of JSON lines that a later run goes on with."""

    def __init__(self, path):
        self.path, self.lock = path, threading.Lock()
        self.rows = [json.loads(line) for line in path.read_text().splitlines()] \
            if path.exists() else []

    def add(self, rows):
        with self.lock:
            self.rows += rows
            with open(self.path, "a", encoding="utf-8") as file:
                file.writelines(json.dumps(row) + "\n" for row in rows)


def in_parallel(work, items, what):
    start = time.monotonic()
    with futures.ThreadPoolExecutor(JOBS) as pool:
        running = [pool.submit(work, item) for item in items]
        for count, one in enumerate(futures.as_completed(running), 1):
            one.result()
            if count % 25 == 0 or count == len(items):
                print(f"{what}: {count} of {len(items)}, {time.monotonic() - start:.0f} s",
                      flush=True)


def observed_programs(tree):
    """All programs that pass without a mutant, with what they reach."""
    rows = Rows(tree.home / "reach-programs.jsonl")
    known = {row["test"] for row in rows.rows}
    tests = suites.programs(tree)
    in_parallel(lambda test: rows.add(suites.observe_program(tree, test)),
                [test for test in tests if test.name not in known], "reach of programs")
    found = {row["test"]: row for row in rows.rows}
    for test in tests:
        fill(test, found[test.name])
    return tests


def fill(test, row):
    test.seconds, test.reached = row["seconds"], frozenset(row["reached"])
    test.fails = row["outcome"] == "failed"


def observed_pytest(tree, files, python):
    """The tests of these files that pass without a mutant, with what they reach."""
    rows = Rows(tree.home / "reach-pytest.jsonl")
    known = {file_of(row["test"]) for row in rows.rows}
    in_parallel(lambda file: rows.add(suites.observe_pytest(tree, file, python)),
                [file for file in files if file not in known], "reach of pytest")
    tests, opening = [], {}
    for row in rows.rows:
        # The first test of a file pays for the fixtures that the others share.
        opening.setdefault(file_of(row["test"]), row["seconds"])
        if file_of(row["test"]) in files and row["outcome"] == "passed":
            tests.append(suites.Test(row["test"], [], str(tree.source)))
            fill(tests[-1], row)
            tests[-1].opening_s = opening[file_of(row["test"])]
    return tests


def file_of(name):
    return name.split("::")[0]


def order(mutant, tests):
    """Those that reach it: the test of its file first, then the fastest."""
    stem = mutant["path"].split("/", 1)[1].removesuffix(".c").replace("/", "_")
    reaching = [test for test in tests if mutant["number"] in test.reached and not test.fails]
    return sorted(reaching, key=lambda test: (test.name != f"unit_{stem}", test.seconds))


def new_row(mutant, tests):
    return {"number": mutant["number"], "key": mutant["key"], "reached": bool(tests),
            "killed": False, "by": None, "how": None}


def judge(tree, mutant, tests):
    """Runs the programs until one fails, twice: a test that fails by chance kills no mutant."""
    start, ran, row = time.monotonic(), 0, new_row(mutant, tests)
    for test in tests:
        ran += 1
        done = suites.run(tree, test, mutant["number"])
        if done.failed and suites.run(tree, test, mutant["number"]).failed:
            row.update(killed=True, by=test.name, how=done.how)
            break
    return {**row, "tests": ran, "seconds": round(time.monotonic() - start, 2)}


def affordable(tests, budget_s):
    """Some tests of each file, the cheapest files and tests first, that take as long without a
    mutant."""
    chosen, seconds, in_file = [], 0.0, {}
    for test in sorted(tests, key=lambda test: (test.opening_s, file_of(test.name), test.seconds)):
        count = in_file.get(file_of(test.name), 0)
        cost = test.seconds + (test.opening_s if count == 0 else 0)
        if count < MOST_OF_A_FILE and seconds + cost <= budget_s:
            seconds += cost
            in_file[file_of(test.name)] = count + 1
            chosen.append(test.name)
    return chosen


def judge_with_pytest(tree, mutant, tests, python, budget_s):
    """Runs what is affordable in one process that ends at the first failure; the test that failed
    must fail again alone."""
    start, row = time.monotonic(), new_row(mutant, tests)
    chosen = affordable(tests, budget_s)
    row.update(tests=len(chosen), reaching=len(tests))
    while chosen and not row["killed"]:
        done = suites.run_pytest(tree, python, chosen, mutant["number"], 60 + 10 * budget_s)
        failed = suites.failed_of(done, chosen)
        if failed is None:
            break
        again = suites.run_pytest(tree, python, [failed], mutant["number"], 60 + 10 * budget_s)
        if again.failed:
            row.update(killed=True, by=failed, how=done.how)
        chosen = chosen[chosen.index(failed) + 1:]
    return {**row, "seconds": round(time.monotonic() - start, 2)}


def kill_with_programs(tree):
    """A row for each mutant of the sample."""
    tests = observed_programs(tree)
    for test in tests:
        if test.fails:
            print(f"left out, because it fails without a mutant: {test.name}")
    rows = Rows(tree.home / "kills-programs.jsonl")
    known = {row["number"] for row in rows.rows}
    in_parallel(lambda mutant: rows.add([judge(tree, mutant, order(mutant, tests))]),
                [one for one in tree.sample["mutants"] if one["number"] not in known],
                "mutants against programs")


def kill_with_pytest(tree, files, python, count, budget_s):
    """A row for each of `count` mutants of a folder that survived the programs: those of the lowest
    keys, a choice by chance that a later run repeats."""
    tests = observed_pytest(tree, files, python)
    rows = Rows(tree.home / "kills-pytest.jsonl")
    known = {row["number"] for row in rows.rows}
    folders = [survivors(tree, folder)[:count] for folder in tree.sample["folders"]]
    # By turns, so that what an interrupted run has is a sample of each folder too.
    drawn = [folder[i] for i in range(count) for folder in folders
             if i < len(folder) and folder[i]["number"] not in known]
    in_parallel(lambda mutant: rows.add([judge_with_pytest(
        tree, mutant, order(mutant, tests), python, budget_s)]), drawn, "mutants against pytest")


def survivors(tree, folder):
    killed = {row["number"] for row in Rows(tree.home / "kills-programs.jsonl").rows
              if row["killed"]}
    return sorted((one for one in tree.sample["mutants"]
                   if one["folder"] == folder and one["number"] not in killed),
                  key=lambda one: one["key"])
