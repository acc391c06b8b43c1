# SPDX-License-Identifier: Apache-2.0
"""`record` with a file for each window of a schedule: what is in them, what they are called, which
stay, and what the program hears of them."""

import json
import os
import pathlib
import re
import signal
import subprocess

import pytest
from target import until
from interpreters import WORKLOADS


class Recorder:
    """Records scheduled.py, or another program, in a folder of its own."""

    def __init__(self, stepscope, python, package, folder):
        self.stepscope, self.python, self.package = stepscope, python, package
        self.folder = folder

    def command(self, template, *program, options=(), schedule="wait=1,active=2,repeat=2"):
        chosen = ["--schedule", schedule] if schedule else []
        return ["record", *chosen, "-r", 200, "-o", self.folder / template, *options, "--",
                *program]

    def scheduled(self, *arguments):
        return [self.python, WORKLOADS / "scheduled.py", *arguments]

    def __call__(self, template, *arguments, status=0, env=None, program=None, **keywords):
        program = program or self.scheduled(*arguments)
        command = self.command(template, *program, **keywords)
        return self.stepscope(*command, status=status,
                              env={"PYTHONPATH": str(self.package), **(env or {})})

    def files(self):
        return sorted(str(path.relative_to(self.folder)) for path in self.folder.rglob("*")
                      if path.is_file())


@pytest.fixture
def record(stepscope, python, package, tmp_path):
    folder = tmp_path / "out"
    folder.mkdir()
    return Recorder(stepscope, python, package, folder)


def rows(tools, path):
    text = subprocess.run([tools / "trace_events", path], capture_output=True, text=True,
                          check=True).stdout
    return [json.loads(line) for line in text.splitlines()]


def facts(stepscope, path):
    return json.loads(stepscope("info", "--format", "json", path).stdout)["files"][0]


def test_each_window_has_a_whole_file(stepscope, tools, record):
    done = record("ep{epoch}-ba{batch}-rank{rank}.pftrace", 8, "--inside", "1,2,4,5")
    assert record.files() == ["ep0-ba1-rank0.pftrace", "ep0-ba4-rank0.pftrace"]
    assert "wrote 2 files of windows" in done.stderr and "2 windows (0 partial)" in done.stderr
    for first, name in ((1, "ep0-ba1-rank0.pftrace"), (4, "ep0-ba4-rank0.pftrace")):
        path = record.folder / name
        assert stepscope("info", "--check", path).returncode == 0
        found = rows(tools, path)
        names = {row["ref"]: row["text"] for row in found if row["is"] == "name"}
        kinds = {row["ref"]: row["kind"] for row in found if row["is"] == "track"}
        tracks = {row["ref"]: row["name"] for row in found if row["is"] == "track"}
        samples = [row for row in found if row["is"] == "sample"]
        assert samples and {row["step"] for row in samples} <= {first, first + 1}
        events = [row for row in found if row["is"] == "event"]
        begun = [(names.get(row["name"]), row.get("payload")) for row in events
                 if row["kind"] == "begin" and kinds[row["track"]] == "ranges"]
        assert begun == [("train", None), ("step", first), ("step", first + 1)]
        assert [row["payload"] for row in events if row["kind"] == "begin" and
                tracks[row["track"]] == "step"] == [first, first + 1]
        assert sum(row["kind"] == "begin" for row in events) == \
            sum(row["kind"] == "end" for row in events)
        assert [row["payload"] for row in events if row["kind"] == "instant"] == [first, first + 1]
        notes = {row["kind"]: row["text"] for row in found if row["is"] == "note"}
        assert notes["window-ended"] == f"steps {first} to {first + 1}"
        report = stepscope("report", "--by", "function", "--idle", "all", "--num-rows", "all",
                           path).stdout
        assert "inside" in report and "outside" not in report
        info = facts(stepscope, path)
        wanted = {"window": (first - 1) // 3, "window_first_step": first, "window_partial": 0,
                  "window_last_step": first + 1, "schedule": "wait=1,active=2,repeat=2"}
        assert wanted.items() <= info["attributes"].items()
        counts = {row["source"]: row for row in info["counts"]}
        python = counts["python"]
        assert python["due"] == python["done"] + python["skipped"]
        assert python["seen"] == sum(python[key] for key in ("ok", "partial", "lost", "unchanged"))
        lasted_ns = events[-1]["ns"] - events[0]["ns"]
        assert 0 < python["seen"] and python["due"] <= 200 * lasted_ns / 1e9 + 20
        assert counts["annotations"]["seen"] < 30


