# SPDX-License-Identifier: Apache-2.0
"""Each exit status of docs/exit-codes.md, by the shortest command that ends with it. 5, a bug of stepscope,
cannot be provoked: test_command.c shows that each kind of failure ends with its status."""

import re

import pytest

GOOD, BROKEN = "tests/golden/good/small.pftrace", "tests/golden/broken"
COMPLETE, SLOWER = "tests/recordings/recorded/diff_usual.pftrace", "tests/recordings/recorded/diff_slowed.pftrace"

# Status: (arguments, what stderr says).
CASES = {
    0: [(("report", GOOD), ""),
        (("info", "--check", COMPLETE), ""),
        (("diff", "--threshold", "1000", COMPLETE, SLOWER), "")],
    1: [(("info", "--check", f"{BROKEN}/no-trailer.pftrace"), ""),
        (("diff", "--threshold", "1", COMPLETE, SLOWER), "slower")],
    2: [(("report", "--no-such-option", GOOD), 'unknown option --no-such-option\nTry "stepscope report --help"'),
        (("no-such-command",), "no-such-command"),
        (("export", "--to", "no-such-format", GOOD), "no-such-format"),
        (("diff", GOOD), "")],
    3: [(("report", f"{BROKEN}/text.pftrace"), "text.pftrace"),
        (("report", f"{BROKEN}/cut.pftrace"), "cut.pftrace"),
        (("report", f"{BROKEN}/flipped.pftrace"), "flipped.pftrace"),
        (("report", f"{BROKEN}/inflates-too-far.pftrace"), "inflates-too-far.pftrace"),
        (("export", "--to", "roofline", "-o", "-", GOOD), "no roofline to draw")],
    4: [(("report", "no-such-file.pftrace"), "no-such-file.pftrace"),
        (("export", "--to", "raw", "-o", "no-such-folder/out.raw", GOOD), "no-such-folder")],
}


@pytest.mark.parametrize("status, arguments, said", [
    pytest.param(status, arguments, said, id=f"{status}-{' '.join(arguments[:2])}-{number}")
    for status, cases in CASES.items() for number, (arguments, said) in enumerate(cases)])
def test_a_command_ends_with_its_status(stepscope, source_dir, status, arguments, said):
    done = stepscope(*arguments, status=status, cwd=source_dir)
    assert said in done.stderr
    # One line for each cause, and nothing where all is well.
    lines = done.stderr.splitlines()
    assert len(lines) <= (0 if status == 0 else 4) and all(line.startswith(("stepscope", "Try ")) for line in lines)


def test_every_status_has_its_case(source_dir):
    page = (source_dir / "docs/exit-codes.md").read_text()
    assert {int(row) for row in re.findall(r"^\| (\d+) \|", page, re.M)} == {*CASES, 5}
