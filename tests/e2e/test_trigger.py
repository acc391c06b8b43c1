# SPDX-License-Identifier: Apache-2.0
"""Windows on demand: `stepscope trigger` and recorders with --on-demand."""

import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import stat
import subprocess
import time

import pytest
from conftest import ranks_without_torchrun
from target import HANGS_AFTER_S, info_so_far, is_alive, until
from test_annotations import Trace

WORKLOADS = pathlib.Path(__file__).resolve().parents[1] / "workloads"
STEPS = WORKLOADS / "marked_steps.py"
NO_STEPS = """
import pathlib, sys, time
stop, here = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[1] + ".0")
here.write_text("0 0")
while not stop.exists():
    sum(range(100000))
    time.sleep(0.002)
"""


class Job:
    """A job that is recorded on demand until the test ends it. Its steps stand still until all ranks are
    armed for a window, and are fast then."""

    def __init__(self, stepscope, run, stop, process, ranks):
        self.stepscope, self.run, self.stop, self.process = stepscope, run, stop, process
        self.ranks, self.fast = ranks, pathlib.Path(f"{stop}.fast")
        self.hold = pathlib.Path(f"{stop}.hold")

    def requests(self):
        """The folder of requests."""
        within = self.run / "on-demand"
        return within if within.is_dir() else pathlib.Path(f"{self.run}.on-demand")

    def start(self, *options):
        """A trigger that waits for its window."""
        command = [str(self.stepscope), "trigger", str(self.run), "--wait", "--format", "json", *options]
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def said(self, state):
        """How many answers of the ranks have this state."""
        with contextlib.suppress(FileNotFoundError):  # they are replaced as they change
            return sum(said.read_text().count(f" {state} ") for said in self.requests().glob("*.said"))
        return 0

    def armed(self):
        """How many windows lie ahead of the ranks."""
        return self.said("armed")

    def hold_from(self, step):
        written = pathlib.Path(f"{self.hold}.new")
        written.write_text(str(step))
        written.replace(self.hold)

    def trigger(self, *options, status=0):
        done = self.stepscope("trigger", self.run, *options, "--format", "json", status=status)
        return json.loads(done.stdout)

    def requested_steps(self):
        """The first steps of requested windows, by the request's number."""
        found = {}
        for request in self.requests().glob("*.request"):
            with contextlib.suppress(FileNotFoundError), open(request, "rb") as file:
                words = file.read(256).split()  # a test leaves a longer one
                if words[:3] == [b"stepscope", b"request", b"1"] and words[4] == b"steps":
                    found[words[3]] = int(words[5])
        return found

    def window(self, *options):
        """The answer of a trigger that has waited for its window. A rank is armed as it marks a step: none
        marks one before all are asked, and none reaches the window before all are armed."""
        before, earlier = self.armed(), self.requested_steps()
        self.hold_from("")
        waiting = self.start(*options)
        until(lambda: self.said("waiting") + self.armed() == before + self.ranks or waiting.poll() is not None,
              "the ranks are asked")
        first = [step for number, step in self.requested_steps().items() if number not in earlier]
        self.hold_from(first[0] - 1 if first else "0")
        until(lambda: self.armed() == before + self.ranks or waiting.poll() is not None, "the ranks are armed")
        self.hold.unlink()
        return self.answer(waiting)

    def answer(self, *waiting):
        """Of triggers that wait, once the steps are fast."""
        self.fast.touch()
        said = [one.communicate(timeout=HANGS_AFTER_S) for one in waiting]
        self.fast.unlink()
        assert [one.returncode for one in waiting] == [0] * len(waiting), said
        answers = [json.loads(out) for out, _ in said]
        return answers if len(waiting) > 1 else answers[0]

    def position(self, rank=0):
        """Its process and its step."""
        here = pathlib.Path(f"{self.stop}.{rank}")
        return tuple(map(int, until(lambda: here.read_text().split(), "a position")))

    def end(self, status=0):
        self.stop.write_text("")
        out, err = self.process.communicate(timeout=120)
        assert status is None or self.process.returncode == status, err
        return err


