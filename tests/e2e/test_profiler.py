# SPDX-License-Identifier: Apache-2.0
"""Programs that record themselves with stepscope.Profiler."""

import ast
import io
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import sysconfig
import textwrap
import time

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def package(stepscope, python, own_recorder):
    """The environment of a program that has the package and its program."""
    build = pathlib.Path(stepscope.path).resolve().parent
    env = {**os.environ, "PYTHONPATH": str(build / "python"),
           "PATH": f"{build}:{os.environ['PATH']}"}
    code = "import stepscope; print(getattr(stepscope._stepscope, 'has_runtime', 0))"
    done = subprocess.run([python, "-c", code], capture_output=True, text=True, check=False,
                          env=env)
    if done.stdout.strip() != "1":
        pytest.skip("no extension was built for the Python that runs the tests (its headers are "
                    "not installed)")
    return env


HEAD = """
import os, sys, time, signal, threading
import stepscope
from stepscope import Profiler, annotate
def work(seconds=0.01):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        with annotate("inner"): sum(range(2000))
def recorder():
    return stepscope._profiler.ProfileRegistry.get_profiler("stepscope")._recorder
def step():
    work()
    Profiler().step()
"""


class Run:
    """A program in the folder that its recordings are for."""

    def __init__(self, stepscope, python, env, folder):
        self.stepscope, self.python, self.env, self.folder = stepscope, python, env, folder

    def command(self, code):
        path = self.folder / "program.py"
        path.write_text(HEAD + textwrap.dedent(code))
        return [self.python, path]

    def __call__(self, code, status=0, before=(), **env):
        done = subprocess.run([*before, *self.command(code)], cwd=self.folder,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=300, check=False, env={**self.env, **env})
        assert done.returncode == status, done.stdout + done.stderr
        # Where the machine is busy a short recording may have none; that is not what is tested.
        done.stderr = "".join(line for line in done.stderr.splitlines(True)
                              if ": no samples: " not in line)
        return done

    def files(self, ending=".pftrace"):
        return sorted(path for path in self.folder.rglob(f"*{ending}"))

    def ranges(self, path, by="range"):
        """{name: rows} of the recording's ranges."""
        done = self.stepscope("report", "--by", by, "--num-rows", "all", "--format", "json", path,
                              status=None)
        found = {}
        for row in json.loads(done.stdout)["tables"][0]["rows"]:
            found.setdefault(row.get("range") or row.get("name"), []).append(row)
        return found


@pytest.fixture
def run(stepscope, python, package, tmp_path):
    return Run(stepscope, python, package, tmp_path)


def wait_until(condition, seconds=120):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it does not happen"
        time.sleep(0.02)


def is_gone(pid):
    """Also when the program does not reap it."""
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


# --- one recording after the other ---


def test_a_program_records_itself(run):
    done = run("""
        p = Profiler()
        assert p is stepscope.Profiler() and p.annotate is annotate
        assert not p.initialized and not stepscope.enabled()
        with p as entered:
            assert entered is p and p.initialized and not p.finalized and stepscope.enabled()
            for _ in range(4): step()
            try:
                print(os.wait())
            except ChildProcessError:
                print("no child")
        assert p.finalized and not stepscope.enabled()
        with annotate("between"): work()
        with Profiler() as again:
            assert again is p
            with annotate("second"): step()
        """)
    assert (done.stdout, done.stderr) == ("no child\n", "")
    first, second = sorted(run.files(), key=lambda path: path.stat().st_mtime_ns)
    assert {"inner", "step"} <= set(run.ranges(first))
    assert "second" not in run.ranges(first) and "between" not in run.ranges(first)
    assert "second" in run.ranges(second) and "between" not in run.ranges(second)
    assert "work" in run.ranges(first, "function")


def test_options_are_taken(run):
    run("""
        with Profiler(output_path="made/here", rate=250, trace_file="mine.pftrace"):
            step()
        assert str(Profiler().output_path) == "made/here"
        """)
    file, = run.files()
    assert file == run.folder / "made" / "here" / "mine.pftrace"
    info = run.stepscope("info", file).stdout
    assert "250" in info