@pytest.mark.parametrize("schedule, names", [
    ("per_epoch,wait=1,warmup=0,active=2", ["ba3-3-2", "ba7-3-6"]),
    ("per_epoch,wait=2,warmup=0,active=3", ["ba4-4-3", "ba8-4-7"])], ids=["whole", "cut"])
def test_names_that_say_how_a_window_ended(stepscope, record, schedule, names):
    """Hidden until it is over."""
    done = record("ba{last_batch}-{last_batch_in_epoch}-{last_step}.pftrace", 4, "--epochs", 2,
                  schedule=schedule)
    assert record.files() == [name + ".pftrace" for name in names]
    assert "wrote 2 files of windows, the last to " in done.stderr
    for name in record.files():
        assert stepscope("info", "--check", record.folder / name).returncode == 0


@pytest.mark.parametrize("name", ["w{window}.json", "ba{last_batch}.json"])
def test_native_traces_beside_what_is_made_of_them(stepscope, record, name):
    record(name, 8, schedule="wait=1,warmup=0,active=1,repeat=3",
           options=("--keep-native", "--traces-to-keep", "2"))
    files = record.files()
    stems = sorted({file.rsplit(".", 1)[0] for file in files})
    assert len(stems) == 2 and files == sorted(stem + ending for stem in stems
                                               for ending in (".json", ".pftrace"))
    assert "2 files" not in stepscope("report", record.folder / f"{stems[0]}.pftrace").stdout
    done = stepscope("report", record.folder)
    assert "2 files" in done.stdout and "skipped" not in done.stderr


def test_epochs_and_batches_stand_in_names(record):
    record("ep{epoch}-ba{batch_in_epoch}-{window:03}.pftrace", 3, "--epochs", 2,
           schedule="per_epoch,skip_first=1,warmup=0,active=1,repeat=2")
    assert record.files() == ["ep0-ba1-000.pftrace", "ep0-ba2-001.pftrace",
                              "ep1-ba1-002.pftrace", "ep1-ba2-003.pftrace"]


def test_ranks_of_launchers_stand_in_names(record):
    record("{rank}of{world_size}-{local_rank}-{window}.pftrace", 3, schedule="active=1,repeat=1",
           env={"RANK": "5", "WORLD_SIZE": "8", "LOCAL_RANK": "1"})
    assert record.files() == ["5of8-1-0.pftrace"]


def test_chrome_files(record):
    done = record("w{window}.json", 6, "--seconds", "0.03", schedule="wait=1,active=1,repeat=2")
    assert record.files() == ["w0.json", "w1.json"]
    for name in record.files():
        data = json.loads((record.folder / name).read_text())
        assert len(data["traceEvents"]) > 5
    assert "export" not in done.stderr


def test_the_newest_stay(record):
    done = record("w{window}.pftrace", 60, "--seconds", "0.002", schedule="active=1",
                  options=["--traces-to-keep", 3])
    written = int(re.search(r"wrote (\d+) files of windows and kept the newest 3",
                            done.stderr).group(1))
    assert written >= 59
    assert record.files() == sorted(f"w{n}.pftrace" for n in range(written - 3, written))


def test_a_window_that_is_cut_is_partial(stepscope, tools, record):
    done = record("w{window}.pftrace", 4, schedule="wait=1,active=20")
    assert "(1 partial)" in done.stderr
    notes = {row["kind"]: row["text"] for row in rows(tools, record.folder / "w0.pftrace")
             if row["is"] == "note"}
    assert "partial" in notes["window-ended"]
    assert stepscope("info", "--check", record.folder / "w0.pftrace").returncode == 0


