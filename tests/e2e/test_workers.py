# SPDX-License-Identifier: Apache-2.0
"""`mpiexec stepscope report RUN`: all processes read, the first prints, the report is the same."""

import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess

import pytest
from mpi import ABIS, ENVIRONMENT, WORKLOADS, Mpi
from target import until

LIMIT_S = 120
TABLES = [(), ("--by", "rank"), ("--by", "collective", "-f", "json"), ("--by", "step", "-f", "csv"),
          ("--by", "function", "-f", "json"), ("-f", "json"),
          ("--by", "op", "--group", "process,phase", "--num-rows", "all", "-f", "csv")]


def make_run(stepscope, folder, ranks, steps, nodes, *name):
    tool = stepscope.path.resolve().parent / "tests" / "training_ranks"
    if not tool.exists():
        pytest.skip("no training_ranks: it is built with the tests")
    subprocess.run([tool, folder, str(ranks), str(steps), str(nodes), *name], check=True)
    return folder


@pytest.fixture(scope="module", name="run")
def small_run(stepscope, tmp_path_factory):
    """With what earlier runs have left in the folder: of a rank more, and of rank 4 under a name
    that no rank of this run has."""
    folder = tmp_path_factory.mktemp("workers")
    run = make_run(stepscope, folder / "t.stepscope", 9, 48, 3)  # several blocks of ranges
    earlier = make_run(stepscope, folder / "earlier.stepscope", 10, 3, 1, "yesterday") / "ranks"
    shutil.copy(earlier / "r00009.pftrace", run / "ranks")
    shutil.copy(earlier / "r00004.pftrace", run / "ranks" / "r00004-a1.pftrace")
    return run


def test_what_earlier_runs_left_is_left_out(stepscope, run):
    for options in ((), ("--steps", "1:5")):  # the second needs the files one after the other
        report = json.loads(stepscope("report", "--by", "rank", "-f", "json", *options, run).stdout)
        assert [row["rank"] for row in report["tables"][0]["rows"]] == list(range(9))
    found = json.loads(stepscope("info", "--format", "json", run).stdout)["files"][0]["runs"][0]
    assert (found["ranks"], found["left_out_files"]) == (9, 2)


@pytest.fixture(params=ABIS)
def mpi(request, stepscope, tmp_path):
    mpi = Mpi(request.param, stepscope, tmp_path)
    if not (stepscope.path.resolve().parent / "libexec" / f"workers-{request.param}.so").exists():
        pytest.skip(f"this stepscope was built without the headers of {request.param}")
    return mpi


def start(mpi, count, *arguments, program=None, **env):
    command = mpi.ranks(count, *(program or [mpi.stepscope.path]), *arguments)
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            env={**os.environ, **ENVIRONMENT, **env})


def outcome(process):
    out, err = process.communicate(timeout=LIMIT_S)
    return process.returncode, out, err.decode(errors="replace")


def test_threads_change_nothing(stepscope, run):
    for table in TABLES:
        one, many = (stepscope("report", "--threads", threads, *table, run).stdout
                     for threads in ("1", "3"))
        assert one == many and one


TWO_TABLES = TABLES[0], TABLES[-1]


@pytest.mark.parametrize("count, tables", [
    (1, TABLES[:1]), (2, TABLES), (7, TWO_TABLES),
    *(pytest.param(count, TABLES, marks=pytest.mark.long) for count in (1, 4, 7))])
def test_workers_change_nothing(mpi, run, count, tables):
    for table in tables:
        serial = mpi.stepscope("report", "--threads", "1", *table, run, text=False).stdout
        status, out, err = outcome(start(mpi, count, "report", *table, run))
        assert status == 0 and out == serial and serial, (table, err)


# It is waited for ten seconds.
@pytest.mark.parametrize("mpi", ["mpich", pytest.param("openmpi", marks=pytest.mark.long)], indirect=True)
def test_an_mpi_that_does_not_end_does_not_keep_the_report(mpi, run):
    endless = mpi.build(WORKLOADS / "mpi_endless.c", "-shared", "-fPIC", name="endless.so")
    serial = mpi.stepscope("report", "--by", "rank", run, text=False).stdout
    _, out, err = outcome(start(mpi, 3, "report", "--by", "rank", run, LD_PRELOAD=str(endless)))
    assert out.startswith(serial) and err.count("the MPI does not end") == 1, err