@pytest.mark.parametrize("options, error, part", [
    ("schedule=3", "TypeError", "schedule is made by stepscope.schedule"),
    ("schedule='active=0'", "ValueError", "active is 0"),
    ("on_trace_ready=3", "TypeError", "on_trace_ready takes functions, not 3"),
    ("rate=0", "ValueError", "rate is 0"),
    ("rate='1'", "TypeError", "rate takes samples per second"),
    ("num_traces_to_keep=0", "ValueError", "keep 1 file or more"),
    ("overwrite=1", "TypeError", "overwrite takes True or False"),
    ("output_path=3", "TypeError", "output_path takes a path"),
])
def test_bad_options_are_refused(run, options, error, part):
    done = run(f"""
        try:
            Profiler({options})
        except {error} as error:
            print(error)
        """)
    assert part in done.stdout


def test_schedules_of_others_are_read(run):
    code = """
        def schedule(*, wait, warmup, active, repeat=0, skip_first=0, skip_first_wait=0):
            def function(step):
                return wait + warmup + active + repeat + skip_first + skip_first_wait
            return function
        from stepscope._options import read_options
        print(read_options({"schedule": schedule(wait=2, warmup=1, active=3)})["schedule"])
        """
    assert run(code).stdout == "wait=2,warmup=1,active=3\n"


def test_changes_wait_for_the_next_recording(run):
    done = run("""
        with Profiler():
            Profiler(rate=500)
            step()
        """)
    assert done.stderr == ("stepscope: Profiler: rate will apply from the next recording on: this "
                           "one has begun\n")


# --- windows ---

WINDOWS = """
calls = []
def note(window):
    calls.append((window.number, window.first_step, window.last_step, window.partial,
                  os.path.getsize(window) > 0, threading.current_thread().daemon))
"""


def test_windows_have_files_and_handlers_hear_of_them(run):
    done = run(WINDOWS + """
with Profiler(schedule=stepscope.schedule(wait=1, warmup=1, active=2, repeat=2),
              on_trace_ready=[note, lambda window: print(repr(window))],
              output_path="out") as p:
    for number in range(9):
        with annotate(f"step {number}"): work()
        p.step()
assert calls == [(0, 2, 3, False, True, True), (1, 6, 7, False, True, True)], calls
del calls[:]
with Profiler() as p:
    for _ in range(3): step()
# The steps of the run go on, those of the schedule begin again. Step 12 had only begun.
assert calls == [(2, 11, 12, True, True, True)], calls
""")
    assert done.stderr == "" and len(done.stdout.splitlines()) == 3
    assert sorted(path.name for path in run.files()) == [
        "ep0-ba11-rank0.pftrace", "ep0-ba2-rank0.pftrace", "ep0-ba6-rank0.pftrace"]
    first, = (run.folder / "out").glob("*/ep0-ba2-rank0.pftrace")
    assert {name for name in run.ranges(first) if name.startswith("step ")} == {"step 2", "step 3"}


def test_batches_of_epochs_and_names(run):
    run("""
        with Profiler(schedule=stepscope.cyclic_schedule(wait=1, warmup=0, active=1),
                      trace_file="e{epoch}/b{batch_in_epoch}.pftrace", output_path="out") as p:
            for epoch in range(2):
                stepscope.epoch(epoch, length=3)
                for _ in range(3): step()
        """)
    assert sorted(path.relative_to(run.folder / "out").as_posix() for path in run.files()) == [
        "e0/b1.pftrace", "e1/b1.pftrace"]


@pytest.mark.parametrize("options", ["", ", schedule='active=1,wait=1'"])
def test_braces_of_a_folder_are_its_own(run, options):
    (run.folder / "other").write_text("the folder above may hold what it likes")
    done = run(f"""
        with Profiler(output_path="{{a}}{{rank}}}}%p" {options}) as p:
            for _ in range(4): step()
        """)
    assert done.stderr == ""
    assert run.files() and {path.relative_to(run.folder).parts[0] for path in run.files()} == {
        "{a}{rank}}%p"}


def test_the_newest_files_stay_as_json(run):
    done = run("""
        with Profiler(schedule="active=1,wait=1", json=True, num_traces_to_keep=2,
                      on_trace_ready=lambda window: print(os.path.basename(window)),
                      output_path="out") as p:
            for _ in range(6): step()
        """)
    assert run.files() == [] and len(run.files(".json")) == 2
    assert done.stdout.split()[0] == "ep0-ba1-rank0.json"
    for path in run.files(".json"):
        assert json.loads(path.read_text())
    assert done.stderr == ""