def test_a_killed_program_leaves_its_window(stepscope, record):
    record("w{window}.pftrace", 4, "--kill", schedule="wait=1,active=20", status=-9)
    assert record.files() == ["w0.pftrace"]
    assert stepscope("info", "--check", record.folder / "w0.pftrace").returncode == 0


def recorders_of(parent):
    """Its children that record; not every kernel lists children."""
    found = []
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            pid, _, rest = stat.read_text().partition(" (")
        except OSError:
            continue # it ended meanwhile
        name, _, rest = rest.rpartition(") ")
        if name == "sscope-recorder" and int(rest.split()[1]) == parent:
            found.append(int(pid))
    return found


def test_a_killed_recorder_leaves_what_it_wrote(stepscope, record, tmp_path):
    script, end = tmp_path / "until.py", tmp_path / "end"
    script.write_text("import os, stepscope, sys\n"
                      "def busy():\n"
                      "    for _ in range(1000): sum(range(1000))\n"
                      "while not os.path.exists(sys.argv[1]):\n"
                      "    busy()\n"
                      "    stepscope.step()\n")
    command = record.command("w{window}.pftrace", record.python, script, end,
                             schedule="wait=1,active=1000000")
    process = subprocess.Popen([str(stepscope.path), *map(str, command)],
                               env={**os.environ, "PYTHONPATH": str(record.package)},
                               stderr=subprocess.PIPE, text=True)
    path = record.folder / "w0.pftrace"
    try:
        until(lambda: path.exists() and path.stat().st_size > 4000, "some units")
        recorder, = recorders_of(process.pid)
        os.kill(recorder, signal.SIGKILL)
    finally:
        end.touch()
        _, stderr = process.communicate(timeout=120)
    assert process.returncode == 0 # the program's own
    assert "the recorder was killed" in stderr
    report = stepscope("report", "--by", "function", "--idle", "all", path, status=None).stdout
    assert "busy" in report


def test_processes_with_windows_at_the_same_time(stepscope, tools, record, tmp_path):
    """Two ranks and a worker of one of them: every window has a file, the worker goes with its
    parent's."""
    script = tmp_path / "ranks.py"
    script.write_text(
        "import subprocess, sys\n"
        "ranks = [subprocess.Popen([sys.executable, *sys.argv[1:], *more])\n"
        "         for more in ([], ['--worker'])]\n"
        "sys.exit(max(rank.wait() for rank in ranks))\n")
    record("window{window}.pftrace", program=[record.python, script, WORKLOADS / "scheduled.py", 6],
           schedule="wait=1,active=3,repeat=1")
    found = record.files()
    assert len(found) == 2 and found[1] == "window0.pftrace"
    assert re.fullmatch(r"window0-pid\d+\.pftrace", found[0])
    workers = 0
    for name in found:
        lines = rows(tools, record.folder / name)
        steps = [row["payload"] for row in lines if row["is"] == "event" and
                 row["kind"] == "begin" and row["name"] == 0 and row.get("payload", 0) > 0]
        assert steps == [1, 2, 3] # of one process; who marks none yet goes along
        samples = [row.get("step", -1) for row in lines if row["is"] == "sample"]
        assert set(samples) <= {-1, 0, 1, 2, 3} and samples.count(0) <= 1  # while step 1 begins
        info = facts(stepscope, record.folder / name)
        parents = [process["parent_pid"] for process in info["processes"]
                   if "def work" in process["command"]]
        workers += info["attributes"]["window_pid"] in parents
    assert workers == 1


def test_no_window_says_why_and_leaves_nothing(record):
    done = record("w{window}.pftrace", 2, schedule="wait=9,active=1")
    assert "no window was recorded" in done.stderr and "wait=9" in done.stderr
    assert record.files() == []
    done = record("w{window}.pftrace", program=["true"], schedule=None)
    assert "followed no schedule" in done.stderr
    assert record.files() == []


