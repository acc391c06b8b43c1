# SPDX-License-Identifier: Apache-2.0
"""Recording under launchers of many ranks, and the folder of a run. Where a launcher is not
installed, its variables are set by hand; with launchers: test_launchers.py."""

import functools
import json
import os
import pathlib
import shutil
import signal
import subprocess
import tarfile

import pytest

WORKLOADS = pathlib.Path(__file__).resolve().parents[1] / "workloads"
ENVIRONMENT = "import os; print(os.getpid(), sorted(os.environ.items()), flush=True)"


def task(rank, size=4, job="7", local=None, nodes=2, **more):
    """The variables of a task of srun."""
    return {"SLURM_JOB_ID": job, "SLURM_STEP_ID": "0", "SLURM_STEP_NUM_TASKS": str(size),
            "SLURM_PROCID": str(rank), "SLURM_NODEID": str(rank // (size // nodes)),
            "SLURM_LOCALID": str(rank % (size // nodes) if local is None else local), **more}


def start(stepscope, environment, *arguments, **options):
    return subprocess.Popen([stepscope, "record", *map(str, arguments)],
                            env={**os.environ, **environment}, text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)


def record_all(stepscope, python, folder, *arguments, ranks=range(4), seconds="0.1", **facts):
    """Records ranks at the same time; returns what each printed on standard error."""
    started = [start(stepscope, task(rank, **facts), *arguments, "--", python, WORKLOADS / "spin.py", "--seconds",
                     seconds, cwd=folder) for rank in ranks]
    printed = [one.communicate(timeout=120)[1] for one in started]
    assert [one.returncode for one in started] == [0] * len(started), printed
    return printed


@pytest.fixture
def run_all(stepscope, python, tmp_path):
    return functools.partial(record_all, stepscope, python, tmp_path)


@pytest.fixture(scope="module")
def four(stepscope, python, tmp_path_factory):
    """The folder in which four ranks were recorded, and what each printed."""
    folder = tmp_path_factory.mktemp("four")
    return folder, record_all(stepscope, python, folder, seconds="0.4")


@pytest.fixture
def copy_of_four(four, tmp_path):
    """A copy of their run, which a test may change."""
    return shutil.copytree(four[0] / "spin-7.0.stepscope", tmp_path / "x.stepscope")


def info(stepscope, path):
    return json.loads(stepscope("info", "--format", "json", path).stdout)["files"][0]


def children(pid):
    return [int(child) for child in
            pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def files(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def test_ranks_record_into_one_folder_with_one_summary(stepscope, four, tmp_path):
    place, printed = four
    folder = place / "spin-7.0.stepscope"
    assert files(place) == ["spin-7.0.stepscope/" + name for name in (
        [f"ranks/r0000{rank}.{ending}" for rank in range(4) for ending in ("json", "pftrace")]
        + ["run.json"])]
    assert [text.count("stepscope: wrote") for text in printed] == [1, 0, 0, 0]
    assert printed[1:] == ["", "", ""]
    assert "spin-7.0.stepscope: 4 of 4 ranks on 1 node" in printed[0]
    assert "Hottest lines of rank 0" in printed[0]
    found = info(stepscope, folder)
    run, = found["runs"]
    assert (run["run_id"], run["launcher"], run["world_size"], run["ranks"]) == ("7.0", "srun", 4, 4)
    assert found["state"] == "complete" and run["missing_ranks"] == ""
    assert sorted(process["rank"] for process in found["processes"]) == [0, 1, 2, 3]
    whole = sum(json.loads(path.read_text())["samples"] for path in folder.glob("ranks/*.json"))
    assert found["tracks"]["samples"] == whole
    text = stepscope("report", cwd=place).stdout  # the newest recording here
    assert "4 of 4 ranks of run 7.0, started by srun" in text
    one = stepscope("info", folder / "ranks" / "r00002.pftrace").stdout
    assert "SLURM_PROCID" in one and "srun" in one
    stepscope("flame", folder, "-o", tmp_path / "run.svg")
    chrome = tmp_path / "run.json"
    stepscope("export", "--to", "chrome", folder, "-o", chrome)
    assert all(f"rank {rank}" in chrome.read_text() for rank in range(4))
    stepscope("export", "--to", "perfetto-compat", folder, "-o", tmp_path / "compat")
    assert files(tmp_path / "compat") == [f"ranks/r0000{rank}.pftrace" for rank in range(4)]
    stepscope("diff", folder, folder)


def test_one_rank_alone_keeps_its_file(stepscope, run_all, tmp_path):
    run_all(ranks=[0], size=1, nodes=1)
    name, = files(tmp_path)
    assert name.startswith("spin-2") and name.endswith(".pftrace")


def test_missing_and_killed_ranks_are_named_and_the_rest_is_used(stepscope, python, target, run_all,
                                                                 tmp_path):
    victim = start(stepscope, task(2), "-o", tmp_path / "x.stepscope", "--", *target.command)
    program = target.ready()
    target.do("spin", 0.3)
    at_once = [victim.pid, *children(victim.pid), program]
    for kind in signal.SIGSTOP, signal.SIGKILL:  # as when a node dies: none of them sees another's end
        for pid in at_once:
            os.kill(pid, kind)
    victim.communicate(timeout=60)
    printed = run_all("-o", tmp_path / "x.stepscope", ranks=(0, 1))
    assert "2 of 4 ranks" in printed[0] and "no word of the ranks 2, 3:" in printed[0]
    found = info(stepscope, tmp_path / "x.stepscope")
    assert found["runs"][0]["missing_ranks"] == "3" and found["state"] == "cut short"
    text = stepscope("info", tmp_path / "x.stepscope").stdout
    assert "missing ranks     3" in text
    cut, = (line for line in text.splitlines() if "file, cut short" in line)
    assert cut.endswith("x.stepscope/ranks/r00002.pftrace")
    done = stepscope("report", tmp_path / "x.stepscope", status=3)
    assert "nothing was recorded of ranks 3" in done.stderr
    assert "r00002.pftrace was not closed" in done.stderr
    assert "3 of 4 ranks" in done.stdout and "Hottest functions" in done.stdout
    assert stepscope("info", "--check", tmp_path / "x.stepscope", status=1)


def test_files_of_an_earlier_run_are_left_out(stepscope, run_all, tmp_path):
    folder = tmp_path / "again.stepscope"
    run_all("-o", folder)
    run_all("-o", folder, ranks=range(2), size=2, job="8", nodes=1)
    found = info(stepscope, folder)
    assert found["runs"][0]["run_id"] == "8.0" and found["state"] == "complete"
    assert (found["runs"][0]["ranks"], found["runs"][0]["left_out_files"]) == (2, 2)
    done = stepscope("record", "--no-overwrite", "-o", folder, "--", "true", env=task(0, job="9"),
                     status=2)
    assert "r00000.pftrace exists already" in done.stderr


def test_unselected_ranks_become_the_program(stepscope, python, tmp_path):
    """Same process, no variable more or less, nothing written."""
    command = ["--ranks", "0,local1", "--", python, "-c", ENVIRONMENT]
    environment = task(2)
    plain = subprocess.run([python, "-c", ENVIRONMENT], env={**os.environ, **environment},
                           text=True, stdout=subprocess.PIPE, check=True)
    one = start(stepscope, environment, *command, cwd=tmp_path)
    out, err = one.communicate(timeout=60)
    pid, _, variables = out.partition(" ")
    assert int(pid) == one.pid and variables == plain.stdout.partition(" ")[2] and err == ""
    assert files(tmp_path) == []
    one = start(stepscope, task(3), *command, cwd=tmp_path)  # local rank 1
    out, _ = one.communicate(timeout=60)
    assert int(out.split()[0]) != one.pid and "STEPSCOPE_RECORDING" in out
    assert len(files(tmp_path)) == 3


def test_selections(stepscope, run_all, tmp_path):
    printed = run_all("--ranks", "1-2", "-o", tmp_path / "a.stepscope")
    assert "2 of 2 ranks (selected from 4)" in printed[1] and printed[0] == printed[2] == ""
    found = info(stepscope, tmp_path / "a.stepscope")
    assert found["state"] == "complete" and found["runs"][0]["ranks"] == 2
    run_all("--max-ranks", "1", "-o", tmp_path / "b.stepscope")
    assert files(tmp_path / "b.stepscope/ranks") == ["r00000.json", "r00000.pftrace"]
    done = stepscope("record", "--ranks", "0-x", "--", "true", status=2)
    assert "--ranks: ranks are numbers" in done.stderr
    done = stepscope("record", "--ranks", "0", "-p", os.getpid(), status=2)
    assert "--pid selects one process" in done.stderr
    done = stepscope("record", "--ranks", "1", "-o", tmp_path / "c.pftrace", "--", "true")
    assert "no launcher has given this process a rank" in done.stderr


def test_names_by_rank(stepscope, python, tmp_path):
    spin = ["--", python, WORKLOADS / "spin.py", "--seconds", "0.1"]
    stepscope("record", "-o", tmp_path / "%j" / "r%r-of-%R-l%l-n%n-a%a.pftrace", *spin,
              env=task(3, SLURM_RESTART_COUNT="2"))
    assert files(tmp_path) == ["7/r3-of-4-l1-n1-a2.pftrace"]
    stepscope("record", "-q", "-o", tmp_path / "r%r-%R.pftrace", "--rank", "5/8", *spin,
              env=task(3))
    named = info(stepscope, tmp_path / "r5-8.pftrace")
    assert [one["rank"] for one in named["processes"]] == [5]
    assert named["attributes"]["launcher"] == "--rank" and named["attributes"]["rank"] == 5
    for bad in ("8/8", "x", "-1", "3/", "3/8x"):
        assert "--rank takes a rank" in stepscope("record", "--rank", bad, *spin, status=2).stderr
    done = stepscope("record", "-o", tmp_path / "%j.pftrace", *spin, status=2)
    assert "this is not a job" in done.stderr


def test_large_runs_and_restarts_have_names_of_their_own(stepscope, python, tmp_path):
    spin = ["--", python, WORKLOADS / "spin.py", "--seconds", "0.1"]
    torchrun = {"RANK": "1042", "WORLD_SIZE": "2048", "LOCAL_RANK": "2", "LOCAL_WORLD_SIZE": "8",
                "GROUP_RANK": "130", "TORCHELASTIC_RUN_ID": "cd492c49-02a2-478b-b9fd-4ec06693caff"}
    for restart in ("0", "1"):
        stepscope("record", "-q", *spin, cwd=tmp_path,
                  env={**torchrun, "TORCHELASTIC_RESTART_COUNT": restart})
    folder = tmp_path / "spin-cd492c49.stepscope"
    assert files(folder) == [f"ranks/001/r01042{name}" for name in (
        "-a1.json", "-a1.pftrace", ".json", ".pftrace")] + ["run.json"]
    run, = info(stepscope, folder)["runs"]
    assert (run["world_size"], run["ranks"], run["files"]) == (2048, 1, 2)
    assert run["missing_ranks"] == "0-1041, 1043-2047" and run["missing_rank_count"] == 2047


def test_a_run_without_its_manifest_is_read(stepscope, copy_of_four):
    (copy_of_four / "run.json").unlink()
    found = info(stepscope, copy_of_four)
    assert (found["runs"][0]["files"], found["runs"][0]["world_size"]) == (4, 4)
    assert found["state"] == "complete"
    assert sorted(process["rank"] for process in found["processes"]) == [0, 1, 2, 3]


def test_a_packed_run_is_read_like_its_folder(stepscope, copy_of_four, tmp_path):
    for path in copy_of_four.glob("ranks/r00002.*"):
        path.unlink()
    env = {"TMPDIR": str(tmp_path / "tmp")}
    (tmp_path / "tmp").mkdir()
    for options, name in (("cf", "x.tar"), ("czf", "x.tgz")):
        subprocess.run(["tar", options, tmp_path / name, "x.stepscope"], cwd=tmp_path, check=True)
        found = json.loads(stepscope("info", "--format", "json", tmp_path / name,
                                     env=env).stdout)["files"][0]
        assert found["runs"][0]["missing_ranks"] == "2"
        assert [one["path"] for one in found["inputs"]] == [
            f"{tmp_path / name}:ranks/r0000{rank}.pftrace" for rank in (0, 1, 3)]
        whole = stepscope("report", "--by", "function", "-f", "csv", tmp_path / "x.stepscope",
                          "--to", "0.2", status=3).stdout
        packed = stepscope("report", "--by", "function", "-f", "csv", tmp_path / name, "--to",
                           "0.2", env=env, status=3).stdout
        assert packed == whole and len(packed.splitlines()) > 1
    assert list((tmp_path / "tmp").iterdir()) == []


def test_a_packed_run_that_leads_elsewhere(stepscope, copy_of_four, tmp_path):
    """Members are named by what they are in a run, whatever their folders; a name that comes twice
    is refused, and nothing is left."""
    env = {"TMPDIR": str(tmp_path / "tmp")}
    (tmp_path / "tmp").mkdir()
    def packed(*names):
        with tarfile.open(tmp_path / "x.tar", "w") as tar:
            for i, name in enumerate(names):  # not the same file twice: that counts once
                tar.add(copy_of_four / "ranks" / f"r0000{i // 2}.pftrace", name)
        return tmp_path / "x.tar"
    found = stepscope("info", packed("../../ranks/r00000.pftrace", "ranks/../../r00001.pftrace",
                                     "/etc/ranks/000/r00002.pftrace"), env=env).stdout
    assert "x.tar:ranks/r00000.pftrace" in found and "x.tar:ranks/000/r00002.pftrace" in found
    assert "r00001" not in found
    done = stepscope("info", packed("a/ranks/r00000.pftrace", "b/ranks/r00000.pftrace"), env=env,
                     status=4)
    assert "cannot unpack ranks/r00000.pftrace of" in done.stderr
    assert list((tmp_path / "tmp").iterdir()) == [] and not (tmp_path / "r00001.pftrace").exists()


def test_two_writers_of_one_path_and_one_that_was_killed(stepscope, target, python, tmp_path):
    out = tmp_path / "one.pftrace"
    first = start(stepscope, task(0), "-q", "-o", out, "--", *target.command)
    target.ready()
    done = stepscope("record", "-o", out, "--", python, "-c", "print('ran')", env=task(1))
    line, = done.stderr.splitlines()
    assert "is being written by another recording" in line and done.stdout == "ran\n"
    assert f"-o {tmp_path}/one.stepscope" in line and f"-o {tmp_path}/one.%r.pftrace" in line
    os.kill(children(first.pid)[0], signal.SIGKILL)  # the recorder
    target.exit()
    first.communicate(timeout=60)
    stepscope("record", "-q", "-o", out, "--", python, WORKLOADS / "spin.py", "--seconds", "0.1")
    assert info(stepscope, out)["state"] == "complete"


def test_two_ranks_that_convert_to_one_path(stepscope, target, python, tmp_path):
    """The first to end writes it; the recording of the other is kept."""
    out = tmp_path / "one.txt"
    first = start(stepscope, task(0), "-q", "-o", out, "--", *target.command)
    target.ready()
    stepscope("record", "-q", "-o", out, "--", python, WORKLOADS / "spin.py", "--seconds", "0.3",
              env=task(1))
    written = out.read_text()
    target.do("spin 0.3")
    target.exit()
    _, said = first.communicate(timeout=60)
    assert f"{out} was written by another recording meanwhile" in said and "one.%r.txt" in said
    assert out.read_text() == written
    kept, = tmp_path.glob(".one.txt.*.pftrace")
    assert info(stepscope, kept)["state"] == "complete"


def test_a_failed_rank_is_in_the_summary(stepscope, python, run_all, tmp_path):
    code = "import sys; sys.exit(3)"
    failing = start(stepscope, task(1, size=2, nodes=1), "-o", tmp_path / "f.stepscope", "--",
                    python, "-c", code)
    failing.communicate(timeout=60)
    assert failing.returncode == 3
    printed = run_all("-o", tmp_path / "f.stepscope", ranks=[0], size=2, nodes=1)
    assert "ended with an error: rank 1 (status 3)" in printed[0]


def test_a_format_that_is_no_folder_is_refused(stepscope, tmp_path):
    done = stepscope("record", "-f", "raw", "-o", tmp_path / "x.stepscope", "--", "true", status=2)
    assert "the folder of a run holds native recordings" in done.stderr


def test_doctor_names_the_launcher(stepscope):
    def line(**environment):
        done = stepscope("doctor", "--format", "json", status=None, env=environment)
        return next(one["text"] for one in json.loads(done.stdout)["checks"]
                    if one["name"] == "launcher")
    assert "rank 3 of 4, local rank 1, node 1, from srun (SLURM_PROCID); run 7.0" in line(**task(3))
    assert "job 7" in line(SLURM_JOB_ID="7", SLURM_PROCID="0", SLURM_NTASKS="4")


def test_srun_inside_is_pointed_out(stepscope, tmp_path):
    (tmp_path / "srun").write_text("#!/bin/sh\nexit 0\n")
    (tmp_path / "srun").chmod(0o755)
    done = stepscope("record", "-o", tmp_path / "x.pftrace", "--", tmp_path / "srun", status=0)
    assert "put stepscope after it" in done.stderr


def test_windows_of_all_ranks_are_in_one_folder(stepscope, package, python, tmp_path):
    started = [start(stepscope, {**task(rank, size=2), "PYTHONPATH": str(package)}, "--per-window",
                     "--schedule", "wait=1,warmup=0,active=2,repeat=2", "--", python,
                     WORKLOADS / "scheduled.py", "7", cwd=tmp_path) for rank in range(2)]
    for one in started:
        assert one.wait(60) == 0, one.stderr.read()
    folder, = tmp_path.iterdir()
    assert folder.name == "scheduled-7.0.stepscope"
    assert sorted(name.split("-")[0] + name.rpartition("-")[2] for name in files(folder)) == [
        f"rank{rank}window0000{window}.pftrace" for rank in range(2) for window in range(2)]
    assert stepscope("report", folder).stdout


def test_the_package_counts_tasks_of_slurm_only(package, python):
    def rank(**environment):
        done = subprocess.run([python, "-c", "import stepscope._tools as t; print(t.rank())"],
                              env={"PYTHONPATH": str(package), **environment}, text=True,
                              stdout=subprocess.PIPE, check=True)
        return done.stdout.strip()
    assert rank(**task(3)) == "3"
    assert rank(SLURM_JOB_ID="7", SLURM_PROCID="0", SLURM_NTASKS="4") == "None"  # a batch shell
