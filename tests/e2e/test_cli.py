# SPDX-License-Identifier: Apache-2.0
"""What holds for the command line as a whole."""

import re


def test_start_page_is_short_and_names_the_first_commands(stepscope):
    lines = stepscope().stdout.splitlines()
    assert len(lines) == 5
    assert any("stepscope record" in line for line in lines)


def test_version_is_one_line(stepscope):
    assert re.fullmatch(r"stepscope \d+\.\d+\.\d+\n", stepscope("--version").stdout)


def test_help_lists_every_command_and_each_has_help(stepscope):
    overview = stepscope("--help").stdout
    names = re.findall(r"^  ([a-z]+) +\S", overview.split("Commands")[1], re.M)
    assert "help" in names
    for name in names:
        assert stepscope(name, "--help").stdout.startswith(f"stepscope {name} ")
        assert stepscope("help", name).stdout == stepscope(name, "--help").stdout


def test_unknown_command_is_wrong_usage_on_stderr(stepscope):
    done = stepscope("nonsense", status=2)
    assert done.stdout == ""
    assert '"nonsense"' in done.stderr


def test_unknown_option_names_it_and_points_to_help(stepscope):
    done = stepscope("help", "--bogus", status=2)
    assert "--bogus" in done.stderr
    assert "stepscope help --help" in done.stderr