def test_without_a_template_there_is_a_folder(stepscope, record):
    record("run.pftrace", 6, options=["--per-window"])
    found = record.files()
    assert len(found) == 2
    for number, name in enumerate(found):
        assert re.fullmatch(rf"run\.stepscope/rank0-pid\d+-window{number:05}\.pftrace", name)
    assert "busy" in stepscope("report", "--by", "function", record.folder / "run.stepscope").stdout


def test_nothing_is_overwritten_on_request(record):
    record("w{window}.pftrace", 3, schedule="active=1,repeat=1")
    before = (record.folder / "w0.pftrace").read_bytes()
    done = record("w{window}.pftrace", 3, schedule="active=1,repeat=1",
                  options=["--no-overwrite"], status=2)
    assert "is not empty" in done.stderr
    assert (record.folder / "w0.pftrace").read_bytes() == before
    done = record("w0.pftrace", 3, options=["--no-overwrite"], status=2)
    assert "exists already" in done.stderr


@pytest.mark.parametrize("template, words", [
    ("rank{rank}.pftrace", "the same for every window"),
    ("{token}.pftrace", "is unknown in this recording"),
    ("{nothing}-{window}.pftrace", "not known"),
    ("a\nb{window}.pftrace", "line break"),
])
def test_templates_that_cannot_be(record, template, words):
    done = record(template, 3, status=2)
    assert words in done.stderr
    assert record.files() == []


def test_doubled_braces_are_braces(record):
    record("{{a}}.pftrace", 2)
    record("{{b}}/w{window}.pftrace", 2, schedule="active=1,repeat=1",
           options=["--no-overwrite"])
    assert record.files() == ["{a}.pftrace", "{b}/w0.pftrace"]


def test_variables_of_the_environment_are_no_template(record):
    record("r%q{JOB}.pftrace", 2, env={"JOB": "7"})
    record("r%q{JOB}-w{window}.pftrace", 2, env={"JOB": "7"}, schedule="active=1,repeat=1")
    assert record.files() == ["r7-w0.pftrace", "r7.pftrace"]


def test_a_folder_is_no_name(stepscope, record):
    done = stepscope("record", "--schedule", "wait=1,active=2", "-o",
                     f"{record.folder}/w{{window}}/", "--", "true", status=2)
    assert "name a file in it" in done.stderr
    assert record.files() == []


@pytest.mark.parametrize("name, options", [("{window}.svg", ["-f", "flamegraph"]),
                                           ("{window}.pftrace", [])])
def test_what_is_no_file_is_left_alone(record, name, options):
    """No link is followed, no FIFO waited for, and both stay."""
    link, fifo = (record.folder / name.format(window=i) for i in (0, 1))
    other = record.folder / "other"
    other.write_text("mine")
    link.symlink_to(other)
    os.mkfifo(fifo)
    done = record(name, 8, options=options)
    assert "2 of 2 windows could not be written completely" in done.stderr
    assert other.read_text() == "mine" and link.is_symlink() and fifo.is_fifo()
    kept = [f"{i}.svg.pftrace" for i in (0, 1)] if options else []
    assert sorted(path.name for path in record.folder.iterdir()) == \
        sorted([link.name, fifo.name, other.name, *kept])


def test_a_folder_that_cannot_be_written(record):
    done = record("../../../../../../../../proc/w{window}.pftrace", 3, status=None)
    assert "cannot write into the folder" in done.stderr
    assert done.returncode == 0 and "without being recorded" in done.stderr


def test_a_disk_that_is_full(stepscope, record, tmp_path):
    folder = tmp_path / "small"
    folder.mkdir()
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "none", folder],
                          capture_output=True, text=True, check=False)
    if done.returncode != 0:
        pytest.skip(f"no small file system can be mounted here: {done.stderr.strip()}")
    try:
        record.folder = folder
        done = record("w{window}.pftrace", 40, "--seconds", "0.02", schedule="active=1")
        lost = re.search(r"(\d+) of \d+ windows could not be written completely: .*keeps free",
                         done.stderr)
        assert lost and 0 < int(lost.group(1))
        found = record.files()
        assert found
        whole = [name for name in found
                 if stepscope("info", "--check", folder / name, status=None).returncode == 0]
        assert len(whole) >= 1 and all((folder / name).stat().st_size > 0 for name in found)
    finally:
        subprocess.run(["umount", folder], check=True)