def test_files_of_before_are_not_replaced(run):
    code = """
        with Profiler(output_path="out", trace_file="a.pftrace", overwrite={}): step()
        """
    assert run(code.format(False)).stderr == ""
    before = run.files()[0].stat().st_mtime_ns
    done = run(code.format(False))
    assert done.stderr.count("\n") == 1 and "exists already" in done.stderr
    assert run.files()[0].stat().st_mtime_ns == before
    assert run(code.format(True)).stderr == "" and run.files()[0].stat().st_mtime_ns > before


def test_a_recording_without_windows_reaches_the_handler(run):
    done = run("""
        for _ in range(2):
            with Profiler(on_trace_ready=lambda window: print(window.number, window.first_step,
                          window.partial, os.path.basename(window)), trace_file="whole.pftrace"):
                step()
        """)
    assert done.stdout == "0 None False whole.pftrace\n0 None False whole-2.pftrace\n"


def test_handlers_may_fail_and_take_their_time(run):
    done = run("""
        trained = threading.Event()
        def failing(window): raise OSError("the store is away")
        def slow(window):
            assert trained.wait(120)  # no step waits for this
            print("slow", window.number)
            Profiler().finalize()
        with Profiler(schedule="active=1,wait=1,repeat=2", on_trace_ready=[failing, slow]) as p:
            for _ in range(6): step()
            trained.set()
        """)
    assert done.stdout == "slow 0\nslow 1\n"
    assert len(done.stderr.splitlines()) == 2
    assert "stepscope: the trace handler failing failed for /" in done.stderr
    assert "OSError: the store is away (" in done.stderr and "program.py:" in done.stderr


def test_no_window_has_a_reason(run):
    done = run("""
        with Profiler(schedule="wait=20,warmup=1,active=2"):
            for _ in range(3): step()
        """)
    assert done.stderr == ("stepscope: no window was recorded: the first step that "
                           "wait=20,warmup=1,active=2 records is number 22, which the run never "
                           "reached; run longer, or lower these\n")


def test_a_schedule_is_gone_after_its_recording(run):
    run("""
        with Profiler(schedule="active=1,repeat=1", trace_file="{window}.pftrace"):
            for _ in range(3): step()
        Profiler()._options.clear()
        with Profiler(trace_file="all.pftrace"):
            with annotate("later"): step()
        """)
    assert "later" in run.ranges(run.folder / "all.pftrace")


def test_a_schedule_from_outside_is_the_one(run):
    done = run("""
        with Profiler(schedule="active=1,repeat=1", on_trace_ready=print):
            for _ in range(5): step()
        step()
        """, before=[run.stepscope, "record", "-q", "-o", "{window}.pftrace", "--schedule",
                     "wait=2,active=1,repeat=1", "--"])
    assert [path.name for path in run.files()] == ["0.pftrace"]
    assert done.stdout == f"{run.folder / '0.pftrace'}\n"
    assert "which overrides schedule: give" in done.stderr


def test_windows_under_a_recording_from_outside(run):
    code = WINDOWS + """
with Profiler(schedule="wait=1,active=1,repeat=2", on_trace_ready=note):
    for _ in range(5): step()
print([call[1:4] for call in calls])
"""
    outside = run.folder / "windows.pftrace"
    record = [run.stepscope, "record", "-q", "-o", outside]
    done = run(code, before=[*record, "--per-window", "--"])
    assert (done.stdout, done.stderr) == ("[(1, 1, False), (3, 3, False)]\n", "")
    assert len(run.files()) == 2
    done = run(code, before=[*record, "--"])
    assert done.stdout == "[]\n" and "give `stepscope record` --per-window" in done.stderr


# --- ends ---


def test_exit_ends_a_recording(run):
    run("""
        Profiler().initialize()
        step()
        sys.exit(3)
        """, status=3)
    file, = run.files()
    assert "inner" in run.ranges(file) and "closed, all checksums correct" in run.stepscope("info", file).stdout


def test_an_exception_ends_a_recording(run):
    done = run("""
        with Profiler():
            step()
            raise KeyboardInterrupt
        """, status=-signal.SIGINT)
    assert done.stderr.splitlines()[-1] == "KeyboardInterrupt"
    file, = run.files()
    assert "inner" in run.ranges(file) and "closed, all checksums correct" in run.stepscope("info", file).stdout


@pytest.mark.parametrize("end, status", [("os._exit(5)", 5),
                                         ("os.kill(os.getpid(), signal.SIGKILL)", -9)])
