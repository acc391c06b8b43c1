# SPDX-License-Identifier: Apache-2.0
"""The runner behind `make check` counts what really happened. The programs that it runs are files here:
what they would have written."""

import json
import pathlib
import shutil
import sys
import tempfile
import unittest
from xml.sax.saxutils import escape

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from runner import repeats, results, suites, totals # noqa: E402
from runner.results import FAILED, PASSED, SKIPPED, UNSTABLE, Case # noqa: E402

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
BUSY = "the machine is busy: others have the cores"


def program(status, output, name="unit_x"):
    return f'<testcase name="{name}" status="{status}"><system-out>{escape(output)}</system-out></testcase>'


def element(name, inner="", classname="e2e.test_a", file="e2e/test_a.py"):
    return f'<testcase classname="{classname}" name="{name}" file="{file}">{inner}</testcase>'


def skip(reason, kind="pytest.skip"):
    return f'<skipped type="{kind}" message="{reason}">a.py:1: {reason}</skipped>'


FAILURE = '<failure message="assert 1 == 2">def test():\nE assert 1 == 2</failure>'


class Fabricated:
    """In the place of a program: each call writes the next of the results, and keeps the command."""

    def __init__(self, *files):
        self.files, self.commands, self.environments = list(files), [], []

    def __call__(self, command, log, environment, folder):
        self.commands.append([str(word) for word in command])
        self.environments.append(environment)
        text = self.files.pop(0)
        if text is not None:
            log.with_suffix(".xml").write_text(f"<testsuites>{text}</testsuites>", encoding="utf-8")
        return "what it printed"


class Files(unittest.TestCase):
    """A folder for results, and suites whose programs are fabricated."""

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="a b ü"))
        self.addCleanup(shutil.rmtree, self.folder)
        tests = self.folder / "tests" / "e2e"
        tests.mkdir(parents=True)
        (tests / "test_a.py").touch()

    def ctest(self, *files):
        self.execute = Fabricated(*files)
        return suites.Ctest("unit", self.folder, self.folder, self.folder / "build", 2, self.execute)

    def pytest(self, *files, **choice):
        self.execute = Fabricated(*files)
        return suites.Pytest("e2e", self.folder, self.folder, "python", self.folder / "build",
                             execute=self.execute, **choice)

    def outcomes(self, suite):
        cases = suite.run()
        repeats.repeat(suite, cases)
        return {case.name: case.outcome for case in cases}


class Programs(Files):
    def test_each_test_of_a_program_counts(self):
        good, elsewhere, bad = self.ctest(program("fail", CMOCKA)).run()
        self.assertEqual(Case("unit_x: test_good", PASSED, "", "unit_x"), good)
        self.assertEqual(Case("unit_x: test_elsewhere", SKIPPED, "needs root", "unit_x"), elsewhere)
        self.assertEqual(("unit_x: test_bad", FAILED), (bad.name, bad.outcome))
        self.assertIn("1 != 2", bad.text)

    def test_a_crash_after_passed_tests_fails(self):
        cases = self.ctest(program("fail", "[ RUN      ] test_a\n[       OK ] test_a\n")).run()
        self.assertEqual([PASSED, FAILED], [case.outcome for case in cases])

    def test_a_program_without_cmocka_counts_once(self):
        replayed = "12 inputs replayed\n"
        self.assertEqual({"unit_x": PASSED}, self.outcomes(self.ctest(program("run", replayed))))
        failed = program("fail", replayed)
        self.assertEqual({"unit_x": FAILED}, self.outcomes(self.ctest(failed, failed)))
        self.assertEqual({"unit_x": SKIPPED}, self.outcomes(self.ctest(program("notrun", "no such file"))))

    def test_a_failed_program_is_repeated_alone(self):
        good, bad = program("run", CMOCKA.replace("FAILED", "OK")), program("fail", CMOCKA)
        self.assertEqual(UNSTABLE, self.outcomes(self.ctest(bad, good, good, good))["unit_x: test_bad"])
        self.assertEqual(4, len(self.execute.commands))
        self.assertIn("^(unit_x)$", self.execute.commands[-1])
        self.assertEqual(FAILED, self.outcomes(self.ctest(bad, good, bad))["unit_x: test_bad"])

    def test_a_crash_that_does_not_come_again_is_unstable(self):
        begun = program("fail", "[ RUN      ] test_a\n")
        good = program("run", "[ RUN      ] test_a\n[       OK ] test_a\n")
        self.assertEqual({"unit_x": UNSTABLE}, self.outcomes(self.ctest(begun, good, good, good)))
        self.assertEqual({"unit_x": FAILED}, self.outcomes(self.ctest(begun, good, begun)))

    def test_no_results_are_a_failure(self):
        for text in (None, "<cut"):
            case, = self.ctest(text).run()
            self.assertEqual(FAILED, case.outcome)
            self.assertIn("what it printed", case.text)

    def test_each_fuzz_target_counts(self):
        def read(output, status):
            return [(case.name, case.outcome, case.text) for case in results.read_fuzz(output, status)]

        clean = "fuzz raw: clean after 5 s, 12 inputs\n"
        failed = "#1 INITED\nfuzz walk: FAILED, the input is in found/\n"
        self.assertEqual([("raw", PASSED, "after 5 s, 12 inputs")], read(clean, 0))
        self.assertEqual(("walk", FAILED, "the input is in found/"), read(clean + failed, 1)[1])
        self.assertEqual([("tools/fuzz", FAILED, "exit status 4: the build failed")],
                         read("the build failed\n", 4))
        self.assertEqual(2, len(read(clean, 1)))
        self.assertEqual([FAILED], [one[1] for one in read("", 0)])