def test_a_folder_that_goes_away(stepscope, record, tmp_path):
    """A lost window is reported; the next has its file."""
    script = tmp_path / "vanish.py"
    script.write_text(
        "import os, shutil, stepscope, sys, time\n"
        "end = time.monotonic() + 60\n"
        "for i in range(6):\n"
        "    time.sleep(0.1)\n"
        "    if i == 2:\n"
        "        while not os.path.exists(sys.argv[1] + '/w0.pftrace') and time.monotonic() < end:\n"
        "            time.sleep(0.02)\n"
        "        shutil.rmtree(sys.argv[1])\n"
        "    stepscope.step()\n")
    done = record("in/w{window}.pftrace", program=[record.python, script, record.folder / "in"],
                  schedule="wait=1,active=2,repeat=2")
    assert "1 of 2 windows could not be written completely" in done.stderr
    assert record.files() == ["in/w1.pftrace"]
    assert stepscope("info", "--check", record.folder / "in/w1.pftrace").returncode == 0


def test_programs_bring_schedules_and_hear_of_files(record, tools):
    done = record("w{window}.pftrace", program=[tools / "sealed", "wait=1,active=2", 8, 20, 3, 1],
                  schedule=None)
    lines = done.stdout.splitlines()
    assert lines[:2] == ["schedule -1 0", "flush 1"]
    folder = record.folder
    assert lines[2:] == [f"sealed 0 1 2 0 there {folder}/w0.pftrace",
                         f"sealed 1 4 5 0 there {folder}/w1.pftrace",
                         f"sealed 2 7 8 1 there {folder}/w2.pftrace", "then 0"]


@pytest.mark.parametrize("active, ends", [(1, [0, 3]), (9, [2, 5])])
def test_steps_that_begin_behind_their_epoch(record, tools, active, ends):
    program = [tools / "sealed", f"per_epoch,warmup=0,active={active}", 6, 20, 2, 1, 3]
    done = record("s{step}-e{epoch}.pftrace", program=program, schedule=None)
    sealed = [line.split()[2:4] for line in done.stdout.splitlines() if line.startswith("sealed")]
    assert sealed == [["0", str(ends[0])], ["3", str(ends[1])]]
    assert record.files() == ["s0-e0.pftrace", "s3-e1.pftrace"]


def test_an_own_schedule_narrows_a_recording_of_one_file(record, tools):
    done = record("all.pftrace", program=[tools / "sealed", "wait=1,active=2,repeat=1", 6, 20, 0, 1],
                  schedule=None)
    assert done.stdout.splitlines()[-1] == "then 0"
    found = rows(tools, record.folder / "all.pftrace")
    kinds = {row["ref"]: row["kind"] for row in found if row["is"] == "track"}
    begun = [row for row in found if row["is"] == "event" and row["kind"] == "begin" and
             kinds[row["track"]] == "ranges"]
    assert len(begun) == 2


def test_the_end_of_a_recording_is_heard(stepscope, record, tools):
    """-d is over, the program runs on: it hears of its last window, then of the end."""
    done = record("w{window}.pftrace", program=[tools / "sealed", "active=1000", 40, 50, 1, 60000],
                  schedule=None, options=["-d", "1"])
    lines = done.stdout.splitlines()
    assert lines[-1] == "then -1"
    if not record.files():
        pytest.skip("the recording was over before the program had begun")
    assert lines[1] in ("flush -1", "flush 1")
    assert re.fullmatch(r"sealed 0 0 \d+ 1 there .*/w0.pftrace", lines[2])
    assert lines[3] == "then -1"