@contextlib.contextmanager
def started(stepscope, run, folder, command, ranks, environment, options=()):
    stop = folder / "stop"
    process = subprocess.Popen([str(word) for word in (*command, stop, *options)], cwd=folder, text=True,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               stdin=subprocess.DEVNULL, env={**os.environ, **environment})
    job = Job(stepscope, run, stop, process, ranks)
    try:
        until(lambda: process.poll() is not None or all(
            pathlib.Path(f"{stop}.{rank}").exists() and pathlib.Path(f"{stop}.{rank}").read_text()
            for rank in range(ranks)), "the ranks train")
        assert process.poll() is None, process.communicate()[1]
        yield job
    finally:
        stop.write_text("")
        try:
            process.communicate(timeout=60)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()


EACH_OR_ALL = pytest.mark.parametrize("each", [True, False], ids=["a recorder each", "a recorder for all"])


def ranks(stepscope, python, package, folder, each=True, apart=0):
    """Four ranks, with a recorder for each, or with one for all of them."""
    run = folder / "run.stepscope"
    record = [stepscope, "record", "-q", "--on-demand", "-o", run, "--"]
    program = [python, STEPS]
    command = (ranks_without_torchrun(4, *record, *program) if each
               else [*record, *ranks_without_torchrun(4, *program)])
    return started(stepscope, run, folder, command, 4, {"PYTHONPATH": str(package)},
                   ["--apart", apart] if apart else [])


def ranks_of_torchrun(stepscope, torch_python, folder, each):
    run = folder / "run.stepscope"
    torchrun = [torch_python, "-m", "torch.distributed.run", "--nproc-per-node", "4"]
    record = [stepscope, "record", "-q", "--on-demand", "-o", run, "--"]
    command = ([*torchrun, "--no-python", *record, torch_python, WORKLOADS / "torch_endless.py"] if each
               else [*record, *torchrun, WORKLOADS / "torch_endless.py"])
    return started(stepscope, run, folder, command, 4, {})


def windows(stepscope, trace, *options):
    """The steps of a recording that are in a window."""
    found = json.loads(stepscope("report", trace, "--by", "step", "--format", "json",
                                 *options).stdout)
    return [row["step"] for row in found["tables"][0]["rows"] if row["kind"] != "outside"]


def steps_of(answer):
    return list(range(answer["first_step"], answer["last_step"] + 1))


def states(answer):
    return [(rank["rank"], rank["state"]) for rank in answer["ranks"]]


@pytest.fixture
def alone(stepscope, package, python, tmp_path):
    run = tmp_path / "run.pftrace"
    command = [stepscope, "record", "-q", "--on-demand", "-o", run, "--", python, STEPS]
    with started(stepscope, run, tmp_path, command, 1, {"PYTHONPATH": str(package)}) as job:
        yield job


def check_that_ranks_record_the_same_steps(stepscope, job, each):
    late = job.trigger("--steps", "0", status=1)
    assert states(late) == [(rank, "too late") for rank in range(4)]
    done = job.window("--steps", "+5:+9")
    assert states(done) == [(rank, "recorded") for rank in range(4)]
    assert done["last_step"] - done["first_step"] == 4
    assert all(pathlib.Path(job.run.parent, rank["path"]).is_file() for rank in done["ranks"])
    job.end()
    assert not (job.run / "on-demand").exists()
    assert len(list(job.run.glob("*/*.pftrace"))) == (4 if each else 1)
    for rank in range(4):
        assert windows(stepscope, job.run, "--rank", str(rank)) == steps_of(done)


@EACH_OR_ALL
def test_ranks_record_the_same_steps(stepscope, python, package, tmp_path, each):
    with ranks(stepscope, python, package, tmp_path, each) as job:
        check_that_ranks_record_the_same_steps(stepscope, job, each)