def test_the_recorder_ends_with_the_program(run, end, status):
    done = run(f"""
        Profiler().initialize()
        step()
        print(recorder().pid, flush=True)
        {end}
        """, status=status)
    wait_until(lambda: is_gone(done.stdout.strip()))
    file, = run.files()
    assert "inner" in run.ranges(file) and "closed, all checksums correct" in run.stepscope("info", file).stdout


def test_a_killed_recorder_does_not_matter(run):
    done = run("""
        with Profiler():
            step()
            os.kill(recorder().pid, signal.SIGKILL)
            while not recorder().is_over(): time.sleep(0.001)
            for _ in range(3): step()
        print("trained", stepscope.enabled())
        with Profiler():
            assert recorder() is not None
            step()
        """)
    assert done.stdout == "trained False\n"
    assert done.stderr.count("\n") == 1 and "recorder has ended before" in done.stderr


def test_a_recorder_killed_at_the_end_does_not_matter(run):
    """It has ended, or is about to, when the program ends the recording."""
    done = run("""
        for _ in range(3):
            with Profiler():
                step()
                os.kill(recorder().pid, signal.SIGKILL)
            print(stepscope.enabled())
        """)
    assert done.stdout == "False\n" * 3


def test_without_a_recorder_the_program_goes_on(run, tmp_path):
    empty = tmp_path / "empty"
    empty.mkdir()
    done = run("""
        for _ in range(2):
            with Profiler():
                for _ in range(3): step()
        print("trained")
        """, PATH=str(empty))
    assert done.stdout == "trained\n"
    assert done.stderr.count("\n") == 1
    assert "nothing is recorded: no stepscope program" in done.stderr and "run: " in done.stderr


def test_a_recorder_that_cannot_write_says_why(run):
    done = run("""
        with Profiler(output_path="/proc/none"): step()
        print("trained")
        """)
    assert done.stdout == "trained\n"
    assert done.stderr.count("\n") == 1 and "/proc/none" in done.stderr


# --- processes and threads ---


def test_a_forked_child_owns_nothing(run):
    run("""
        with Profiler() as p:
            step()
            child = os.fork()
            if child == 0:
                assert p.finalized and stepscope.enabled()
                with annotate("in the child"): work()
                p.finalize()
                sys.exit(0)
            assert os.wait() == (child, 0)
            with annotate("behind the child"): step()
        """)
    file, = run.files()
    assert {"in the child", "behind the child"} <= set(run.ranges(file))


def test_spawned_processes_record_themselves(run):
    run("""
        import multiprocessing
        def child(number):
            with Profiler(trace_file=f"child{number}.pftrace"):
                with annotate("in the child"): step()
        if __name__ == "__main__":
            context = multiprocessing.get_context("spawn")
            children = [context.Process(target=child, args=(number,)) for number in range(2)]
            for one in children: one.start()
            for one in children: one.join()
            assert [one.exitcode for one in children] == [0, 0]
        """)
    assert [path.name for path in run.files()] == ["child0.pftrace", "child1.pftrace"]
    assert all("in the child" in run.ranges(path) for path in run.files())


def test_processes_of_multiprocessing_end_their_own(run):
    run("""
        import multiprocessing
        def child():
            Profiler(trace_file="child.pftrace").initialize()
            with annotate("in the child"): step()
        child = multiprocessing.get_context("fork").Process(target=child)
        child.start()
        child.join()
        assert child.exitcode == 0
        """)
    file, = run.files()
    assert "in the child" in run.ranges(file)


def test_any_thread_may_begin_and_end(run):
    run("""
        def record():
            Profiler().initialize()
            step()
        threads = [threading.Thread(target=record) for _ in range(3)]
        for thread in threads: thread.start()
        for thread in threads: thread.join()
        ending = threading.Thread(target=Profiler().finalize)
        ending.start()
        ending.join()
        assert Profiler().finalized
        """)
    file, = run.files()
    assert len(run.ranges(file)["inner"]) == 3


def test_closed_standard_files_do_no_harm(run):
    run("""
        os.close(0); os.close(1); os.close(2)
        with Profiler(): step()
        """, status=0)
    assert len(run.files()) == 1


# --- under stepscope record ---


def test_a_recording_that_is_there_is_used(run):
    outside = run.folder / "outside.pftrace"
    done = run("""
        with Profiler(rate=500, json=True):
            assert recorder() is None
            with annotate("recorded outside"): step()
        """, before=[run.stepscope, "record", "-q", "-o", outside, "--"])
    assert run.files() == [outside]
    assert "recorded outside" in run.ranges(outside)
    assert done.stderr == ("stepscope: this program is being recorded from outside, which "
                           "overrides rate, json: give `stepscope record` the options, or start the program "
                           "without it\n")


