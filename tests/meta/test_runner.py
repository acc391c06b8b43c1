# SPDX-License-Identifier: Apache-2.0
"""The runner behind `make check` counts what really happened."""

import contextlib
import importlib.machinery
import importlib.util
import io
import pathlib
import sys
import tempfile
import unittest
import xml.etree.ElementTree as ElementTree

PATH = pathlib.Path(__file__).resolve().parents[1] / "run"
LOADER = importlib.machinery.SourceFileLoader("check_runner", str(PATH))
SPEC = importlib.util.spec_from_loader("check_runner", LOADER)
runner = importlib.util.module_from_spec(SPEC)
LOADER.exec_module(runner)

CMOCKA = """[==========] Running 3 test(s).
[ RUN      ] test_good
[       OK ] test_good
[ RUN      ] test_elsewhere
needs root
[  SKIPPED ] test_elsewhere
[ RUN      ] test_bad
[  ERROR   ] --- 1 != 2
[   LINE   ] --- a.c:1: error: Failure!
[  FAILED  ] test_bad
[==========] 3 test(s) run.
[  PASSED  ] 1 test(s).
[  SKIPPED ] 1 test(s), listed below:
[  SKIPPED ] test_elsewhere
[  FAILED  ] 1 test(s), listed below:
[  FAILED  ] test_bad
"""

RUN_BY_RUN = """
import pathlib, pytest
@pytest.mark.parametrize("x", [1], ids=["a b"])
def test_once(x):
    mark = pathlib.Path(__file__).with_name("mark")
    seen = mark.exists()
    mark.touch()
    assert seen
def test_always():
    assert False
def test_good():
    pass
def test_waits():
    mark = pathlib.Path(__file__).with_name("alone")
    if not mark.exists():
        mark.touch()
        pytest.skip("the machine is busy: others have the cores")
"""


def case(status, output):
    element = ElementTree.Element("testcase", name="unit_x", status=status)
    ElementTree.SubElement(element, "system-out").text = output
    return element


class Runner(unittest.TestCase):
    def read(self, status, output):
        with contextlib.redirect_stdout(io.StringIO()):
            return runner.read_case(case(status, output))

    def test_each_test_of_a_program_counts(self):
        passed, failures, skips = self.read("fail", CMOCKA)
        self.assertEqual(1, passed)
        self.assertEqual(["unit_x: test_bad"], failures)
        self.assertEqual([("unit_x: test_elsewhere", "needs root")], skips)

    def test_a_crash_after_passed_tests_fails(self):
        _, failures, _ = self.read("fail", "[ RUN      ] test_a\n[       OK ] test_a\n")
        self.assertEqual(1, len(failures))

    def test_a_program_without_cmocka_counts_once(self):
        self.assertEqual((1, [], []), self.read("run", "12 inputs replayed\n"))
        self.assertEqual(1, len(self.read("fail", "12 inputs replayed\n")[1]))

    def test_each_fuzz_target_counts(self):
        clean = "fuzz raw: clean after 5 s, 12 inputs\n"
        failed = "#1 INITED\nfuzz walk: FAILED, the input is in build/fuzz/found/\n"
        self.assertEqual((1, []), runner.fuzz_results(clean, 0))
        self.assertEqual((1, ["walk, the input is in build/fuzz/found/"]),
                         runner.fuzz_results(clean + failed, 1))
        self.assertEqual((0, ["exit status 4: the build failed"]),
                         runner.fuzz_results("the build failed\n", 4))
        self.assertEqual((0, ["exit status 0: "]), runner.fuzz_results("", 0))

    def test_the_last_line_sums_up(self):
        totals = runner.Totals()
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            totals.add("a", 3, [], [("x", "no GPU")], 0.1)
            totals.add("b", 2, ["y"], [], 0.1)
            status = totals.finish()
        self.assertEqual(1, status)
        self.assertEqual("5 passed, 1 failed, 1 skipped", out.getvalue().splitlines()[-1])
        self.assertIn("no GPU: a x", out.getvalue())

    @unittest.skipUnless(importlib.util.find_spec("pytest"), "pytest is not installed")
    def test_a_failure_that_does_not_come_again_is_named(self):
        totals, out = runner.Totals(), io.StringIO()
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "test_a.py").write_text(RUN_BY_RUN)
            runner.RESULTS = pathlib.Path(folder)
            with contextlib.redirect_stdout(out):
                runner.run_pytest(totals, "a", sys.executable, folder, ["-p", "no:cacheprovider"])
                totals.finish()
        self.assertEqual(1, len(totals.failures))
        self.assertIn("test_a::test_always", totals.failures[0])
        self.assertEqual(["a: test_a::test_once[a b]"], [text[:25] for text in totals.unstable])
        self.assertEqual("3 passed, 1 failed, 0 skipped", out.getvalue().splitlines()[-1])
        self.assertIn("1 repeated alone: the machine was busy", out.getvalue())


if __name__ == "__main__":
    unittest.main()
