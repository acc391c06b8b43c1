# SPDX-License-Identifier: Apache-2.0
"""The launchers themselves: MPICH, Open MPI, torchrun, and Slurm on two virtual nodes
(tests/beds/slurm). Each test skips where its launcher is not installed."""

import json
import os
import pathlib
import shutil
import subprocess
import sys

import pytest
from mpi import Mpi
from target import until

ROOT = pathlib.Path(__file__).resolve().parents[2]
SPIN = ROOT / "tests" / "workloads" / "spin.py"
BED = ROOT / "tests" / "beds" / "slurm" / "run"
AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
           "OMP_NUM_THREADS": "1"}


def run(command, folder, **environment):
    done = subprocess.run([str(word) for word in command], cwd=folder, text=True, timeout=240,
                          env={**os.environ, **AS_ROOT, **environment}, check=False,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert done.returncode == 0, done.stdout + done.stderr
    return done


def info(stepscope, path):
    return json.loads(stepscope("info", "--format", "json", path).stdout)["files"][0]


def ranks_of(found):
    return sorted(process["rank"] for process in found["processes"]
                  if process["rank"] is not None)


def only_folder(path):
    folder, = path.glob("*.stepscope")
    return folder


MPI = {"Open MPI": (("mpirun.openmpi", "orterun"), ["--oversubscribe"]),
       "MPICH": (("mpiexec.hydra", "mpiexec.mpich"), [])}


@pytest.mark.mpi
@pytest.mark.parametrize("name", MPI)
def test_mpi_ranks_find_one_folder(stepscope, python, tmp_path, name):
    programs, options = MPI[name]
    mpiexec = next(filter(None, map(shutil.which, programs)), None)
    if mpiexec is None:
        pytest.skip(f"{name} is not installed")
    done = run([mpiexec, *options, "-n", 3, stepscope, "record", "--", python, SPIN, "--seconds",
                "0.4"], tmp_path)
    assert done.stderr.count("stepscope: wrote") == 1
    assert "3 of 3 ranks on 1 node" in done.stderr
    found = info(stepscope, only_folder(tmp_path))
    assert ranks_of(found) == [0, 1, 2] and found["runs"][0]["launcher"].startswith("mpiexec of")
    assert found["state"] == "complete"


def test_torchrun_with_a_recorder_for_each_rank(stepscope, torch_python, tmp_path):
    done = run([torch_python, "-m", "torch.distributed.run", "--no-python", "--nproc-per-node", 4,
                "--rdzv-id", "night", "--rdzv-backend", "c10d", "--rdzv-endpoint", "localhost:0",
                stepscope, "record", "--ranks", "0-2", "--", sys.executable, SPIN, "--seconds",
                "0.4"], tmp_path)
    folder = tmp_path / "spin-night.stepscope"
    assert done.stderr.count("stepscope: wrote") == 1
    assert "3 of 3 ranks (selected from 4) on 1 node" in done.stderr
    found = info(stepscope, folder)
    assert ranks_of(found) == [0, 1, 2] and found["runs"][0]["launcher"] == "torchrun"


@pytest.mark.long
def test_a_recorder_for_all_ranks_of_torchrun(stepscope, torch_python, tmp_path):
    """The launcher has no rank, its children have theirs: a training with gloo."""
    ranks, program = 4, ROOT / "tests" / "workloads" / "torch_ranks.py"
    folder = tmp_path / "all.stepscope"
    run([stepscope, "record", "-o", folder, "--", torch_python, "-m", "torch.distributed.run",
         "--nproc-per-node", ranks, "--rdzv-backend", "c10d", "--rdzv-endpoint", "localhost:0",
         program], tmp_path)
    trace, = (folder / "nodes").glob("*.pftrace")
    processes = info(stepscope, trace)["processes"]
    ranked = {one["rank"]: one for one in processes if one["rank"] is not None}
    assert sorted(ranked) == list(range(ranks))
    assert [ranked[rank]["local_rank"] for rank in range(ranks)] == list(range(ranks))
    assert {one["world_size"] for one in ranked.values()} == {ranks}
    launcher, = (one for one in processes if one["role"] == "launches")
    assert launcher["rank"] is None
    run_facts, = info(stepscope, folder)["runs"]
    assert run_facts["ranks"] == run_facts["world_size"] == ranks


# --- scripts of jobs -----------------------------------------------------------------------------

@pytest.mark.parametrize("system", ["slurm", "pbs", "torchrun"])
@pytest.mark.parametrize("program", [["python", "it's a train.py", "--lr=$x", "a b"],
                                     ["torchrun", "--nproc-per-node", "2", "train.py"],
                                     ["torchrun", "--nnodes=2", "train.py"], ["./a.out"]])
def test_scripts_are_shell(stepscope, tmp_path, system, program):
    done = stepscope("record", "--print-job", system, "-r", "50", "--ranks", "local0", "--",
                     *program, cwd=tmp_path)
    script = tmp_path / "job.sh"
    script.write_text(done.stdout)
    run(["bash", "-n", script], tmp_path)
    assert done.stdout.startswith("#!/bin/bash\n") and "--ranks local0 --rate 50 --" in done.stdout
    assert "print-job" not in done.stdout and list(tmp_path.iterdir()) == [script]
    if shutil.which("shellcheck"):
        run(["shellcheck", script], tmp_path)


def test_a_script_of_pbs_runs(stepscope, python, needs_tool, tmp_path):
    (tmp_path / "bin").mkdir()
    mpiexec = tmp_path / "bin" / "mpiexec"
    mpiexec.write_text(f'#!/bin/sh\nexec "{needs_tool("mpiexec.hydra")}" "$@"\n')
    mpiexec.chmod(0o755)
    (tmp_path / "nodes").write_text("localhost\nlocalhost\n")
    script = tmp_path / "job.sh"
    script.write_text(stepscope("record", "--print-job", "pbs", "--", python, SPIN, "--seconds",
                                "0.4").stdout)
    done = run(["bash", script], "/", PATH=f"{tmp_path / 'bin'}:{os.environ['PATH']}",
               PBS_O_WORKDIR=str(tmp_path), PBS_NODEFILE=str(tmp_path / "nodes"), PBS_JOBID="7.pbs")
    assert "2 of 2 ranks" in done.stderr and "Hottest functions" in done.stdout
    assert info(stepscope, tmp_path / "spin-7.pbs.stepscope")["runs"][0]["run_id"] == "7.pbs"


# --- Slurm ---------------------------------------------------------------------------------------

@pytest.fixture(scope="module")
def bed():
    """bed(FOLDER, SCRIPT): runs it in bash in a cluster of two nodes."""
    done = subprocess.run([BED, "--check"], stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        pytest.skip(done.stderr.strip())
    return lambda folder, script, **environment: run([BED, "--", "bash", "-ec", script], folder,
                                                     **environment)


@pytest.mark.root
def test_two_nodes_of_slurm(stepscope, python, bed, tmp_path):
    """Ranks of two nodes with different host names and monotonic clocks, then a printed job."""
    (tmp_path / "job.sh").write_text(stepscope(
        "record", "--print-job", "slurm", "--ranks", "local0", "--", python, SPIN, "--seconds", "0.4").stdout)
    done = bed(tmp_path, """
        srun -N2 -n4 "$STEPSCOPE" record -- "$PYTHON" "$SPIN" --seconds 0.6
        sbatch --wait -N2 -n4 job.sh
        """, STEPSCOPE=str(stepscope), PYTHON=python, SPIN=str(SPIN))
    line, = (line for line in done.stderr.splitlines() if "stepscope: wrote" in line)
    assert "spin-1.0.stepscope: 4 of 4 ranks on 2 nodes" in line
    folder = tmp_path / "spin-1.0.stepscope"
    assert ranks_of(info(stepscope, folder)) == [0, 1, 2, 3]
    files = [info(stepscope, path) for path in sorted(folder.glob("ranks/*.pftrace"))]
    places = [(one["attributes"]["hostname"], one["processes"][0]["node"],
               one["processes"][0]["local_rank"]) for one in files]
    assert sorted(set(places)) == sorted(places) and {place[0] for place in places} == {"n0", "n1"}
    assert len({one["attributes"]["time_namespace"] for one in files}) == 2
    report = stepscope("report", folder)
    assert "4 of 4 ranks of run 1.0, started by srun" in report.stdout
    assert "from another time namespace than the first" in report.stderr
    out, = tmp_path.glob("spin-*.out")
    assert "2 of 2 ranks (selected from 4) on 2 nodes" in out.read_text() and "Hottest lines" in out.read_text()


# Both nodes are on this machine: shared memory would join ranks that real nodes cannot join.
UNDER_SLURM = {"mpich": 'srun --mpi=pmi2 -N2 -n4 "$STEPSCOPE" record',
               "openmpi": 'salloc -N2 -n4 mpirun.openmpi --mca btl tcp,self "$STEPSCOPE" record',
               "openmpi by PMIx": 'srun --mpi=pmix -N2 -n4 "$STEPSCOPE" record'}


@pytest.mark.root
@pytest.mark.mpi
@pytest.mark.long  # MPICH's UCX sometimes waits for ever between the two time namespaces
@pytest.mark.parametrize("way", UNDER_SLURM)
def test_mpi_on_two_nodes_of_slurm(stepscope, bed, tmp_path, way):
    """A program in C whose rank 3 is late: nodes with different clocks, one folder."""
    mpi = Mpi(way.split()[0], stepscope, tmp_path)
    program = mpi.build(ROOT / "tests" / "workloads" / "mpi_ranks.c")
    done = bed(tmp_path, f'{UNDER_SLURM[way]} -- {program} 20 3 40', STEPSCOPE=str(stepscope),
               UCX_TLS="tcp,self", OMPI_MCA_btl="tcp,self")
    assert "4 of 4 ranks on 2 nodes" in done.stderr
    folder = only_folder(tmp_path)
    assert ranks_of(info(stepscope, folder)) == [0, 1, 2, 3]
    rows = json.loads(stepscope("report", folder, "--by", "collective", "--num-rows", "all",
                                "--format", "json").stdout)["tables"][0]["rows"]
    steps = [row for row in rows if (row["name"], row["bytes"]) == ("MPI_Allreduce", 8000)]
    assert len(steps) == 20 and {row["ranks"] for row in steps} == {4}
    assert sum(row["last_rank"] == 3 for row in steps) > 10


@pytest.mark.root
@pytest.mark.long
def test_torchrun_on_two_nodes_of_slurm(stepscope, torch_python, bed, tmp_path):
    """torchrun's ranks win over srun's tasks."""
    bin_folder = pathlib.Path(torch_python).parent
    program = [bin_folder / "torchrun", "--nproc-per-node", "2",
               ROOT / "tests" / "workloads" / "torch_ranks.py"]
    (tmp_path / "job.sh").write_text(
        stepscope("record", "--print-job", "slurm", "--", *program).stdout)
    bed(tmp_path, "sbatch --wait -N2 job.sh", PATH=f"{bin_folder}:{os.environ['PATH']}")
    found = info(stepscope, only_folder(tmp_path))
    assert found["runs"][0]["world_size"] == found["runs"][0]["ranks"] == 4
    assert ranks_of(found) == [0, 1, 2, 3] and found["state"] == "complete"


READING = {"none": 1, "pmi2": 0, "pmix": 0}  # how many processes work alone


@pytest.mark.root
@pytest.mark.mpi
@pytest.mark.long
@pytest.mark.parametrize("kind", READING)
def test_tasks_of_slurm_read_a_run_together(stepscope, bed, tmp_path, kind):
    tool = stepscope.path.resolve().parent / "tests" / "training_ranks"
    plug_in = {"pmi2": "mpich", "pmix": "openmpi"}.get(kind)
    if not tool.exists() or (plug_in and not (
            stepscope.path.resolve().parent / "libexec" / f"workers-{plug_in}.so").exists()):
        pytest.skip(f"no training_ranks, or no plug-in for {plug_in}")
    folder = tmp_path / "t.stepscope"
    run([tool, folder, 24, 20, 3], tmp_path)
    done = bed(tmp_path, f'srun --mpi={kind} -N2 -n4 "$STEPSCOPE" report --by rank "$RUN"',
               STEPSCOPE=str(stepscope), RUN=str(folder), UCX_TLS="tcp,self",
               OMPI_MCA_btl="tcp,self")
    assert done.stdout == stepscope("report", "--by", "rank", folder).stdout
    assert done.stderr.count("works alone") == READING[kind]


@pytest.mark.root
@pytest.mark.long
def test_the_bed_leaves_nothing_behind(bed, tmp_path):
    before = set(pathlib.Path("/tmp").glob("slurm-bed-*"))
    done = subprocess.run([BED, "--", "srun", "-N2", "bash", "-c", "sleep 100 & exit 3"],
                          check=False, cwd=tmp_path, timeout=120)
    assert done.returncode == 3
    assert set(pathlib.Path("/tmp").glob("slurm-bed-*")) == before
    assert left_of("slurm-bed-") == []


@pytest.mark.root
@pytest.mark.long
def test_a_killed_bed_leaves_no_process_behind(bed, tmp_path):
    before = set(pathlib.Path("/tmp").glob("slurm-bed-*"))
    with subprocess.Popen([BED, "--", "srun", "-N2", "bash", "-c", "echo here; sleep 100"],
                          cwd=tmp_path, stdout=subprocess.PIPE, text=True) as one:
        one.stdout.readline()
        (folder,) = set(pathlib.Path("/tmp").glob("slurm-bed-*")) - before
        one.kill()
    until(lambda: left_of(folder.name) == [], "its processes have ended")
    shutil.rmtree(folder)


def left_of(text):
    """Processes with this text in their command line."""
    return [path for path in pathlib.Path("/proc").glob("[0-9]*/cmdline") if
            text.encode() in _read(path)]


def _read(path):
    try:
        return path.read_bytes()
    except OSError:
        return b""
