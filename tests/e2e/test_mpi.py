# SPDX-License-Identifier: Apache-2.0
"""Calls of MPI, of C programs and of mpi4py, recorded without a change of the program."""

import collections
import json
import os
import re
import shlex
import shutil
import subprocess
import sys

import pytest
from mpi import ABIS, ENVIRONMENT, ROOT, WORKLOADS, Mpi

STEPS, LATE, RANKS = 10, 2, 4


def rows_of(stepscope, path, by, *options):
    report = stepscope("report", path, "--by", by, "--format", "json", "--num-rows", "all",
                       *options)
    return json.loads(report.stdout)["tables"][0]["rows"]


def source_of(stepscope, path):
    (row,) = [row for row in json.loads(stepscope("info", "--format", "json", path).stdout)
              ["files"][0]["sources"] if row["name"] == "mpi"]
    return row


@pytest.fixture(scope="module", params=ABIS)
def mpi(request, stepscope, tmp_path_factory):
    return Mpi(request.param, stepscope, tmp_path_factory.mktemp(request.param))


@pytest.fixture(scope="module")
def program(mpi):
    return mpi.build(WORKLOADS / "mpi_ranks.c")


@pytest.fixture(scope="module")
def trace(mpi, program):
    """Four ranks, of which one is 60 ms late in each step; then each kind of call."""
    path = mpi.folder / "ranks.pftrace"
    done = mpi.record(path, *mpi.ranks(RANKS, program, STEPS, LATE, 60, "calls", "split", "waits",
                                       "threads", "fork"))
    assert done.stdout == "done\n"
    return path


def begins_of(stepscope, trace):
    """{sequence: {begin: rank}} of the reductions of the steps, from the timeline."""
    out = trace.with_suffix(".begins.json")
    stepscope("export", trace, "--to", "chrome", "-o", out)
    events = json.loads(out.read_text())["traceEvents"]
    rank_of = {event["pid"]: int(event["args"]["name"].split()[1].rstrip(":")) for event in events
               if event["name"] == "process_name" and event["args"]["name"].startswith("rank ")}
    found = collections.defaultdict(dict)
    for event in events:
        if event["name"] == "MPI_Allreduce" and event["args"]["payload"] == 8000:
            found[event["args"]["sequence"]][event["ts"]] = rank_of[event["pid"]]
    return found


def test_the_last_rank_of_each_collective_is_named(stepscope, trace):
    """tests/recorded/test_mpi_late.py has what a late rank costs the others."""
    assert sorted(row["rank"] for row in rows_of(stepscope, trace, "rank")) == list(range(RANKS))
    begins = begins_of(stepscope, trace)
    rows = [row for row in rows_of(stepscope, trace, "collective") if row["group"] == "world"]
    assert len(rows) > STEPS
    for row in rows[:STEPS]:
        assert row["last_rank"] == begins[row["sequence"]][max(begins[row["sequence"]])], row


def test_collectives_have_group_number_bytes_and_kind(stepscope, trace):
    rows = rows_of(stepscope, trace, "collective")
    assert {row["note"] for row in rows} <= {"", "goes one way", "below resolution", None}
    world = sorted((row for row in rows if row["group"] == "world"), key=lambda row: row["sequence"])
    assert {row["ranks"] for row in world} == {RANKS}
    found = [(row["sequence"], row["name"], row["bytes"]) for row in world]
    assert found[:STEPS] == [(i, "MPI_Allreduce", 8000) for i in range(STEPS)]
    calls = [("MPI_Barrier", None), ("MPI_Bcast", 400), ("MPI_Reduce", 800), ("MPI_Gather", 40),
             ("MPI_Scatter", 40), ("MPI_Allgather", 80), ("MPI_Allgatherv", 10),
             ("MPI_Alltoall", 320), ("MPI_Alltoallv", 320), ("MPI_Reduce_scatter_block", 320),
             ("MPI_Scan", 80)]
    # One without data has a number, but need not wait for any rank.
    later = [("MPI_Iallreduce", 8000), ("MPI_Ibarrier", None)]
    first = STEPS + len(calls) + 1
    assert found[STEPS:] == ([(STEPS + i, *call) for i, call in enumerate(calls)] +
                             [(first + i, *call) for i, call in enumerate(later)])


def test_communicators_are_named_after_their_ranks(stepscope, trace):
    groups = collections.defaultdict(list)
    for row in rows_of(stepscope, trace, "collective"):
        groups[row["group"]].append((row["sequence"], row["name"], row["ranks"]))
    three = [(i, "MPI_Allreduce", 2) for i in range(3)]
    assert sorted(groups["0-1"]) == sorted(groups["2-3"]) == three
    assert groups["2,0"] == groups["3,1"] == [(0, "MPI_Bcast", 2)]
    # The second copy takes the place of the first, which was freed, and goes on with its numbers.
    assert sorted(groups["0-1 #2"]) == [(0, "MPI_Barrier", 2), (1, "MPI_Barrier", 2)]
    assert len(groups["world #2"]) == len(groups["world #3"]) == 50  # from two threads at once