class Pytest(Files):
    def test_the_name_is_what_pytest_finds_it_by(self):
        suite = self.pytest(element("test_a[x y]") + element("test_b", classname="e2e.test_a.Deep.Inner"))
        self.assertEqual(["e2e/test_a.py::test_a[x y]", "e2e/test_a.py::Deep::Inner::test_b"],
                         list(self.outcomes(suite)))

    def test_each_outcome(self):
        cases = {case.name.split("::")[1]: case for case in self.pytest(
            element("test_a") + element("test_b", FAILURE) + element("test_c", skip("no GPU")) +
            element("test_d", skip("", "pytest.xfail")) + element("test_e", "<error>E OSError</error>") +
            element("test_f") + element("test_f", "<error>E late</error>")).run()}
        self.assertEqual([PASSED, FAILED, SKIPPED, SKIPPED, FAILED, FAILED],
                         [case.outcome for case in cases.values()])
        self.assertIn("E assert 1 == 2", cases["test_b"].text)
        self.assertEqual("no GPU", cases["test_c"].text)
        self.assertEqual("expected to fail", cases["test_d"].text)
        self.assertEqual("E late", cases["test_f"].text)

    def test_a_failure_that_does_not_come_again_is_unstable(self):
        both = element("test_a", FAILURE) + element("test_b", FAILURE) + element("test_c")
        good = element("test_a") + element("test_b", FAILURE)
        suite = self.pytest(both, good, element("test_a"), element("test_a"), options=["--x"], workers=["-n", "4"])
        self.assertEqual({"e2e/test_a.py::test_a": UNSTABLE, "e2e/test_a.py::test_b": FAILED,
                          "e2e/test_a.py::test_c": PASSED}, self.outcomes(suite))
        again = self.execute.commands[-1]
        self.assertEqual([f"{self.folder}/tests/e2e/test_a.py::test_a"], again[-1:])
        self.assertIn("--x", again)
        self.assertIn("-n", self.execute.commands[0])
        self.assertNotIn("-n", again)
        self.assertEqual({"STEPSCOPE", "STEPSCOPE_BUILD_DIR"}, set(self.execute.environments[-1]))

    def test_what_skips_or_is_not_found_when_repeated_stays_a_failure(self):
        bad = element("test_a", FAILURE)
        for again in (element("test_a", skip("no GPU")), "", None):
            self.assertEqual([FAILED], list(self.outcomes(self.pytest(bad, again)).values()))

    def test_many_failures_are_not_repeated(self):
        many = "".join(element(f"test_{number}", FAILURE) for number in range(repeats.MOST_REPEATED + 1))
        self.assertEqual({FAILED}, set(self.outcomes(self.pytest(many)).values()))

    def test_a_busy_machine_is_named_and_repeated_once(self):
        busy = element("test_a", skip(BUSY)) + element("test_b", skip("no GPU"))
        for again, outcome in ((element("test_a"), UNSTABLE), (element("test_a", FAILURE), FAILED),
                               (element("test_a", skip(BUSY)), SKIPPED)):
            suite = self.pytest(busy, again)
            self.assertEqual([outcome, SKIPPED], list(self.outcomes(suite).values()))
            self.assertEqual(2, len(self.execute.commands))

    def test_a_folder_without_tests_is_no_suite(self):
        self.assertEqual([], self.pytest(folder="recorded").run())