# --- tools ---


def test_tools_of_ones_own(run):
    done = run("""
        from stepscope import ProfileRegistry, ProfilerWrapper
        def early(): return "early"
        class Tool(ProfilerWrapper):
            _name, _is_context, _is_decorator = "mine", True, True
            steps = 0
            def _standup(self): print("up")
            def __enter__(self): print("in"); return self
            def __exit__(self, *raised): print("out", raised[0])
            def __call__(self, function):
                def wrapped(*args):
                    return "wrapped " + function(*args)
                return wrapped
            def step(self): self.steps += 1
            def finalize(self, top): print("end", top, self.steps, self.output_dir(top))
        ProfileRegistry.register_profiler("mine", Tool)
        ProfileRegistry.register_profiler("mine", Tool)
        ProfileRegistry.register_profiler("also mine", Tool)
        p = Profiler(output_path="out")
        early = imported = p(early)
        assert early() == "early"
        tool = p.enable("mine")
        assert p.enable(Tool) is p.enable(tool) is p.get("also mine") is tool
        assert tool.enabled and not tool.initialized
        with p:
            assert tool.initialized and p.enabled
            print(imported(), [n for n in os.listdir("out")] != [])
            step(); step()
        print(early(), tool.finalized)
        with p: print(early())
        for wrong in (lambda: p.enable("nothing"), lambda: p.enable(3),
                      lambda: ProfileRegistry.register_profiler("mine", ProfilerWrapper)):
            try:
                wrong()
            except (KeyError, TypeError) as error:
                print(type(error).__name__, error)
        """)
    assert done.stdout.splitlines() == [
        "up", "in", "wrapped early True", "out None", "end out 2 out/mine", "early True",
        "up", "in", "wrapped early", "out None", "end out 2 out/mine",
        "KeyError \"no tool 'nothing'; registered are also mine, line_profile, line_profiler, mine, "
        "nvtx, stepscope, torch\"",
        "TypeError enable() takes the name of a tool, its class or object, not 3",
        "KeyError \"'mine' is already the name of Tool; choose another one\""]
    assert done.stderr == ""


def test_tools_that_fail_are_left_out(run):
    done = run("""
        from stepscope import ProfilerWrapper
        class Unavailable(ProfilerWrapper):
            _name = "missing"
            def unavailable(self): return "it is not installed; pip install it"
        class Refusing(ProfilerWrapper):
            _name = "refusing"
            def _standup(self): raise OSError("no")
        class Stumbling(ProfilerWrapper):
            _name = "stumbling"
            def step(self): raise ValueError("twice?")
            def finalize(self, top): raise OSError("disk full")
        class Last(ProfilerWrapper):
            _name = "last"
            def finalize(self): raise OSError("disk\\nfull")
        p = Profiler()
        assert not p.enable(Unavailable()).enabled
        refusing = p.enable(Refusing())
        p.enable(Stumbling()), p.enable(Last())
        with p:
            step(); step()
        assert not refusing.enabled
        print("trained")
        """)
    assert done.stdout == "trained\n"
    assert done.stderr.splitlines() == [
        "stepscope: missing is not enabled: it is not installed; pip install it",
        "stepscope: refusing is off: OSError: no",
        "stepscope: stumbling fails in step() and is disabled: ValueError: twice?",
        "stepscope: last could not write its results: OSError: disk full"]
    assert len(run.files()) == 1


def test_functions_stay_what_they_are(run):
    done = run("""
        import asyncio, inspect, pickle
        p = Profiler()
        @p
        def plain(a, b=2): "doc"; return a + b
        @p
        def counting(n):
            yield from range(n)
        @p
        async def waiting(n):
            await asyncio.sleep(0); return n
        @p
        async def asynchronous(n):
            for i in range(n): yield i
        class Model:
            @p
            def forward(self): return self
            @p
            @classmethod
            def make(cls): return cls
            @p
            @staticmethod
            def add(a): return a
            @p
            @property
            def width(self): return 7
        def check():
            model = Model()
            assert plain(1) == 3 and plain.__doc__ == "doc" and plain.__name__ == "plain"
            assert str(inspect.signature(plain)) == "(a, b=2)"
            assert pickle.loads(pickle.dumps(plain)) is plain
            assert list(counting(3)) == [0, 1, 2] and inspect.isgeneratorfunction(counting)
            assert asyncio.run(waiting(4)) == 4 and inspect.iscoroutinefunction(waiting)
            async def collect(): return [i async for i in asynchronous(3)]
            assert asyncio.run(collect()) == [0, 1, 2]
            assert model.forward() is model and Model.make() is Model and Model.add(5) == 5
            assert model.width == 7
        check()
        with p: check()
        check()
        try:
            p(3)
        except TypeError as error:
            print(error)
        """)
    assert "not 3" in done.stdout
    names = run.ranges(run.files()[0])
    assert {"plain", "counting", "waiting", "asynchronous", "Model.forward", "Model.make",
            "Model.add", "Model.width"} <= set(names)