@pytest.mark.long
@EACH_OR_ALL
def test_ranks_of_torchrun_record_the_same_steps(stepscope, torch_python, tmp_path, each):
    """The same with PyTorch's ranks, whose steps the hooks find. Long: each of five processes imports
    PyTorch."""
    with ranks_of_torchrun(stepscope, torch_python, tmp_path, each) as job:
        check_that_ranks_record_the_same_steps(stepscope, job, each)


def test_ranks_that_are_further_or_killed_are_named(stepscope, python, package, tmp_path):
    """Ranks that do not wait for each other, 100,000 steps apart: a step between them is late for some.
    One is killed while it is armed, then the job ends."""
    with ranks(stepscope, python, package, tmp_path, apart=100000) as job:
        answer = job.trigger("--steps", "150000:150001", status=1)
        assert states(answer) == [(0, "armed"), (1, "armed"), (2, "too late"), (3, "too late")]
        assert [rank["step"] // 100000 for rank in answer["ranks"]] == [0, 1, 2, 3]
        ahead = job.trigger("--steps", "+1000")  # of 50 ms: a busy machine is asked long before
        assert states(ahead) == [(rank, "armed") for rank in range(4)]
        assert ahead["first_step"] > 300000
        waiting = job.start("--steps", "900000")
        until(lambda: list(job.requests().glob("*.request")), "a request")
        until(lambda: len([said for said in job.requests().glob("*.said")
                           if " armed " in said.read_text()]) == 4, "all are armed")
        killed = job.position(2)[0]
        os.kill(killed, signal.SIGKILL)
        until(lambda: not is_alive(killed), "the end of rank 2")
        job.end(status=1)
        out, err = waiting.communicate(timeout=120)
        assert waiting.returncode == 1, err
        assert states(json.loads(out)) == [(rank, "gone") for rank in range(4)]


def test_a_recorder_that_is_killed(alone):
    """Its lock shows it."""
    recorder = next(int(name.name.rsplit(".", 1)[1]) for name in alone.requests().iterdir()
                    if name.suffix[1:].isdigit())
    os.kill(recorder, signal.SIGKILL)
    answer = alone.trigger("--steps", "900000", status=1)
    assert [rank["state"] for rank in answer["ranks"]] == ["gone"]
    alone.end(status=None)


def test_other_files_in_the_folder_of_requests(alone):
    """They are not recorders, neither stall nor answer, and nothing is said of them."""
    folder = alone.requests()
    for name, text in (("notes.txt", "recorded"), ("host.1234", "junk"), ("host.1234.said", "recorded"),
                       ("0.said", ""), ("empty.77", ""), ("1234.request", "steps 1 2"), ("\x1b[31m.1", "x")):
        (folder / name).write_text(text)
        (folder / name).chmod(0o600)
    for name in ("long.88", "long.request"):
        (folder / name).write_text("x")
        (folder / name).chmod(0o600)
        os.truncate(folder / name, 1 << 40)
    os.mkfifo(folder / "pipe.99", 0o600)
    (folder / "folder.1").mkdir()
    (folder / "link.1").symlink_to("notes.txt")
    done = alone.window("--steps", "+2:+4")
    assert [rank["state"] for rank in done["ranks"]] == ["recorded"]
    recorder = next(int(name.name.rsplit(".", 1)[1]) for name in folder.iterdir()
                    if name.suffix[1:].isdigit() and name.stat().st_size < 1000 and name.is_file() and name.read_bytes()[:18] == b"stepscope recorder")
    os.kill(recorder, signal.SIGKILL)
    answer = alone.trigger("--steps", "900000", status=1)
    assert [rank["state"] for rank in answer["ranks"]] == ["gone"]
    alone.end(status=None)


def test_one_process_and_its_window(alone, stepscope):
    done = alone.window("--steps", "+2:+4")
    assert [rank["state"] for rank in done["ranks"]] == ["recorded"]
    alone.end()
    assert windows(stepscope, alone.run) == steps_of(done)


def test_nothing_is_recorded_without_a_request(alone, stepscope):
    alone.fast.touch()
    until(lambda: alone.position()[1] > 50, "50 steps")
    assert "no window was recorded: none was requested" in alone.end()
    assert stepscope("info", alone.run).stdout.count("samples           0 ") == 1


def test_samples_are_taken_in_windows_only(alone, stepscope, tools):
    """Before and after a window the recorder reads the list of processes ten times a second; in it, it
    samples at its whole rate."""
    begun = time.monotonic()
    until(lambda: alone.position()[1] > 15, "15 slow steps")
    asked = time.monotonic()
    done = alone.window("--steps", "+5:+104")
    asked_s = time.monotonic() - asked
    last = alone.position()[1]
    until(lambda: alone.position()[1] > last + 15, "15 more slow steps")
    alone.end()
    whole_s = time.monotonic() - begun
    samples = Trace(tools, alone.run).rows["sample"]
    assert {row["step"] for row in samples} <= {*steps_of(done), -1} and samples
    (one,) = json.loads(stepscope("report", alone.run, "--format", "json").stdout)["header"]["inputs"]
    steps = json.loads(stepscope("report", alone.run, "--by", "step", "--format",
                                 "json").stdout)["tables"][0]["rows"]
    window_s = sum(row["duration_ns"] for row in steps if row["step"] in steps_of(done)) / 1e9
    due = one["counts"]["ticks_due"]  # by the clock: also those that a busy machine skipped
    assert 0.9 * window_s * one["asked_hz"] < due
    assert due < 1.1 * (asked_s * one["asked_hz"] + 10 * (whole_s - asked_s)) + 20, (asked_s, whole_s)


def test_two_requests_at_once(alone, stepscope):
    """Each is answered; what they have in common is recorded once."""
    first = alone.position()[1] + 200
    pair = [alone.start("--steps", steps) for steps in (f"{first}:{first + 3}", f"{first + 2}:{first + 6}")]
    until(lambda: alone.armed() == 2, "both are armed")
    answers = alone.answer(*pair)
    assert [rank["state"] for one in answers for rank in one["ranks"]] == ["recorded"] * 2
    alone.end()
    assert windows(stepscope, alone.run) == list(range(first, first + 7))


def test_seconds_of_a_program_without_steps(stepscope, package, python, tmp_path):
    run = tmp_path / "run.pftrace"
    command = [stepscope, "record", "-q", "--on-demand", "-o", run, "--", python, "-c", NO_STEPS]
    with started(stepscope, run, tmp_path, command, 1, {"PYTHONPATH": str(package)}) as job:
        answer = job.trigger("--steps", "5", "--timeout", "0.1", status=1)
        assert [rank["state"] for rank in answer["ranks"]] == ["no steps"]
        assert stepscope("trigger", run, "--steps", "+5", "--timeout", "0.1", status=3).stderr.startswith(
            "stepscope trigger: no rank has marked a step yet")
        windows_asked = 0

        def window_has_samples():
            nonlocal windows_asked
            answer = job.trigger("--seconds", "0.2", "--wait")
            windows_asked += 1
            assert [rank["state"] for rank in answer["ranks"]] == ["recorded"]
            assert answer["end_ns"] - answer["begin_ns"] == 200000000
            return windows_asked > 1 and info_so_far(stepscope, run)["samples"] > 0
        until(window_has_samples, "samples")
        job.end()
    found = json.loads(stepscope("report", run, "--format", "json").stdout)
    assert 0 < found["header"]["inputs"][0]["samples"] <= 35 * windows_asked  # at 100 Hz


def test_a_file_for_each_window(stepscope, package, python, tmp_path):
    run = tmp_path / "run.stepscope"
    command = [stepscope, "record", "-q", "--on-demand", "--per-window", "-o", run, "--", python,
               STEPS]
    with started(stepscope, run, tmp_path, command, 1, {"PYTHONPATH": str(package)}) as job:
        paths = []
        for _ in range(2):
            done = job.window("--steps", "+2:+4")
            paths.append(pathlib.Path(done["ranks"][0]["path"]))
            assert windows(stepscope, paths[-1]) == steps_of(done)
        assert sorted(paths) == sorted(run.glob("*.pftrace"))
        job.end()


# --- what must not work -----------------------------------------------------------------------------

def leave(job, text, name="00000000000000aa.request", mode=0o600):
    path = job.requests() / name
    draft = job.requests() / ".draft"
    draft.write_text(text)
    draft.chmod(mode)
    draft.rename(path)
    return path


def test_the_folder_is_private(alone):
    folder = alone.requests()
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert all(stat.S_IMODE(path.stat().st_mode) == 0o600 for path in folder.iterdir())
    token = (folder / "token").read_text()
    assert re.fullmatch("[0-9a-f]{32}", token)


UNSIGNED = {
    "a bad code": "stepscope request 1 00000000000000aa steps 1000000 1000001\n" + "0" * 32 + "\n",
    "no code": "stepscope request 1 00000000000000aa steps 1000000 1000001\n",
    "nothing": "",
    "zeros": "\0" * 4000,
    "bad numbers": "stepscope request 1 00000000000000aa steps -1 99999999999999999999\n" + "0" * 32 + "\n",
    "too much": "x" * 2000000}


def test_requests_that_are_not_signed_are_refused(alone, stepscope):
    """Each of them; the program is served."""
    for number, text in enumerate(UNSIGNED.values()):
        leave(alone, text, f"{number:016x}.request")
    answer = alone.window("--steps", "+2")
    assert [rank["state"] for rank in answer["ranks"]] == ["recorded"]
    assert "a request was refused" in alone.end()
    assert windows(stepscope, alone.run) == steps_of(answer)
    found = stepscope("info", alone.run).stdout
    assert re.search(rf"on-demand +ran +[0-9]+ requests, {len(UNSIGNED)} refused", found)


def test_a_request_that_others_can_write_is_refused(alone):
    """Signed, and still refused: it was copied from a request of the user."""
    waiting = alone.start("--steps", "900000")
    path = until(lambda: next(alone.requests().glob("*.request"), None), "a request")
    text = path.read_text()
    waiting.terminate()
    waiting.communicate()
    assert not path.exists()  # it takes its request back
    leave(alone, text, mode=0o666)
    answer = alone.window("--steps", "+2")
    assert [rank["state"] for rank in answer["ranks"]] == ["recorded"]
    assert "is not a private file of this user" in alone.end()


def as_another(act):
    child = os.fork()
    if child == 0:
        os.setgroups([])
        os.setgid(65534)
        os.setuid(65534)
        os._exit(act())
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to be two users")
def test_another_user_can_request_nothing(alone, stepscope, tmp_path):
    """Not by the command, nor by a file, nor by what it reads there."""
    for folder in [tmp_path, *tmp_path.parents][:-1]:
        folder.chmod(folder.stat().st_mode | 0o055)
    mine = tmp_path / "stepscope"
    shutil.copy(stepscope, mine)
    mine.chmod(0o755)

    def command():
        done = subprocess.run([mine, "trigger", alone.run, "--steps", "900000"], text=True, cwd="/",
                              capture_output=True, check=False)
        return done.returncode if "ermission denied" in done.stderr else 99

    def refused(act):
        try:
            act()
        except PermissionError:
            return 0
        return 1
    assert as_another(command) == 4
    assert as_another(lambda: refused(lambda: os.listdir(alone.requests()))) == 0
    assert as_another(lambda: refused((alone.requests() / "token").read_text)) == 0
    assert as_another(lambda: refused((alone.requests() / "b.request").touch)) == 0
    alone.end()


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to be two users")
def test_a_folder_of_another_user_is_not_used(stepscope, package, python, tmp_path):
    run = tmp_path / "run.pftrace"
    theirs = tmp_path / "run.pftrace.on-demand"
    theirs.mkdir(mode=0o777)
    os.chown(theirs, 65534, 65534)
    command = [stepscope, "record", "-q", "--on-demand", "-o", run, "--", python, STEPS]
    with started(stepscope, run, tmp_path, command, 1, {"PYTHONPATH": str(package)}) as job:
        failed = stepscope("trigger", run, "--steps", "9", status=4)
        assert "not a private folder of this user" in failed.stderr
        assert "no window can be requested" in job.end()
    assert list(theirs.iterdir()) == []


def test_a_thousand_requests(alone):
    """At most 64 count at a time, and eight windows lie ahead of a process; the program is served."""
    folder = alone.requests()
    waiting = alone.start("--steps", "900000")
    path = until(lambda: next(folder.glob("*.request"), None), "a request")
    text = path.read_text()
    for number in range(1000):
        leave(alone, text, f"{number:016x}.request")
    answer = alone.trigger("--steps", "800000", "--timeout", "0.5", status=None)
    assert len(answer["ranks"]) == 1
    for path in folder.glob("*.request"):
        path.unlink()
    waiting.terminate()
    waiting.communicate()
    done = alone.window("--steps", "+2")
    assert [rank["state"] for rank in done["ranks"]] == ["recorded"]
    alone.end()


def test_eight_windows_ahead_are_the_most(alone):
    waiting = [alone.start("--steps", str(900000 + 10 * number)) for number in range(8)]
    until(lambda: alone.armed() == 8, "eight are armed")
    answer = alone.trigger("--steps", "800000", status=1)
    assert [rank["state"] for rank in answer["ranks"]] == ["busy"]
    alone.end()
    for one in waiting:
        assert "gone" in one.communicate(timeout=60)[0] and one.returncode == 1


def test_a_window_that_is_cut_by_the_end(alone):
    first = alone.position()[1] + 100
    waiting = alone.start("--steps", f"{first}:900000")
    until(lambda: alone.armed() == 1, "it is armed")
    alone.fast.touch()
    until(lambda: alone.position()[1] > first + 5, "the window is open")
    alone.end()
    out, _ = waiting.communicate(timeout=60)
    assert waiting.returncode == 1
    assert [rank["state"] for rank in json.loads(out)["ranks"]] == ["partial"]
    assert not alone.requests().exists()


# --- usage --------------------------------------------------------------------------------------------

@pytest.mark.parametrize("options", [(), ("--steps", "5:4"), ("--steps", "x"), ("--steps", "+5:9"),
                                     ("--steps", "+0"), ("--steps", "1", "--seconds", "1"),
                                     ("--seconds", "0")])
def test_usage(stepscope, tmp_path, options):
    assert stepscope("trigger", tmp_path / "run.pftrace", *options, status=2).stderr


def test_a_run_that_takes_no_requests(stepscope, python, tmp_path):
    run = tmp_path / "run.pftrace"
    stepscope("record", "-q", "-o", run, "--", python, "-c", "pass", status=None)
    failed = stepscope("trigger", run, "--steps", "9", status=4)
    assert "takes no requests" in failed.stderr
    assert stepscope("trigger", tmp_path / "none", "--steps", "9", status=4).stderr


@pytest.mark.parametrize("option", [("--schedule", "active=1"), ("--no-inject",)])
def test_other_ways_to_select_steps(stepscope, option):
    done = stepscope("record", "--on-demand", *option, "--", "true", status=2)
    assert f"--on-demand and {option[0]} exclude each other" in done.stderr