def test_files_that_cannot_be_read_are_named(mpi, stepscope, tmp_path):
    run = make_run(stepscope, tmp_path / "t.stepscope", 5, 4, 1)
    (run / "ranks" / "r00003.pftrace").write_bytes(b"no trace")
    serial = stepscope("report", "--threads", "1", run, status=3)
    status, out, err = outcome(start(mpi, 3, "report", run))
    assert (status, out.decode()) == (3, serial.stdout)
    assert err.count("r00003.pftrace") == serial.stderr.count("r00003.pftrace") > 0


def test_without_plug_in_the_first_works_alone(mpi, run, tmp_path):
    alone = tmp_path / "stepscope"
    shutil.copy(mpi.stepscope.path, alone)
    serial = mpi.stepscope("report", "--by", "rank", run).stdout
    status, out, err = outcome(start(mpi, 3, "report", "--by", "rank", run, program=[alone]))
    assert (status, out.decode()) == (0, serial), err
    assert err.count(f"the first of 3 processes works alone, the others have ended: workers-{mpi.abi}.so "
                     "was not installed") == 1


@pytest.mark.parametrize("task", [0, 1])
def test_tasks_of_srun_without_an_mpi_report_once(stepscope, run, tmp_path, task):
    daemon = tmp_path / "slurmstepd"  # a script has its own name as a process
    daemon.write_text('#!/bin/sh\n"$@"\nexit $?\n')
    daemon.chmod(0o755)
    env = {**os.environ, "SLURM_PROCID": str(task), "SLURM_STEP_ID": "0", "SLURM_STEP_NUM_TASKS": "2"}
    done = subprocess.run([daemon, stepscope.path, "report", "--by", "rank", run], env=env, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=True, timeout=LIMIT_S)
    serial = stepscope("report", "--by", "rank", run)
    assert done.stdout == (serial.stdout if task == 0 else "")
    assert done.stderr.count("srun --mpi=pmi2") == (1 if task == 0 else 0)


def test_descendants_of_a_program_work_alone(mpi, run):
    shell = f'"{mpi.stepscope.path}" report --by rank "{run}"; true'
    serial = mpi.stepscope("report", "--by", "rank", run).stdout
    status, out, err = outcome(start(mpi, 2, program=["sh", "-c", shell], NO_COLOR="1"))
    assert status == 0, err
    assert out.decode().count("stepscope report") == 2 * serial.count("stepscope report") == 2


def stopped_reader(marked):
    """The process with `marked` in its environment that has stopped itself; 0: none has yet."""
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            state = (folder / "stat").read_text().rsplit(")", 1)[1].split()[0]
            if state == "T" and marked.encode() in (folder / "environ").read_bytes():
                return int(folder.name)
    return 0


# What an MPI does without a rank is its own; one that stands still is missed by stepscope.
@pytest.mark.parametrize("mpi, sent", [
    ("mpich", signal.SIGKILL), ("openmpi", signal.SIGKILL), ("mpich", signal.SIGSTOP),
    pytest.param("openmpi", signal.SIGSTOP, marks=pytest.mark.long)], indirect=["mpi"])
def test_a_lost_worker_is_an_error(mpi, stepscope, tmp_path, sent):
    """The second of two stops as it opens its first recording."""
    run = make_run(stepscope, tmp_path / "t.stepscope", 8, 6, 1)
    stops = mpi.build(WORKLOADS / "mpi_stops.c", "-shared", "-fPIC", name="stops.so")
    launcher = start(mpi, 2, "report", run, LD_PRELOAD=str(stops), STEPSCOPE_WORKER_TIMEOUT="3")
    worker = until(lambda: launcher.poll() is not None or stopped_reader(f"LD_PRELOAD={stops}"),
                   "a worker that has stopped")
    assert launcher.poll() is None, launcher.communicate()
    if sent == signal.SIGKILL:
        os.kill(worker, sent)
    try:
        status, out, err = outcome(launcher)
    finally:
        launcher.kill()
        with contextlib.suppress(ProcessLookupError):
            os.kill(worker, signal.SIGKILL)
    assert status != 0 and b"Recorded" not in out
    if sent == signal.SIGSTOP:
        assert "worker 1 of 2 does not answer" in err
    else:
        assert "9" in err + out.decode()  # of the launcher: it ends all ranks, and says which signal it was


def test_two_hundred_machines_have_one_clock(stepscope, tmp_path):
    """Each rank has a machine of its own, whose clock is off by seconds and drifts."""
    run = make_run(stepscope, tmp_path / "t.stepscope", 200, 12, 200)
    done = stepscope("report", "--by", "rank", run)
    assert "200 of 200 ranks" in done.stdout
    aligned = re.search(r"199 of 200 recordings come from other machines .*: the collectives of "
                        r"their ranks align them, within ([0-9.]+) ms", done.stderr)
    assert aligned and float(aligned[1]) <= 10, done.stderr
