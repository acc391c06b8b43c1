# SPDX-License-Identifier: Apache-2.0
"""The verdict on trainings that have one fault each (tests/workloads/faults), and on one without."""

import json

import pytest

# Fault: the rule that is named first.
RULES = {"no_workers": "no-workers",
         "host_sync": "host-sync",
         "few_workers": "few-workers",
         "slow_workers": "slow-workers",
         "worker_restarts": "worker-restarts",
         "epoch_starts": "epoch-starts",
         "periodic_stalls": "evaluation",
         "slow_collate": "slow-collate",
         "tiny_batches": "tiny-batches",
         "main_thread_data": "hot-line",
         "recompilation": "recompilation",
         "gc_pauses": "gc-pauses",
         "checkpoint_stalls": "checkpoint-stalls",
         "oversubscription": "oversubscription",
         "memory_growth": "memory-growth",
         "logging_in_the_loop": "logging",
         "printed_tensors": "logging",
         "warm_up": "warm-up"}
# Those that the same program has without its fault, and what is not named then.
FIXED = {"few_workers": {"few-workers"}, "slow_workers": {"slow-workers"}, "epoch_starts": {"epoch-starts"},
         "worker_restarts": {"worker-restarts", "epoch-starts"}, "periodic_stalls": {"evaluation"},
         "printed_tensors": {"logging", "host-sync"}}


@pytest.fixture
def process_of(recordings):
    """process_of(FAULT, PROGRAM): the trace, and the options that select the process of the program."""
    def of(fault, program=None):
        recorded = recordings(f"verdict_{fault}")
        return recorded.trace, "--process", json.loads(recorded.said)[program or fault]["pid"]
    return of


@pytest.mark.parametrize("name", RULES)
def test_the_fault_is_named(process_of, report_of, name):
    training = report_of(*process_of(name))["training"]
    assert training["judged"]
    assert training["advice"][0]["rule"] == RULES[name]
    for one in training["advice"]:
        assert one["headline"] and one["evidence"]
        assert one["fix"] or one["rule"] == "hot-line"
        besides = sum(row["value"] for row in one["evidence"] if row["what"] == "computing at the line")
        assert 0 <= one["expected_ns"] <= one["cost_ns"] + besides
        assert one["expected_ns"] <= one["recoverable_ns"] <= one["of_ns"]


@pytest.mark.parametrize("name, function", [
    ("no_workers", "__getitem__"), ("main_thread_data", "augment"), ("slow_collate", "collate"),
    ("logging_in_the_loop", "log"), ("printed_tensors", "show")])
def test_the_line_behind_it_is_named(process_of, findings_of, name, function):
    line = findings_of(*process_of(name))[RULES[name]]["line"]
    assert line["path"].endswith(name + ".py")
    assert line["function"].endswith(function)
    assert line["percent"] > 50


def test_reads_are_counted_as_the_program_makes_them(process_of, findings_of):
    evidence = findings_of(*process_of("host_sync"))["host-sync"]["evidence"]
    assert {row["what"]: row["value"] for row in evidence}["reads a step"] == 200


@pytest.mark.parametrize("name", FIXED)
def test_the_fault_is_no_longer_named_when_it_is_fixed(process_of, findings_of, name):
    assert not FIXED[name] & set(findings_of(*process_of(name, name + " fixed")))


def test_a_clean_program_has_no_fault(process_of, report_of):
    training = report_of(*process_of("clean"))["training"]
    assert training["advice"] == []
    assert [row["memory"] for row in training["memory"]] == ["memory rss"]


def test_the_report_answers_in_order(process_of, text_of):
    """The step, what to do about it, the series, tables, memory; how far to trust it at its end."""
    text = text_of(*process_of("no_workers"))
    order = ["A step takes ", "  → ", "step by step", "Hottest lines", "\nMemory\n", "\nRecorded ",
             "\nNext\n"]
    places = [text.index(word) for word in order]
    assert places == sorted(places)
    assert "no rule found a problem" in text_of(*process_of("clean"))