class History(Files):
    def run_of(self, suite, **outcomes):
        """A run of one suite: the cases as it leaves them, and what the file says."""
        history = repeats.History(self.folder / "history.json")
        cases = [Case(name, outcome, f"{name} printed this") for name, outcome in outcomes.items()]
        history.add("2030-01-01 10:00", "abc", {suite: cases})
        history.save()
        return {case.name: case.outcome for case in cases}

    def test_twice_in_a_row_is_a_failure(self):
        self.assertEqual({"a": UNSTABLE, "b": PASSED}, self.run_of("e2e", a=UNSTABLE, b=PASSED))
        self.assertEqual({"a": FAILED, "b": UNSTABLE}, self.run_of("e2e", a=UNSTABLE, b=UNSTABLE))
        self.assertEqual({"a": FAILED}, self.run_of("e2e", a=UNSTABLE))
        self.assertEqual({"a": PASSED, "b": PASSED}, self.run_of("e2e", a=PASSED, b=PASSED))
        self.assertEqual({"a": UNSTABLE, "b": UNSTABLE}, self.run_of("e2e", a=UNSTABLE, b=UNSTABLE))

    def test_runs_of_other_suites_do_not_come_between(self):
        self.run_of("e2e", a=UNSTABLE)
        self.assertEqual({"a": UNSTABLE}, self.run_of("unit", a=UNSTABLE))
        self.assertEqual({"a": FAILED}, self.run_of("e2e", a=UNSTABLE))

    def test_the_file_names_what_was_unstable(self):
        self.run_of("e2e", a=UNSTABLE, b=FAILED)
        run, = json.loads((self.folder / "history.json").read_text())["runs"]
        self.assertEqual({"when": "2030-01-01 10:00", "revision": "abc", "suites": ["e2e"], "unstable": [
            {"suite": "e2e", "name": "a", "output": ["a printed this"]}]}, run)

    def test_a_file_cut_short_is_none(self):
        self.run_of("e2e", a=UNSTABLE)
        path = self.folder / "history.json"
        for text in (path.read_text()[:20], "[]", '{"runs": 3}', ""):
            path.write_text(text)
            self.assertEqual({"a": UNSTABLE}, self.run_of("e2e", a=UNSTABLE), text)

    def test_old_runs_are_dropped(self):
        for _ in range(repeats.MOST_RUNS + 5):
            self.run_of("e2e", a=PASSED)
        self.assertEqual(repeats.MOST_RUNS, len(repeats.History(self.folder / "history.json").runs))


class Totals(unittest.TestCase):
    SUITES = {"unit": [Case("a", PASSED), Case("b", SKIPPED, "no GPU"), Case("c", SKIPPED, "no GPU")],
              "e2e": [Case("d", PASSED), Case("e", FAILED, "E one\nE two"), Case("f", SKIPPED, "no root"),
                      Case("g", UNSTABLE, "E three"), Case("h", SKIPPED, "no GPU"),
                      Case("i", SKIPPED, "no GPU")]}

    def test_the_last_lines_sum_up(self):
        lines = list(totals.report(self.SUITES))
        self.assertEqual(["2 passed, 1 failed, 5 skipped, 1 unstable", "2 passed, 1 failed, 5 skipped"],
                         lines[-2:])

    def test_each_reason_of_a_skip_comes_once_with_its_number(self):
        self.assertEqual(["     4  no GPU: unit b, unit c, e2e h, …", "     1  no root: e2e f"],
                         list(totals.skip_lines(self.SUITES)))

    def test_unstable_and_failed_tests_come_with_their_output(self):
        text = "\n".join(totals.report(self.SUITES))
        self.assertIn("failed:\n  e2e: e\n    | E one\n    | E two\n", text)
        self.assertRegex(text, r"unstable: .*\n  e2e: g\n    \| E three\n")
        long = {"e2e": [Case("e", FAILED, "\n".join(map(str, range(1000))))]}
        self.assertEqual(totals.MOST_LINES + 1, len(list(totals.output_lines(long, FAILED))))

    def test_a_run_without_trouble_prints_the_counts_alone(self):
        self.assertEqual(["", "1 passed, 0 failed, 0 skipped, 0 unstable", "1 passed, 0 failed, 0 skipped"],
                         list(totals.report({"unit": [Case("a", PASSED)]})))

    def test_the_line_of_a_suite(self):
        line = totals.suite_line("e2e", self.SUITES["e2e"], 61.25)
        self.assertEqual("e2e 1 passed 1 failed 3 skipped 1 unstable 61.2 s", " ".join(line.split()))
        self.assertNotIn("unstable", totals.suite_line("unit", self.SUITES["unit"], 1))


if __name__ == "__main__":
    unittest.main()
