# SPDX-License-Identifier: Apache-2.0
"""stepscope info and stepscope repair: on the golden traces, on cut recordings, on hostile sizes.
tests/e2e/test_record_faults.py has a recording that is killed."""

import json
import os
import resource
import shutil

import pytest


@pytest.fixture(scope="module")
def golden(source_dir):
    return source_dir / "tests" / "golden"


def facts(stepscope, *paths, status=0):
    document = json.loads(stepscope("info", "--format", "json", *paths, status=status).stdout)
    assert document["schema"] == 1
    return document["files"]


def test_json_of_a_good_trace(stepscope, golden):
    (one,) = facts(stepscope, golden / "good" / "small.pftrace")
    assert one["state"] == "complete" and one["sealed"] is True
    assert one["records"] == 60
    assert one["samples"] == sum(1 + i % 5 for i in range(60))
    assert one["attributes"]["cpu_count"] == -4
    assert one["attributes"]["command"] == "semi;colon \0 and \ufffd\ufffd"
    assert one["sources"] == [{"name": "python", "status": "ran", "reason": "why"}]
    assert [p["pid"] for p in one["processes"]] == [1001, 1002]
    assert one["processes"][1]["wait_status"] == 9
    assert sum(t["samples"] for p in one["processes"] for t in p["threads"]) == one["samples"]
    assert one["counts"][0]["due"] == 60 and one["counts"][0]["lost"] == 2
    assert one["duration_s"] == pytest.approx(2.95, abs=0.01)
    assert one["file_bytes"] == (golden / "good" / "small.pftrace").stat().st_size


def test_json_has_entities(stepscope, golden):
    (one,) = facts(stepscope, golden / "good" / "entities.pftrace")
    assert one["hosts"] == [{"id": 1, "name": "node17", "boot_id": "5c1f-boot",
                             "time_namespace": 4026531834}]
    assert one["contexts"] == [{"id": 1, "pid": 1000, "device": 1, "number": 7}]
    assert [(row["device"], row["context"], row["name"], row["default"])
            for row in one["streams"]] == [(1, 1, None, True), (1, 1, "copies", False)]
    assert [(row["kind"], row["name"], row["size"]) for row in one["groups"]] == [
        ("NCCL", None, 64), ("Gloo", "data", 6)]
    assert one["groups"][0]["ranks"] == list(range(64))
    assert one["groups"][1]["ranks"] == [0, 8, 16, 24, 5, 63]
    (process,) = one["processes"]
    assert (process["rank"], process["local_rank"], process["world_size"], process["node"],
            process["role"], process["host"]) == (0, 3, 64, 0, "trains", 1)


def test_text_is_aligned_and_plain(stepscope, golden):
    text = stepscope("info", golden / "good" / "small.pftrace").stdout
    assert "\x1b" not in text and "\0" not in text
    assert "complete: closed, all checksums correct" in text
    lines = text.splitlines()
    head = next(line for line in lines if line.split()[:3] == ["PID", "TID", "SAMPLES"])
    row = lines[lines.index(head) + 1]
    assert row.index(row.split()[1]) + len(row.split()[1]) == head.index("TID") + 3
    assert "SIGKILL" in text


@pytest.mark.parametrize(
    "name, status, message",
    [
        ("empty", 3, "byte 0"),
        ("text", 3, "byte 0"),
        ("foreign", 3, "another program"),
        ("cut-in-first-unit", 3, "ends within a unit"),
        ("inflates-too-far", 3, "beyond the limit"),
        ("future-version", 4, "newer stepscope"),
    ],
)
def test_what_cannot_be_read_is_one_line_and_a_status(stepscope, golden, name, status, message):
    path = golden / "broken" / f"{name}.pftrace"
    done = stepscope("info", path, status=status)
    assert message in done.stderr and str(path) in done.stderr
    assert done.stderr.count("\n") == 1
    assert done.stdout == ""


def test_one_bad_file_does_not_hide_the_others(stepscope, golden):
    good, bad = golden / "good" / "small.pftrace", golden / "broken" / "text.pftrace"
    assert len(facts(stepscope, good, bad, good, status=3)) == 2