def test_importing_the_package_does_not_import_the_profiler(run):
    done = run("print([n for n in sys.modules if n.startswith('stepscope.')])")
    assert "_profiler" in done.stdout  # HEAD asks for it
    done = subprocess.run([run.python, "-c", "import stepscope, sys; print([n for n in sys.modules "
                           "if n.startswith('stepscope.')])"], env=run.env, capture_output=True,
                          text=True, check=True)
    assert done.stdout == "['stepscope._stepscope']\n"


# --- PhysicsNeMo ---

PHYSICSNEMO = ["LineProfileWrapper", "ProfileRegistry", "Profiler", "TorchProfileWrapper",
               "TorchProfilerConfig", "annotate", "p", "profile"]


def test_physicsnemo_does_nothing_until_enabled(run):
    done = run("""
        from stepscope.compat.physicsnemo import Profiler, profile, annotate
        from stepscope.compat.physicsnemo.core import (PhysicsNeMoProfilerWrapper, ProfileRegistry,
                                                       _Profiler_Singleton)
        p = Profiler()
        @profile
        def function(): return 3
        imported = function
        with p:
            with annotate(color="blue"): function()
            p.step()
        assert not p.enabled and not stepscope.enabled() and not os.listdir(".") == []
        """)
    assert (done.stdout, done.stderr, run.files()) == ("", "", [])


def test_physicsnemo_with_nvtx(run):
    done = run("""
        from stepscope.compat.physicsnemo import Profiler, profile, annotate
        p = Profiler()
        config = {"nvtx": True, "torch": False}
        for key, value in config.items():
            if value: p.enable(key)
        p.initialize()
        @profile
        def forward(): work()
        for region in ("training", "validation"):
            with p:
                with annotate(region, color="no such colour"): forward()
        p.step()
        """)
    assert (done.stdout, done.stderr) == ("", "")
    file, = run.files()
    assert file.parent == run.folder / "physicsnemo_profiling_outputs" / "stepscope"
    assert {"training", "validation", "forward"} <= set(run.ranges(file))


def check_line_profiler(text):
    """The text is what line_profiler prints of the same times, to the byte."""
    line_profiler = pytest.importorskip("line_profiler")
    timings = {}
    for path, name, first, body in re.findall(
            r"File: (.*)\nFunction: (.*) at line (\d+)\n\n.*\n=+\n((?:.+\n)+)", text):
        rows = [line.split() for line in body.splitlines()]
        timings[path, int(first), name] = [(int(row[0]), int(row[1]), round(float(row[2])))
                                           for row in rows if len(row) > 4 and "." in row[2]]
    expected = io.StringIO()
    line_profiler.line_profiler.show_text(timings, 1e-9, stream=expected)
    assert len(timings) == 2 and text == expected.getvalue()


def test_physicsnemo_with_line_profile(run):
    if sysconfig.get_config_var("Py_GIL_DISABLED"):
        pytest.skip("a Python without the GIL traces no functions")
    done = run("""
        from stepscope.compat.physicsnemo import Profiler, profile
        @profile
        def forward(n):
            total = 0
            for i in range(n):
                total += i * i
            return total
        p = Profiler()
        p.output_path = "out"
        p.enable("line_profiler")
        @profile
        def late():
            return 3
        for _ in range(2):
            with p:
                for _ in range(3): forward(1000), late(), p.step()
            p.finalize()
        """)
    if "is off: RuntimeError" in done.stderr:
        pytest.skip(done.stderr)
    assert (done.stdout, done.stderr) == ("", "")
    assert len(run.files()) == 2
    for name in ("profiler_stats.txt", "profiler_stats_2.txt"):
        text = (run.folder / "out" / "line_profiler" / name).read_text()
        assert "forward" in text and "total += i * i" in text and "late" in text
        check_line_profiler(text)