def ranges_of(stepscope, trace):
    """{name: [durations of its events in ms]}, and the arguments of them, from the timeline."""
    out = trace.with_suffix(".json")
    stepscope("export", trace, "--to", "chrome", "-o", out)
    durations, arguments = collections.defaultdict(list), collections.defaultdict(list)
    for event in json.loads(out.read_text())["traceEvents"]:
        name = event.get("name", "")
        if event["ph"] == "X" and name.startswith("MPI_"):
            durations[name].append(event["dur"] / 1000)
            arguments[name].append(event.get("args", {}))
    return durations, arguments


def test_what_a_call_starts_lasts_until_the_program_learns_of_its_end(stepscope, trace):
    durations, arguments = ranges_of(stepscope, trace)
    assert len(durations["MPI_Iallreduce"]) == RANKS
    assert min(durations["MPI_Iallreduce"]) > 19  # the work beside it takes 20 ms
    assert len(durations["MPI_Wait"]) == RANKS * (1 + 2)
    for name, count in (("MPI_Isend", 1), ("MPI_Irecv", 1), ("MPI_Send_init", 2),
                        ("MPI_Recv_init", 2), ("MPI_Ibarrier", 1), ("MPI_Sendrecv", 1),
                        ("MPI_Init_thread", 1), ("MPI_Finalize", 1)):
        assert len(durations[name]) == RANKS * count, name
    peers = sorted(one["peer"] for one in arguments["MPI_Isend"])
    assert peers == list(range(RANKS))
    assert {(one["payload"], one["datatype"]) for one in arguments["MPI_Isend"]} == {(8000, "float64")}
    assert not any("sequence" in one for one in arguments["MPI_Isend"])
    assert {one["root"] for one in arguments["MPI_Reduce"]} == {1}
    assert {one["datatype"] for one in arguments["MPI_Gather"]} == {"int32"}


def test_what_mpi_says_of_itself(stepscope, mpi, trace):
    text = stepscope("info", trace).stdout
    library = {"mpich": "MPICH Version: ", "openmpi": "Open MPI v"}[mpi.abi]
    assert re.search(rf"mpi\.library = {library}\d", text)
    assert f"mpi.size = {RANKS}" in text and "mpi.threads = multiple" in text
    assert source_of(stepscope, trace)["status"] == "ran"


def test_a_recorder_for_each_rank_of_which_some_are_not_recorded(stepscope, mpi, program):
    """Nothing that the recording does may wait for a rank without a recorder."""
    folder = mpi.folder / "some.stepscope"
    done = subprocess.run(mpi.ranks(RANKS, stepscope, "record", "-q", "--ranks", "0,2-3", "-o",
                                    folder, "--", program, 6, LATE, 40, "split", "waits"),
                          env={**os.environ, **ENVIRONMENT}, capture_output=True, text=True,
                          timeout=120, check=False)
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr
    rows = [row for row in rows_of(stepscope, folder, "collective") if row["group"] == "world"]
    assert {row["ranks"] for row in rows} == {3}
    assert {row["note"] for row in rows} == {"ranks are missing"}


def test_a_rank_that_is_killed(stepscope, mpi, program):
    path = mpi.folder / "killed.pftrace"
    done = mpi.record(path, *mpi.ranks(2, program, 8, 1, 30, "kill"), status=None)
    assert done.returncode != 0
    assert len([row for row in rows_of(stepscope, path, "collective") if row["group"] == "world"]) >= 5


def test_runs_that_follow_each_other_are_not_mixed(stepscope, mpi, program):
    path = mpi.folder / "twice.pftrace"
    run = shlex.join(map(str, mpi.ranks(2, program, 3, 1, 5)))
    mpi.record(path, "sh", "-c", f"{run}; {run}")
    rows = rows_of(stepscope, path, "collective")
    assert len(rows) % 2 == 0 and {row["ranks"] for row in rows} == {2}
    # Each run has the same numbers: those of the first, then those of the second.
    half = len(rows) // 2
    numbers = [(row["group"], row["sequence"], row["name"]) for row in rows]
    assert numbers[:half] == numbers[half:] and len(set(numbers)) == half
    report = json.loads(stepscope("report", path, "--format", "json", status=None).stdout)
    assert report["ranks"]["jobs"] == 2


