# SPDX-License-Identifier: Apache-2.0
"""The program's own stdin, stdout and pipes are let go of; -o writes to stdout, pipes and devices."""

import gzip
import os
import pathlib
import subprocess
import sys

import pytest

WORKLOADS = pathlib.Path(__file__).resolve().parents[1] / "workloads"

# Closes everything it was given, then waits for its file to go.
CLOSER = """
import os, sys, time
print('written', flush=True)
for fd in (0, 1, int(sys.argv[2])): os.close(fd)
while os.path.exists(sys.argv[1]): time.sleep(0.02)
"""


def test_readers_and_writers_of_the_program_see_it_close(stepscope, tmp_path):
    flag = tmp_path / "flag"
    flag.touch()
    other_end, handed = os.pipe()
    run = subprocess.Popen([stepscope, "record", "-q", "-o", tmp_path / "t.pftrace", "--",
                            sys.executable, "-c", CLOSER, flag, str(handed)],
                           stdin=subprocess.PIPE, stdout=subprocess.PIPE, pass_fds=[handed])
    os.close(handed)
    try:
        assert run.stdout.read() == b"written\n"  # all of it, and the end
        assert os.read(other_end, 1) == b""
        with pytest.raises(BrokenPipeError):
            os.write(run.stdin.fileno(), b"x" * 100000)
        assert run.poll() is None  # all that while it runs
    finally:
        flag.unlink()
        run.stdin.raw.close()
        run.wait(timeout=120)
        os.close(other_end)


@pytest.fixture
def record(stepscope, python, tmp_path):
    """Records spin.py in `raw` to `output`; temporary files go below tmp_path."""
    def run(output, status=0, seconds="0.4", fmt=("-f", "raw"), **options):
        (tmp_path / "tmp").mkdir(exist_ok=True)
        done = subprocess.run([stepscope, "record", *fmt, "-o", output, "--", python,
                               WORKLOADS / "spin.py", "--seconds", seconds], cwd=tmp_path,
                              env={**os.environ, "TMPDIR": str(tmp_path / "tmp")},
                              stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                              timeout=60, **{"stdout": subprocess.PIPE, **options})
        assert done.returncode == status, done.stderr
        return done
    return run


@pytest.mark.parametrize("name", ["-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"])
def test_stdout_comes_behind_the_programs_own(record, tmp_path, name):
    out = tmp_path / "out.txt"
    with out.open("wb") as stdout:
        stdout.write(b"before\n")
        stdout.flush()
        done = record(name, stdout=stdout)
    text = out.read_text()
    assert text.startswith("before\n") and "hot (" in text  # not replaced
    assert "standard output" in done.stderr
    assert sorted(p.name for p in tmp_path.iterdir()) == ["out.txt", "tmp"]
    assert not list((tmp_path / "tmp").iterdir())


def test_a_pipe_named_by_its_descriptor(record, tmp_path):
    """As bash makes it of -o >(gzip > x)."""
    with (tmp_path / "x").open("wb") as out:
        zipper = subprocess.Popen(["gzip", "-c"], stdin=subprocess.PIPE, stdout=out)
    fd = zipper.stdin.fileno()
    record(f"/dev/fd/{fd}", pass_fds=[fd])
    zipper.stdin.close()
    zipper.wait()
    assert b"hot (" in gzip.decompress((tmp_path / "x").read_bytes())
    assert not list((tmp_path / "tmp").iterdir())


def test_devices_and_what_cannot_be(record, tmp_path):
    record("/dev/null")
    done = record("/dev/full")
    kept = list((tmp_path / "tmp").glob("*/*"))
    assert len(kept) == 1 and f"kept in {kept[0]}" in done.stderr
    assert "wrote" not in done.stderr
    done = record("-", fmt=(), status=2)
    assert "-f raw" in done.stderr
    record("/dev/fd/77", status=2)
    assert len(list((tmp_path / "tmp").iterdir())) == 1


def test_a_batch_job_gets_the_hottest_lines(record, monkeypatch):
    for rank, shown in ((None, True), ("0", True), ("3", False)):
        if rank is not None:
            monkeypatch.setenv("RANK", rank)
            monkeypatch.setenv("WORLD_SIZE", "4")
        summary = record("job.pftrace", fmt=(), seconds="0.8").stderr
        assert "stepscope: wrote job.pftrace: " in summary
        assert ("Hottest lines" in summary) == shown and ("spin.py:" in summary) == shown, summary


@pytest.mark.parametrize("given", ["--stats", "--stats=true"])
def test_stats_leave_the_tables_in_a_jobs_output(stepscope, package, python, tmp_path, given):
    """As nsys has it, in the order of the job's own lines; standard output is the program's."""
    (tmp_path / "program.py").write_text(
        "import stepscope, time\nprint('loss 0.5', flush=True)\n"
        "with stepscope.annotate('work'):\n"
        "    end = time.time() + 0.8\n    while time.time() < end: sum(range(1000))\n")
    done = stepscope("record", given, "-o", tmp_path / "job.pftrace", "--", python,
                     tmp_path / "program.py", env={"PYTHONPATH": str(package)})
    assert done.stdout == "loss 0.5\n"
    overview = stepscope("report", tmp_path / "job.pftrace").stdout
    ranges = stepscope("report", "--by", "range", tmp_path / "job.pftrace").stdout
    assert overview in done.stderr and ranges in done.stderr
    assert done.stderr.index("stepscope: wrote") < done.stderr.index(overview)


def test_stats_of_windows_and_of_no_stats(stepscope, package, python, tmp_path):
    environment = {"PYTHONPATH": str(package)}
    program = ["--", python, WORKLOADS / "scheduled.py", "7"]
    done = stepscope("record", "--stats", "--schedule", "wait=1,warmup=0,active=2,repeat=2", "-o",
                     tmp_path / "out" / "w{window}.pftrace", *program, env=environment)
    assert "w0.pftrace and 1 more" in done.stderr and "A step takes" in done.stderr
    done = stepscope("record", "--stats=false", "-o", tmp_path / "a.pftrace", *program,
                     env=environment)
    assert "Hottest lines" in done.stderr and "Recorded" not in done.stderr
    for options in (["--stats=maybe"], ["--stats", "-f", "flamegraph"],
                    ["--stats", "-f", "raw", "-o", "-"]):
        assert "--stats" in stepscope("record", *options, *program, status=2).stderr


def test_the_native_trace_beside_a_converted_one(stepscope, record, tmp_path):
    record("run.svg", fmt=("--keep-native",))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["run.pftrace", "run.svg", "tmp"]
    assert "hot" in stepscope("report", "--by", "function", tmp_path / "run.pftrace").stdout
    record("again.svg", fmt=())
    assert not (tmp_path / "again.pftrace").exists()
