# SPDX-License-Identifier: Apache-2.0
"""Recordings of earlier versions stay readable: tests/golden/VERSION/ has recordings, and each table as
the program of that version printed it, but for medians of an even number of values: it printed the
lower of the two in the middle."""

import json
import pathlib

import pytest

GOLDEN = pathlib.Path(__file__).resolve().parents[1] / "golden"
TABLES = sorted(GOLDEN.glob("[0-9]*/*.csv"))


def recording_of(table):
    """training-step.csv is table "step" of training.pftrace, windows-step.csv of the folder windows."""
    name, kind = table.stem.split("-", 1)
    folder = table.parent / name
    return (folder if folder.is_dir() else folder.with_suffix(".pftrace")), kind


@pytest.mark.parametrize("table", TABLES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_tables_are_as_that_version_printed_them(stepscope, table):
    recording, kind = recording_of(table)
    done = stepscope("report", "--by", kind, "-f", "csv", "--num-rows", "all", recording,
                     status=None)
    assert done.stdout == table.read_text()


@pytest.mark.parametrize("recording", sorted(GOLDEN.glob("[0-9]*/*.pftrace")), ids=lambda p: p.stem)
def test_they_are_whole(stepscope, recording, tmp_path):
    one = json.loads(stepscope("info", "--format", "json", recording).stdout)["files"][0]
    assert one["attributes"]["stepscope_version"] == recording.parent.name
    assert {"python", "annotations", "host"} <= {source["name"] for source in one["sources"]}
    out = tmp_path / "all.json"
    stepscope("export", recording, "-o", out)
    names = {event.get("name") for event in json.loads(out.read_text())["traceEvents"]}
    assert {"forward", "backward", "optimizer"} <= names
    repaired = tmp_path / "repaired.pftrace"
    stepscope("repair", recording, "-o", repaired)
    assert repaired.read_bytes() == recording.read_bytes()


def test_there_are_such_recordings():
    assert len(TABLES) >= 11
