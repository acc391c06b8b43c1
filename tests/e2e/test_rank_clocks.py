# SPDX-License-Identifier: Apache-2.0
"""Recordings of machines whose clocks differ: two time namespaces, 5,000 s apart, each with a boot id
of its own, run one training. Their wall clock is one, so that the truth is known."""

import json
import os
import shlex
import subprocess
import sys
import time

import pytest
from conftest import free_port
from interpreters import WORKLOADS

AHEAD_S = 5000
BOOT = "{:08}-0000-4000-8000-000000000000"
SECRET = "0123456789abcdef0123456789abcdef"
MACHINE = """echo {boot} > {folder}/boot{node}
mount --bind {folder}/boot{node} /proc/sys/kernel/random/boot_id || exit 77
exec {stepscope} record -q -o {folder}/run/node{node}.pftrace -- {python} -m torch.distributed.run \
  --nnodes 2 --nproc-per-node 2 --node-rank {node} --master-addr 127.0.0.1 --master-port {port} \
  {workload} --steps 30
"""


PING = """echo {boot} > {folder}/boot{node}
mount --bind {folder}/boot{node} /proc/sys/kernel/random/boot_id || exit 77
exec {stepscope} record -q --clock-sync {address} -o {folder}/run/node{node}.pftrace -- \
  {python} -S -c 'import time
end = time.monotonic() + {seconds}
while time.monotonic() < end: sum(range(1000))'
"""


def unshare(ahead_s, script):
    return ["unshare", "--mount", "--pid", "--mount-proc", "--time", "--fork", "--kill-child",
            "--monotonic", str(ahead_s), "--boottime", str(ahead_s), "sh", "-c", script]


def check_namespaces():
    if os.geteuid() != 0:
        pytest.skip("needs root: time namespaces")
    probe = subprocess.run(unshare(1, "true"), capture_output=True, text=True, check=False)
    if probe.returncode != 0:
        pytest.skip(f"no time namespaces here: {probe.stderr.strip()}")


def run_both(scripts, env=None):
    started = [subprocess.Popen(unshare(node * AHEAD_S, script), stdout=subprocess.DEVNULL,
                                stderr=subprocess.PIPE, env={**os.environ, **(env or {})})
               for node, script in enumerate(scripts)]
    for one in started:
        _, errors = one.communicate(timeout=300)
        if one.returncode == 77:
            pytest.skip("cannot mount over the boot id")
        assert one.returncode == 0, errors


@pytest.fixture(scope="module")
def machines(stepscope, tmp_path_factory):
    pytest.importorskip("torch", reason="PyTorch is not installed")
    check_namespaces()
    folder = tmp_path_factory.mktemp("machines")
    (folder / "run").mkdir()
    port = free_port()
    run_both([MACHINE.format(boot=BOOT.format(node + 1), folder=folder, node=node, port=port,
                             stepscope=shlex.quote(str(stepscope)), python=shlex.quote(sys.executable),
                             workload=shlex.quote(str(WORKLOADS / "torch_slow_rank.py"))) for node in (0, 1)])
    return folder / "run"


def test_collectives_align_machines_within_the_stated_bound(stepscope, machines):
    files = json.loads(stepscope("info", machines, "--format", "json").stdout)["files"]
    first, second = (one["clock"] for one in files[0]["inputs"])
    assert (first["mapping"], second["mapping"]) == ("the common axis", "by collectives")
    assert second["bounds"] > 50 and second["is_aligned"]
    assert abs(second["offset_ns"] + AHEAD_S * 10**9) <= second["error_ns"]
    assert second["error_ns"] < 20e6
    text = stepscope("info", machines).stdout
    assert "by collectives: offset -5000." in text or "by collectives: offset -4999." in text


def test_the_slow_rank_is_found_over_machines(stepscope, machines):
    done = stepscope("report", machines, "--by", "rank", "--format", "json")
    assert "the collectives of their ranks align them, within" in done.stderr
    rows = {row["rank"]: row for row in json.loads(done.stdout)["tables"][0]["rows"]}
    assert sorted(rows) == [0, 1, 2, 3]
    assert max(rows, key=lambda rank: rows[rank]["inflicted_ns"]) == 1
    # The others wait 20 ms a step, less what is below the error of the clocks.
    assert rows[2]["suffered_step_ns"] > 10e6 and rows[3]["suffered_step_ns"] > 10e6
    rows = json.loads(stepscope("report", machines, "--by", "collective", "--format", "json",
                                "--num-rows", "all").stdout)["tables"][0]["rows"]
    assert {row["clock_error_ns"] > 0 for row in rows if row["ranks"] == 4} == {True}
    assert {row["clock_error_ns"] for row in rows if row["ranks"] == 2} == {0}


def run_pings(stepscope, python, folder, secrets, addresses=None):
    (folder / "run").mkdir(exist_ok=True)
    port = free_port()
    addresses = addresses or [f":{port}", f"127.0.0.1:{port}"]
    scripts = [f"export STEPSCOPE_RUN_SECRET={secrets[node]}\n" +
               f"sleep {node / 2}\n" +
               PING.format(boot=BOOT.format(node + 1), folder=folder, node=node,
                           stepscope=shlex.quote(str(stepscope)), python=python, address=addresses[node],
                           seconds=4 - 2 * node) for node in (0, 1)]
    run_both(scripts)
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
    short = [python, "-S", "-c", "import time; time.sleep(0.3)"]
    rendezvous = tmp_path / ".clock-sync"
    first = subprocess.Popen([stepscope.path, "record", "-q", "--clock-sync", "auto", "-o",
                              tmp_path / "a.pftrace", "--", python, "-S", "-c", "input()"],
                             stdin=subprocess.PIPE)
    deadline = time.monotonic() + 60
    while not rendezvous.exists() and time.monotonic() < deadline:
        time.sleep(0.01)
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