def test_a_tool_of_the_users_works_beside_it(stepscope, mpi, program):
    tool = mpi.build(WORKLOADS / "mpi_tool.c", "-shared", "-fPIC", name="tool.so")
    path = mpi.folder / "tool.pftrace"
    done = mpi.record(path, *mpi.ranks(2, program, 5, 1, 5), env={"LD_PRELOAD": str(tool)})
    assert sorted(done.stdout.splitlines()) == ["done", "tool: 5 reductions"]
    rows = [row["name"] for row in rows_of(stepscope, path, "collective")]
    assert rows == ["MPI_Allreduce"] * 5  # without the tool's barriers


def test_a_program_that_sets_the_preload_itself(stepscope, mpi, program):
    tool = mpi.build(WORKLOADS / "mpi_tool.c", "-shared", "-fPIC", name="own.so")
    path = mpi.folder / "own.pftrace"
    done = mpi.record(path, *mpi.ranks(2, "env", f"LD_PRELOAD={tool}", program, 2, 1, 5))
    assert sorted(done.stdout.splitlines()) == ["done", "tool: 2 reductions"]
    assert "no process marks steps" in stepscope("report", path, "--by", "rank", status=None).stdout


def test_fortran_is_left_alone(stepscope, mpi):
    program = mpi.build(WORKLOADS / "mpi_fortran.f90", compiler="mpif90")
    done = mpi.record(mpi.folder / "fortran.pftrace", *mpi.ranks(3, program))
    assert done.stdout.split() == ["total", "3"]


def test_no_mpi_is_wanted(stepscope, mpi, program):
    path = mpi.folder / "off.pftrace"
    mpi.record(path, *mpi.ranks(2, program, 2, 1, 5), options=["--no-mpi"])
    assert source_of(stepscope, path) == {"name": "mpi", "status": "off", "reason": "--no-mpi"}
    assert "MPI_" not in stepscope("report", path, "--by", "range", status=None).stdout


def test_mpi4py(stepscope, mpi):
    path = mpi.folder / "python.pftrace"
    done = mpi.record(path, *mpi.ranks(RANKS, mpi.python(), WORKLOADS / "mpi_python.py"))
    assert done.stdout == "total 4.0\n"
    rows = rows_of(stepscope, path, "collective")
    reductions = [row for row in rows if row["name"] == "MPI_Allreduce"]
    assert [row["bytes"] for row in reductions] == [8000] * 10
    assert {row["last_rank"] for row in reductions} == {1}
    assert {row["group"] for row in rows if row["name"] == "MPI_Bcast"} >= {"world", "0-1", "2-3"}
    caused = {row["rank"]: row["caused_ns"] for row in rows_of(stepscope, path, "rank")}
    assert max(caused, key=caused.get) == 1


# --- without an implementation --------------------------------------------------------------------

def test_a_program_that_finds_the_functions_without_an_mpi(stepscope, tmp_path):
    if not (stepscope.path.resolve().parent / "libexec" / "mpi.so").exists():
        pytest.skip("this stepscope was built without the headers of an MPI")
    code = "import ctypes; print(ctypes.CDLL(None).MPI_Init(None, None) != 0)"
    done = stepscope("record", "-q", "-o", tmp_path / "t.pftrace", "--", sys.executable, "-c", code)
    assert done.stdout == "True\n"


def prototypes(header):
    """{function: number of its arguments}"""
    text = re.sub(r"/\*.*?\*/", "", header.read_text(errors="replace"), flags=re.S)
    found = {}
    for name, arguments in re.findall(r"\bint\s+(MPI_\w+)\s*\(([^;]*?)\)[^;()]*(?:\([^;]*\)[^;]*)?;",
                                      text, re.S):
        arguments = re.sub(r"\([^()]*\)", "", arguments).strip()
        found[name] = 0 if arguments == "void" else arguments.count(",") + 1
    return found


@pytest.mark.parametrize("abi", ABIS)
def test_the_functions_have_as_many_arguments_as_in_the_headers(abi):
    if shutil.which(f"mpicc.{abi}") is None:
        pytest.skip(f"no mpicc.{abi}")
    shown = subprocess.run([f"mpicc.{abi}", "-show"], capture_output=True, text=True, check=True)
    folders = [word[2:] for word in shown.stdout.split() if word.startswith("-I")]
    known = {}
    for folder in folders:
        for name in "mpi.h", "mpi_proto.h":
            path = ROOT / folder / name
            known.update(prototypes(path) if path.exists() else {})
    rows = re.findall(r"^SS_MPI_(FUNCTION|COUNTED|SINCE_4|COUNTED_SINCE_4)\((MPI_\w+), (\d+)\)",
                      (ROOT / "src/inject/mpi/forwarded.def").read_text(), re.M)
    compared = 0
    for kind, name, arguments in rows:
        for one in (name, name + "_c") if "COUNTED" in kind else (name,):
            if one in known:
                assert known[one] == int(arguments), one
                compared += 1
    assert compared > 80