@pytest.mark.parametrize(
    "name, state", [("cut", "cut short"), ("flipped", "damaged"), ("missing-unit", "damaged")]
)
def test_damaged_files_are_reported_and_repaired(stepscope, golden, tmp_path, name, state):
    broken, fixed = golden / "broken" / f"{name}.pftrace", tmp_path / "fixed.pftrace"
    before = broken.read_bytes()
    (one,) = facts(stepscope, broken)
    assert one["state"] == state and one["damages"]
    text = stepscope("info", broken).stdout
    assert f"byte {one['damages'][0]['offset']}: {one['damages'][0]['reason']}" in text
    stepscope("info", "--check", broken, status=1)

    done = stepscope("repair", broken, "-o", fixed)
    assert "lost: 1 damaged units" in done.stdout
    (other,) = facts(stepscope, fixed)
    assert other["state"] == "complete"
    assert other["records"] == one["records"] and other["samples"] == one["samples"]
    assert [n["kind"] for n in other["notes"]].count("file-damage") == 1
    stepscope("info", "--check", fixed)
    assert "1 damaged place left out" in stepscope("report", fixed, status=None).stdout
    assert broken.read_bytes() == before


def test_repair_in_place_keeps_the_damaged_file(stepscope, golden, tmp_path):
    trace = tmp_path / "run.pftrace"
    shutil.copy(golden / "broken" / "cut.pftrace", trace)
    before = trace.read_bytes()
    stepscope("repair", "--in-place", trace)
    stepscope("info", "--check", trace)
    assert (tmp_path / "run.pftrace.damaged").read_bytes() == before
    after = trace.read_bytes()
    assert "nothing to repair" in stepscope("repair", "--in-place", trace).stdout
    assert trace.read_bytes() == after
    # A second time with the name taken: refused, and nothing changes.
    shutil.copy(golden / "broken" / "cut.pftrace", trace)
    done = stepscope("repair", "--in-place", trace, status=None)
    assert done.returncode != 0 and "damaged" in done.stderr
    assert trace.read_bytes() == before
    assert sorted(os.listdir(tmp_path)) == ["run.pftrace", "run.pftrace.damaged"]


def test_repair_refuses_its_own_input_and_odd_calls(stepscope, golden, tmp_path):
    trace = tmp_path / "run.pftrace"
    shutil.copy(golden / "broken" / "cut.pftrace", trace)
    (tmp_path / "link.pftrace").symlink_to(trace)
    before = trace.read_bytes()
    stepscope("repair", trace, "-o", trace, status=2)
    stepscope("repair", trace, "-o", tmp_path / "link.pftrace", status=2)
    stepscope("repair", trace, status=2)
    stepscope("repair", trace, "--in-place", "-o", tmp_path / "x", status=2)
    stepscope("repair", golden / "broken" / "text.pftrace", "-o", tmp_path / "x", status=3)
    assert trace.read_bytes() == before
    assert not (tmp_path / "x").exists()


def test_repair_onto_a_full_device_says_so_and_leaves_the_device(stepscope, golden):
    done = stepscope("repair", golden / "broken" / "cut.pftrace", "-o", "/dev/full", status=4)
    assert "No space left" in done.stderr
    assert os.path.exists("/dev/full")


def test_a_huge_sparse_file_takes_little_memory(stepscope, golden, tmp_path):
    huge = tmp_path / "huge.pftrace"
    shutil.copy(golden / "good" / "small.pftrace", huge)
    with open(huge, "r+b") as file:
        file.truncate(10 << 30)
    limit = 200 << 20
    (one,) = facts_with_limit(stepscope, huge, limit)
    assert one["records"] == 60
    assert one["lost_bytes"] == (10 << 30) - one["damages"][0]["offset"]


def test_a_large_trace_of_another_program_is_named_as_such(stepscope, golden, tmp_path):
    packets = b"\x0a\x04\x50\x09\x68\x01" * 1_000_000
    (tmp_path / "foreign.pftrace").write_bytes(packets)
    done = stepscope("info", tmp_path / "foreign.pftrace", status=3)
    assert "packets of another program" in done.stderr
    both = tmp_path / "both.pftrace"
    both.write_bytes(packets + (golden / "good" / "small.pftrace").read_bytes() + packets)
    (one,) = facts(stepscope, both)
    assert one["state"] != "damaged" and one["records"] == 60 and one["lost_bytes"] == 0


def facts_with_limit(stepscope, path, limit):
    done = stepscope("info", "--format", "json", path, timeout=60,
                     preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)))
    return json.loads(done.stdout)["files"]
