# SPDX-License-Identifier: Apache-2.0
"""How tests/bench/run judges two revisions."""

import importlib.machinery
import importlib.util
import pathlib
import unittest

PATH = pathlib.Path(__file__).resolve().parents[1] / "bench" / "run"
_loader = importlib.machinery.SourceFileLoader("bench_run", str(PATH))
run = importlib.util.module_from_spec(importlib.util.spec_from_loader("bench_run", _loader))
_loader.exec_module(run)

LOW, HIGH = {"op": "<="}, {"op": ">="}


class Comparison(unittest.TestCase):
    def judged(self, budget, base, here):
        return run.compare(budget, base, here)[2]

    def test_more_is_worse_where_the_budget_is_a_limit_from_above(self):
        self.assertEqual("WORSE", self.judged(LOW, [10, 10, 10], [11, 11, 11]))
        self.assertEqual("better", self.judged(LOW, [10, 10, 10], [9, 9, 9]))
        self.assertEqual("WORSE", self.judged(HIGH, [10, 10, 10], [9, 9, 9]))
        self.assertEqual("better", self.judged(HIGH, [10, 10, 10], [11, 11, 11]))
        self.assertEqual("WORSE", self.judged(None, [10, 10, 10], [11, 11, 11]))

    def test_what_is_within_the_noise_is_the_same(self):
        self.assertEqual("same", self.judged(LOW, [10, 12, 9], [11, 11, 11]))
        self.assertEqual("same", self.judged(LOW, [100, 100, 100], [102, 102, 102]))

    def test_the_ratio_is_that_of_the_medians(self):
        ratio, noise, _ = run.compare(LOW, [10, 50, 10], [20, 20, 70])
        self.assertEqual("2.000", ratio)
        self.assertEqual(400, noise)
        self.assertEqual("", run.compare(LOW, [0, 0, 0], [1, 1, 1])[0])

    def test_rows_that_are_no_numbers_are_left_out(self):
        self.assertEqual({"a": 1.5}, run.numbers([("a", "1.5", ""), ("b", "none", "")]))