def test_physicsnemo_ranks_have_their_folders(run):
    run("""
        from stepscope.compat.physicsnemo import Profiler
        p = Profiler()
        p.output_path = "out"
        p.enable("nvtx")
        with p: step()
        """, RANK="3", WORLD_SIZE="8")
    file, = run.files()
    assert file.parent == run.folder / "out" / "stepscope" / "rank_3"


TORCH = """
import torch
from stepscope.compat.physicsnemo import Profiler, TorchProfilerConfig, TorchProfileWrapper
p = Profiler()
p.output_path = "out"
layer = torch.nn.Linear(8, 8)
def train(steps):
    for _ in range(steps):
        layer(torch.randn(4, 8)).sum().backward()
        p.step()
"""


def test_physicsnemo_with_torch(run, torch_python):
    run.python = torch_python
    done = run(TORCH + textwrap.dedent("""
        p.enable("torch")
        with p: train(3)
        with p: train(1)
        p.finalize()

        from stepscope._options import read_options
        theirs = torch.profiler.schedule(wait=4, warmup=1, active=2, skip_first=3)
        assert str(read_options({"schedule": theirs})["schedule"]) == \\
            "skip_first=3,wait=4,warmup=1,active=2"
        wrapper = TorchProfileWrapper(TorchProfilerConfig(
            schedule=torch.profiler.schedule(wait=1, warmup=1, active=1, repeat=2)))
        assert p.enable(wrapper) is p.get("torch")
        wrapper.reconfigure(with_flops=False)
        p.output_path = "scheduled"
        with p: train(7)
        p.finalize()

        wrapper.reconfigure(schedule=None, max_steps=2)
        p.output_path = "limited"
        with p: train(5)
        p.finalize()
        """))
    folders = {path.parent.parent.name: sorted(one.name for one in path.parent.iterdir())
               for path in run.folder.glob("*/torch/trace.json")}
    assert folders == {
        "out": ["cpu_time.txt", "cpu_time_2.txt", "gpu_time.txt", "gpu_time_2.txt", "trace.json",
                "trace_2.json"],
        "scheduled": ["cpu_time.txt", "gpu_time.txt", "trace.json", "trace_2.json"],
        "limited": ["cpu_time.txt", "gpu_time.txt", "trace.json"]}
    assert "aten::linear" in (run.folder / "out" / "torch" / "cpu_time.txt").read_text()
    assert json.loads((run.folder / "out" / "torch" / "trace.json").read_text())["traceEvents"]
    assert [line for line in done.stderr.splitlines() if line.startswith("stepscope:")] == [
        "stepscope: torch: 2 steps are recorded, no more; for others give a schedule, for all of "
        "them max_steps=0, to TorchProfilerConfig"]
    # What records is torch's profiler alone.
    assert run.files() == []


def test_physicsnemo_without_torch(run):
    done = run("""
        sys.modules["torch"] = None
        import importlib.util
        find = importlib.util.find_spec
        importlib.util.find_spec = lambda name, *more: None if name == "torch" else find(name, *more)
        from stepscope.compat.physicsnemo import Profiler, TorchProfilerConfig
        p = Profiler()
        assert not p.enable("torch").enabled and not p.enabled
        with p: step()
        """)
    assert done.stderr == ("stepscope: torch is not enabled: PyTorch is not installed in this "
                           "Python; pip install torch\n")


def test_names_are_those_of_physicsnemo(run):
    done = run(f"""
        from stepscope.compat import physicsnemo
        print([name for name in {PHYSICSNEMO} if not hasattr(physicsnemo, name)])
        """)
    assert done.stdout == "[]\n"
    try:
        from importlib.metadata import files
        paths = {path.name: path.locate() for path in files("nvidia-physicsnemo") or ()
                 if path.parent.as_posix() == "physicsnemo/utils/profiling"}
    except ModuleNotFoundError:
        pytest.skip("nvidia-physicsnemo is not installed: the names are those of its version 2.2")
    theirs = ast.parse(paths["__init__.py"].read_text())
    names = {alias.name for node in theirs.body if isinstance(node, ast.ImportFrom)
             for alias in node.names}
    names |= {target.id for node in theirs.body if isinstance(node, ast.Assign)
              for target in node.targets}
    assert names == set(PHYSICSNEMO)


# --- ring files ---

