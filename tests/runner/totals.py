# SPDX-License-Identifier: Apache-2.0
"""What is printed: a line for each suite, and at the end what was skipped, unstable and failed."""

from runner.results import FAILED, PASSED, SKIPPED, UNSTABLE, counts

# Of the output of one test; all of it is in the suite's log.
MOST_LINES = 60
MOST_NAMES = 3


def suite_line(suite, cases, seconds):
    count = counts(cases)
    return (f"{suite:<12}" + "".join(f"{count[outcome]:>6} {outcome}" for outcome in count
                                     if outcome != UNSTABLE or count[outcome]) + f"{seconds:>8.1f} s")


def skip_lines(suites):
    """One line for each reason, the most frequent first."""
    names = {}
    for suite, cases in suites.items():
        for case in cases:
            if case.outcome == SKIPPED:
                names.setdefault(case.text, []).append(f"{suite} {case.name}")
    for reason, some in sorted(names.items(), key=lambda one: (-len(one[1]), one[0])):
        more = ", …" if len(some) > MOST_NAMES else ""
        yield f"{len(some):>6}  {reason}: {', '.join(some[:MOST_NAMES])}{more}"


def output_lines(suites, outcome):
    """Each test with the end of its output."""
    for suite, cases in suites.items():
        for case in cases:
            if case.outcome == outcome:
                yield f"  {suite}: {case.name}"
                yield from (f"    | {line}" for line in case.text.splitlines()[-MOST_LINES:])


def closing_lines(suites):
    """The last lines. The very last one has the three counts that every program of this kind prints."""
    count = counts([case for cases in suites.values() for case in cases])
    plain = ", ".join(f"{count[outcome]} {outcome}" for outcome in (PASSED, FAILED, SKIPPED))
    return [f"{plain}, {count[UNSTABLE]} {UNSTABLE}", plain]


def report(suites):
    """All lines at the end of a run, of {suite: cases}."""
    parts = [("skipped, by reason:", skip_lines(suites)),
             ("unstable: they failed, or found the machine busy, and then passed alone:",
              output_lines(suites, UNSTABLE)),
             ("failed:", output_lines(suites, FAILED))]
    for title, lines in parts:
        lines = list(lines)
        if lines:
            yield from ("", title, *lines)
    yield from ("", *closing_lines(suites))
