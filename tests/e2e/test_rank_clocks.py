# SPDX-License-Identifier: Apache-2.0
"""Recorders of machines whose clocks differ ping each other: two time namespaces, 5,000 s apart, each with a
boot id of its own. Their wall clock is one, so that the truth is known. Machines that their collectives align:
tests/recorded/test_machine_clocks.py."""

import json
import os
import subprocess
import sys

import pytest
from conftest import free_port
from interpreters import WORKLOADS
from target import HOLD, until

sys.path.insert(0, str(WORKLOADS))
from two_machines import AHEAD_S, on_machine, unshare  # noqa: E402

sys.path.remove(str(WORKLOADS))
SECRET = "0123456789abcdef0123456789abcdef"


def check_namespaces():
    if os.geteuid() != 0:
        pytest.skip("needs root: time namespaces")
    probe = subprocess.run(unshare(1, "true"), capture_output=True, text=True, check=False)
    if probe.returncode != 0:
        pytest.skip(f"no time namespaces here: {probe.stderr.strip()}")


def start(stepscope, python, folder, node, secret, address):
    """Starts a recorder on that machine, with a program that waits for a line. Returns it when it is ready: its
    recorder answers pings by then."""
    command = [stepscope, "record", "-q", "--clock-sync", address, "-o", folder / "run" / f"node{node}.pftrace", "--",
               python, "-S", "-c", HOLD]
    one = subprocess.Popen(on_machine(node, folder, command), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                           stderr=subprocess.PIPE, text=True, env={**os.environ, "STEPSCOPE_RUN_SECRET": secret})
    if one.stdout.readline() != "ready\n":
        _, errors = one.communicate(timeout=60)
        if one.returncode == 77:
            pytest.skip("cannot mount over the boot id")
        pytest.fail(errors)
    return one


def run_pings(stepscope, python, folder, secrets, addresses=None):
    """The clock of the second machine, whose recorder asks the first's as it starts and as it ends."""
    (folder / "run").mkdir(exist_ok=True)
    port = free_port()
    addresses = addresses or [f":{port}", f"127.0.0.1:{port}"]
    first, second = (start(stepscope, python, folder, node, secrets[node], addresses[node]) for node in (0, 1))
    for one in second, first:
        _, errors = one.communicate("\n", timeout=60)
        assert one.returncode == 0, errors
    files = json.loads(stepscope("info", folder / "run", "--format", "json").stdout)["files"]
    return files[0]["inputs"][1]["clock"]


def test_pings_align_machines_without_collectives(stepscope, python, tmp_path):
    check_namespaces()
    clock = run_pings(stepscope, python, tmp_path, [SECRET, SECRET])
    assert clock["mapping"] == "by pings" and clock["bounds"] >= 8
    assert abs(clock["offset_ns"] + AHEAD_S * 10**9) <= clock["error_ns"] < 5e6
    text = stepscope("info", tmp_path / "run" / "node1.pftrace").stdout
    assert "pings recorded" in text


def test_recorders_of_a_folder_find_each_other(stepscope, python, tmp_path):
    check_namespaces()
    clock = run_pings(stepscope, python, tmp_path, ["", ""], ["auto", "auto"])
    assert clock["mapping"] == "by pings" and clock["bounds"] >= 8
    assert abs(clock["offset_ns"] + AHEAD_S * 10**9) <= clock["error_ns"] < 5e6
    assert sorted(one.name for one in (tmp_path / "run").iterdir()) == ["node0.pftrace", "node1.pftrace"]


def reason_of(stepscope, path):
    sources = json.loads(stepscope("info", path, "--format", "json").stdout)["files"][0]["sources"]
    return next(one for one in sources if one["name"] == "clock-sync")["reason"]


def test_one_recorder_of_a_machine_answers_and_a_killed_one_is_replaced(stepscope, python, tmp_path):
    short = [python, "-S", "-c", "pass"]
    rendezvous = tmp_path / ".clock-sync"
    first = subprocess.Popen([stepscope.path, "record", "-q", "--clock-sync", "auto", "-o",
                              tmp_path / "a.pftrace", "--", python, "-S", "-c", "input()"],
                             stdin=subprocess.PIPE)
    until(rendezvous.exists, "a rendezvous file")
    assert rendezvous.stat().st_mode & 0o777 == 0o600
    stepscope("record", "-q", "--clock-sync", "auto", "-o", tmp_path / "b.pftrace", "--", *short)
    assert reason_of(stepscope, tmp_path / "b.pftrace") == "auto: another recorder of this machine does it"
    text = rendezvous.read_text()
    first.communicate(b"\n", timeout=60)
    assert not rendezvous.exists()
    fields = text.split("\n")
    fields[1] = fields[1].rsplit(" ", 1)[0] + " 999999999"  # a process that is no more
    rendezvous.touch(mode=0o600)
    rendezvous.write_text("\n".join(fields))
    stepscope("record", "-q", "--clock-sync", "auto", "-o", tmp_path / "c.pftrace", "--", *short)
    assert reason_of(stepscope, tmp_path / "c.pftrace") == "answered 0 pings"


@pytest.mark.parametrize("text,mode,words", [
    ("nonsense", 0o600, "it is not what a recorder wrote: remove it"),
    ("", 0o600, "it cannot be read: remove it"),
    ("stepscope clock-sync 1\nb 7 1\n80 s\n127.0.0.1\n", 0o644, "not a private file of this user"),
    ("stepscope clock-sync 1\nb 7 1\n99999 s\n127.0.0.1\n", 0o600, "not what a recorder wrote"),
    ("stepscope clock-sync 1\nb 7 1\n80 " + "a" * 4000, 0o600, "not what a recorder wrote")])
def test_a_hostile_rendezvous_file_is_refused(stepscope, python, tmp_path, text, mode, words):
    rendezvous, out = tmp_path / ".clock-sync", tmp_path / "t.pftrace"
    rendezvous.write_text(text)
    rendezvous.chmod(mode)
    stepscope("record", "-q", "--clock-sync", "auto", "-o", out, "--", python, "-S", "-c", "pass")
    assert words in reason_of(stepscope, out)


def test_pings_with_another_secret_are_refused(stepscope, python, tmp_path):
    check_namespaces()
    clock = run_pings(stepscope, python, tmp_path, [SECRET, SECRET[::-1]])
    assert clock["mapping"] == "by the wall clock, whose error is unknown"
    text = stepscope("info", tmp_path / "run" / "node1.pftrace").stdout
    assert "no answer with the same secret" in text