DELETE = """
import glob
def delete():
    files = [path for root in ("/dev/shm", os.environ.get("XDG_RUNTIME_DIR", "/tmp"), "/tmp")
             for path in glob.glob(f"{root}/stepscope-{os.getuid()}-*/{os.getpid()}.*.ring")]
    for path in files: os.unlink(path)
    return len(files)
stepscope.step(41)
"""


def test_a_ring_file_that_something_deleted_is_made_again(run):
    """As a cluster's clean-up of /dev/shm does; what the program had said before stays known."""
    done = run(DELETE + """
assert delete() == 1
for _ in range(2):
    with Profiler():
        step()
        step()
""")
    assert done.stderr == ""
    first, second = sorted(run.files(), key=lambda path: path.stat().st_mtime_ns)
    assert "inner" in run.ranges(first) and "inner" in run.ranges(second)
    numbers = [[row["step"] for row in run.ranges(path, "step")[None]] for path in (first, second)]
    assert numbers == [[42], [44]], numbers


def test_a_deleted_ring_file_in_use_is_named(run):
    """Its threads write to it, so that it cannot be replaced: the recording says what it lacks."""
    done = run(DELETE + """
with Profiler(): step()
assert delete() == 1
with Profiler(): step()
""")
    assert done.stderr.splitlines() == [
        "stepscope: only samples are recorded, no annotations, steps or operators: the ring file of "
        "this process was deleted; start this program again"]
    first, second = sorted(run.files(), key=lambda path: path.stat().st_mtime_ns)
    assert "inner" in run.ranges(first) and run.ranges(second) == {}


def test_a_recorder_that_attaches_names_a_deleted_ring_file(run, tmp_path):
    with subprocess.Popen(run.command(DELETE + """
print(delete(), flush=True)
sys.stdin.read()
"""), cwd=tmp_path, env=run.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as program:
        assert program.stdout.readline() == b"1\n"
        done = run.stepscope("record", "--pid", program.pid, "-d", "0.3", "-o", tmp_path / "t.pftrace")
        program.stdin.close()
    assert (f"the ring file of process {program.pid} was deleted: only samples are recorded, no "
            "annotations, steps or operators; start the program again") in done.stderr


def test_options_of_torch(package, python):
    code = """if True:
        import stepscope
        for name, value in (("torch", 1), ("operators", "some"), ("module_depth", -2),
                            ("module_depth", True), ("step_optimizer", "A,B"),
                            ("torch_profiler", "shapes,kernels"), ("torch_profiler", 5)):
            try:
                stepscope.Profiler(**{name: value})
            except (TypeError, ValueError) as error:
                print(type(error).__name__, error)"""
    done = subprocess.run([python, "-c", code], capture_output=True, text=True, check=True,
                          env=package)
    assert done.stdout.splitlines() == [
        "TypeError torch takes True or False, not 1",
        "ValueError operators takes \"auto\", \"all\", \"collectives\" or \"off\", not 'some'",
        "ValueError module_depth is -2: it takes -1 to 1,000",
        "TypeError module_depth takes a number, or -1 for no modules, not True",
        "TypeError step_optimizer takes the name of a class, such as \"AdamW\", not 'A,B'",
        "ValueError torch_profiler takes any of shapes, memory, flops and stacks, not 'kernels'",
        "TypeError torch_profiler takes True, False or a text such as \"shapes,memory\", not 5"]


@pytest.mark.parametrize("schedule, count", [
    (None, 10), ("warmup=0,active=3,repeat=1", 3),
    ("skip_first=2,warmup=0,active=3,repeat=1", 3)], ids=["all", "from 0", "later"])
def test_functions_and_lines_of_every_step(run, schedule, count):
    """Also of the first, before which no hook of the interpreter had noticed the recording."""
    done = run(f"""
        @stepscope.lines
        def timed():
            return 1
        def called():
            work(0.02)
            return timed()
        stepscope.profile_functions(called)
        with Profiler(schedule={schedule!r}):
            for number in range(10):
                called()
                Profiler().step()
        """)
    assert run.files(), done.stderr
    trace = run.files()[0]
    lines = run.stepscope("report", "--by", "line-time", "-f", "json", trace).stdout
    rows = json.loads(lines)["tables"][0]["rows"]
    assert [row["hits"] for row in rows if row["hits"]] == [count]
    ranges = run.stepscope("report", "--by", "range", "-f", "json", trace).stdout
    calls = [row for row in json.loads(ranges)["tables"][0]["rows"] if row["name"] == "called"]
    assert [row["count"] for row in calls] == [count]
