# SPDX-License-Identifier: Apache-2.0
"""What the programs that run tests wrote, as cases: pytest, ctest over cmocka, tools/fuzz."""

import dataclasses
import re
import xml.etree.ElementTree as ElementTree

PASSED, FAILED, SKIPPED, UNSTABLE = "passed", "failed", "skipped", "unstable"


@dataclasses.dataclass
class Case:
    name: str       # unique in its suite
    outcome: str
    text: str = ""  # the reason of a skip, the output of a failure
    target: str = ""  # what its suite needs to run it again


def counts(cases):
    """{outcome: number}"""
    return {outcome: sum(case.outcome == outcome for case in cases)
            for outcome in (PASSED, FAILED, SKIPPED, UNSTABLE)}


def last_line(text):
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else ""


# What cmocka prints: one line per test, and for a skip whatever the test printed before it.
CMOCKA = re.compile(r"^\[\s*(OK|FAILED|SKIPPED)\s*\] (\w+)$")
OUTCOMES = {"OK": PASSED, "FAILED": FAILED, "SKIPPED": SKIPPED}


def cmocka_cases(program, output):
    """The tests of one program."""
    cases, running, lines = [], None, []
    for line in output.splitlines():
        found = CMOCKA.match(line)
        if line.startswith("[ RUN "):
            running, lines = line.split("]", 1)[1].strip(), []
        elif running is not None and found:
            outcome = OUTCOMES[found.group(1)]
            text = {PASSED: "", FAILED: "\n".join(lines),
                    SKIPPED: last_line("\n".join(lines)) or "no reason given"}[outcome]
            cases.append(Case(f"{program}: {running}", outcome, text, program))
            running = None
        elif running is not None:
            lines.append(line)
    return cases


def program_cases(element):
    """The tests of one program that ctest ran; without lines of cmocka it counts as one."""
    name = element.get("name")
    output = element.findtext("system-out") or ""
    if element.get("status") in ("notrun", "disabled"):
        return [Case(name, SKIPPED, last_line(output) or "not run", name)]
    cases = cmocka_cases(name, output)
    has_failed = any(case.outcome == FAILED for case in cases)
    if element.get("status") == "fail" and not has_failed:
        cases.append(Case(name, FAILED, f"{output}\nexit status or signal, or out of time", name))
    return cases or [Case(name, PASSED, "", name)]


def read_ctest(path):
    return [case for element in ElementTree.parse(path).getroot().iter("testcase")
            for case in program_cases(element)]


def node_of(element):
    """pytest's own name of the test, from the root of its configuration: file::Class::test."""
    file, name = element.get("file"), element.get("name")
    if file is None: # a file that could not be imported
        return element.get("classname") or name
    module = file.removesuffix(".py").replace("/", ".")
    inner = (element.get("classname") or "").removeprefix(module).replace(".", "::")
    return f"{file}{inner}::{name}"


def pytest_case(element):
    node = node_of(element)
    trouble = [one for kind in ("failure", "error") for one in element.findall(kind)]
    skipped = element.find("skipped")
    if trouble:
        return Case(node, FAILED, "\n".join(one.text or one.get("message") or "" for one in trouble), node)
    if skipped is not None:
        is_expected = skipped.get("type") == "pytest.xfail"
        reason = "expected to fail" if is_expected else "no reason given"
        return Case(node, SKIPPED, skipped.get("message") or reason, node)
    return Case(node, PASSED, "", node)


def read_pytest(path):
    """The tests of one run; one that fails and whose fixture fails afterwards has two elements."""
    cases = {}
    for element in ElementTree.parse(path).getroot().iter("testcase"):
        case = pytest_case(element)
        before = cases.setdefault(case.name, case)
        if before is not case and case.outcome == FAILED:
            before.text += ("\n" if before.outcome == FAILED else "") + case.text
            before.outcome = FAILED
    return list(cases.values())


# What tools/fuzz prints for each target.
FUZZ = re.compile(r"^fuzz (\w+): (clean|FAILED)(.*)$", re.M)


def read_fuzz(output, status):
    """The targets of tools/fuzz, which fails in other ways too."""
    cases = [Case(name, PASSED if outcome == "clean" else FAILED, rest.strip(" ,"), name)
             for name, outcome, rest in FUZZ.findall(output)]
    if status != 0 and not any(case.outcome == FAILED for case in cases) or not cases:
        cases.append(Case("tools/fuzz", FAILED, f"exit status {status}: {last_line(output)}"))
    return cases
