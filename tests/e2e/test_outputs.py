# SPDX-License-Identifier: Apache-2.0
"""-o of the reading commands: never the input itself, and - is the terminal's place."""

import os

import pytest

RAW = "main (train.py:3);load (data.py:9) 40\nmain (train.py:4);step (train.py:8) 60\n"


@pytest.fixture
def raw(tmp_path):
    path = tmp_path / "in.txt"
    path.write_text(RAW)
    return path


@pytest.mark.parametrize("command", [["report"], ["report", "--format", "json"], ["flame"],
                                     ["export", "--to", "raw"], ["export", "--to", "speedscope"]])
def test_the_input_is_not_overwritten(stepscope, raw, tmp_path, command):
    os.link(raw, tmp_path / "same")
    (tmp_path / "link").symlink_to("in.txt")
    for output in ("in.txt", "same", "link"):
        done = stepscope(*command, raw, "-o", tmp_path / output, status=2)
        assert "another output" in done.stderr
    assert raw.read_text() == RAW
    assert sorted(p.name for p in tmp_path.iterdir()) == ["in.txt", "link", "same"]


def test_a_file_of_the_folder_and_the_baseline_are_inputs_too(stepscope, raw, tmp_path):
    other = tmp_path / "base.txt"
    other.write_text(RAW)
    stepscope("export", tmp_path, "--to", "raw", "-o", other, status=2)
    stepscope("flame", raw, "--diff", other, "-o", other, status=2)
    assert other.read_text() == RAW


@pytest.mark.parametrize("name", ["-", "/dev/stdout", "/dev/fd/1"])
@pytest.mark.parametrize("command,expected", [(["report"], "step"), (["flame"], "</svg>"),
                                              (["export", "--to", "raw"], "main (train.py:4)")])
def test_stdout_by_its_names(stepscope, raw, tmp_path, name, command, expected):
    done = stepscope(*command, raw, "-o", name, cwd=tmp_path)
    assert expected in done.stdout
    assert [p.name for p in tmp_path.iterdir()] == ["in.txt"]

