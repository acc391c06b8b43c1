# SPDX-License-Identifier: Apache-2.0
"""The verdict on trainings that have one fault each (tests/workloads/faults), and on one without."""

import json
import os
import pathlib
import sys

import pytest

FAULTS = pathlib.Path(__file__).resolve().parents[1] / "workloads" / "faults"
torch = pytest.importorskip("torch", reason="PyTorch is not installed")

# Fault: the rules of which one is named first. Reading a tensor element by element costs more around
# the reads than in them: either may be the larger.
RULES = {"no_workers": {"no-workers"},
         "few_workers": {"few-workers"},
         "slow_workers": {"slow-workers"},
         "worker_restarts": {"worker-restarts", "epoch-starts"},
         "epoch_starts": {"epoch-starts"},
         "periodic_stalls": {"evaluation"},
         "slow_collate": {"slow-collate"},
         "host_sync": {"host-sync", "hot-line"},
         "tiny_batches": {"tiny-batches"},
         "main_thread_data": {"hot-line"},
         "recompilation": {"recompilation"},
         "gc_pauses": {"gc-pauses"},
         "checkpoint_stalls": {"checkpoint-stalls"},
         "oversubscription": {"oversubscription"},
         "memory_growth": {"memory-growth"},
         "logging_in_the_loop": {"logging"},
         "printed_tensors": {"logging", "host-sync"},
         "warm_up": {"warm-up"}}
if not hasattr(torch, "compile"):
    del RULES["recompilation"]
if (os.cpu_count() or 1) > 8:
    del RULES["slow_workers"]  # it would start as many processes
# Those that the same program has without its fault.
FIXED = [name for name in RULES if "is_fixed" in (FAULTS / f"{name}.py").read_text()]
# With less than this of a core, what the rules see is the machine, not the program. What wants all
# cores must have most of them; what is made of microseconds must not be interrupted all the time.
LEAST_CORES = {"oversubscription": 0.8 * (os.cpu_count() or 1), "tiny_batches": 0.75}
LEAST_CORE = 0.6
# What waits for its workers has no core meanwhile.
LEAST_CORES.update({name + fixed: 0 for fixed in ("", " fixed") for name in (
    "few_workers", "slow_workers", "worker_restarts", "epoch_starts")})
LEAST_CORES["many_reads"] = 0  # counted, not timed


@pytest.fixture(scope="module")
def recordings(stepscope, tmp_path_factory):
    """(trace, what the programs say of themselves): the first of all programs, one after another, each
    in a process of its own; what a test wants again has a recording to itself."""
    known = {}

    def of(name, attempt):
        key = (name, attempt) if attempt else None
        if key not in known:
            fixed = [name + " fixed" for name in FIXED]
            names = [name] if attempt else ["clean", "many_reads", *RULES, *fixed]
            trace = tmp_path_factory.mktemp("verdict") / "faults.pftrace"
            done = stepscope("record", "-q", "-r", 400, "--host-interval", "0.1", "-o", trace, "--",
                             sys.executable, FAULTS, *names, timeout=1200)
            known[key] = trace, json.loads(done.stdout.splitlines()[-1])
        return known[key]
    return of


def training_of(stepscope, recording, name):
    trace, results = recording
    if results[name]["cores"] < LEAST_CORES.get(name, LEAST_CORE):
        pytest.skip(f"the machine is busy: the program had {results[name]['cores']:.2f} cores")
    document = json.loads(stepscope("report", "-f", "json", "--process", results[name]["pid"],
                                    trace).stdout)
    assert document["training"]["judged"]
    return document["training"]


def check(stepscope, recordings, name, right):
    """A second of a machine that others use as well may be unlike the next: what is not right three
    times is wrong, unless the report itself says that others have the cores."""
    for attempt in range(3):
        training = training_of(stepscope, recordings(name, attempt), name)
        try:
            return right(training)
        except (AssertionError, StopIteration, TypeError):
            if attempt == 2:
                if any(one["rule"] == "busy-machine" for one in training["advice"]):
                    pytest.skip("the machine is busy, as the report says")
                raise


@pytest.mark.parametrize("name", RULES)
def test_the_fault_is_named(stepscope, recordings, name):
    def right(training):
        rules = [one["rule"] for one in training["advice"] if one["rule"] != "busy-machine"]
        assert rules and rules[0] in RULES[name], rules
        for one in training["advice"]:
            assert one["headline"] and one["evidence"]
            assert one["fix"] or one["rule"] == "hot-line"
            besides = sum(row["value"] for row in one["evidence"] if row["what"] == "computing at the line")
            assert 0 <= one["expected_ns"] <= one["cost_ns"] + besides
            assert one["expected_ns"] <= one["recoverable_ns"] <= one["of_ns"]
    check(stepscope, recordings, name, right)


@pytest.mark.parametrize("name, function", [("no_workers", "__getitem__"),
                                            ("main_thread_data", "augment"),
                                            ("slow_collate", "collate"), ("host_sync", "read")])
def test_the_line_behind_it_is_named(stepscope, recordings, name, function):
    def right(training):
        line = next(one for one in training["advice"] if one["rule"] in RULES[name])["line"]
        assert line["path"].endswith(name + ".py")
        assert line["function"].endswith(function)
        assert line["percent"] > 50
    check(stepscope, recordings, name, right)


def test_reads_are_counted_as_the_program_makes_them(stepscope, recordings):
    def right(training):
        evidence = {row["what"]: row["value"] for one in training["advice"]
                    if one["rule"] in RULES["host_sync"] for row in one["evidence"]}
        least = evidence.get("reads a step (at least)", 0)
        assert evidence.get("reads a step") == 20000 or 0 < least < 20000
    check(stepscope, recordings, "many_reads", right)


@pytest.mark.parametrize("name", FIXED)
def test_the_fault_is_no_longer_named_when_it_is_fixed(stepscope, recordings, name):
    def right(training):
        rules = {one["rule"] for one in training["advice"]}
        fault = RULES[name]
        assert not rules & fault, training["advice"]
    check(stepscope, recordings, name + " fixed", right)


def test_a_clean_program_has_no_fault(stepscope, recordings):
    def right(training):
        assert {one["rule"] for one in training["advice"]} <= {"busy-machine"}
        assert [row["memory"] for row in training["memory"]] == ["memory rss"]
    check(stepscope, recordings, "clean", right)


def test_the_report_answers_in_order(stepscope, recordings):
    """The step, what to do about it, the series, tables, memory; how far to trust it at its end."""
    trace, results = recordings("clean", 0)
    text = stepscope("report", "--process", results["no_workers"]["pid"], trace).stdout
    order = ["A step takes ", "  → ", "step by step", "Hottest lines", "\nMemory\n", "\nRecorded ",
             "\nNext\n"]
    places = [text.index(word) for word in order]
    assert places == sorted(places)
    clean = stepscope("report", "--process", results["clean"]["pid"], trace).stdout
    assert "no rule found a problem" in clean or "  → " in clean
