# SPDX-License-Identifier: Apache-2.0
"""The recorded inputs of programs without PyTorch, which mark their steps or call MPI."""

from recording import Input

INPUTS = {}


# --- test_steps: what the programs' own clocks say of steps and phases -----------------------------

INPUTS["steps_phases"] = Input(program=("phases.py",), package=True, needs=(),
                               options=("-r", 200, "--host-interval", 5))

# Every third step saves for 120 ms.
SAVES = """
import stepscope, time
for i in range(18):
    stepscope.step()
    time.sleep(0.01)
    if {slow} and i % 3 == 0:
        stepscope.phase('checkpoint')
        time.sleep(0.12)
        stepscope.phase(None)
"""
for _name, _slow in (("even", False), ("slow", True)):
    INPUTS[f"steps_{_name}"] = Input(code=SAVES.format(slow=_slow), package=True, needs=(),
                                     options=("-r", 200, "--host-interval", 5))


# --- test_several_files: windows of a process, ranks that follow each other ------------------------

INPUTS["several_files_windows"] = Input(
    program=("scheduled.py", 13), package=True, needs=(), is_folder=True,
    options=("--schedule", "wait=1,warmup=0,active=2,repeat=4", "-r", 200, "--host-interval", 5,
             "-o", "{out}/ba{batch}.pftrace"))

# The second rank begins when the first has ended; it prints how long it took.
FOLLOWERS = """
import os, subprocess, sys, time
spin = "import time\\nend = time.time() + 0.3\\nwhile time.time() < end:\\n    sum(range(1000))\\n"
for rank in range(2):
    began = time.monotonic()
    subprocess.run(["stepscope", "record", "-q", "--host-interval", "5", "-o",
                    f"{sys.argv[1]}/rank{rank}.pftrace", "--", sys.executable, "-S", "-c", spin], check=True,
                   env={**os.environ, "RANK": str(rank), "WORLD_SIZE": "2"})
print(time.monotonic() - began)
"""
INPUTS["several_files_ranks"] = Input(code=FOLLOWERS, program=("{out}",), package=True, is_folder=True, needs=())


# --- test_mpi_late: rank 2 of 4 is 60 ms late in each collective; a rank that is killed -----------

INPUTS["mpi_late"] = Input(program=("mpi_ranks.c", 15, 2, 60), launcher="mpich", ranks=4, needs=(),
                           options=("--host-interval", 5))
INPUTS["mpi_killed"] = Input(program=("mpi_ranks.c", 8, 1, 30, "kill"), launcher="mpich", ranks=2, needs=(),
                             options=("--host-interval", 5), status=9)


# --- test_perfetto_ui: the first screen of Perfetto's interface -----------------------------------

TRAINING = """
import sys, time, stepscope

with stepscope.annotate("setup"):
    time.sleep(0.01)
for number in range(3):
    stepscope.step(number)
    for name in ("data", "forward", "backward"):
        stepscope.phase(name)
        with stepscope.annotate("work on " + name):
            time.sleep(0.01)
stepscope.step(3)
stepscope.phase("evaluation")
time.sleep(0.3)
"""
# Often enough that each process has figures of its own: without any it has no row.
FIGURES = "--host-interval", 0.1
INPUTS["perfetto_ui_training"] = Input(code=TRAINING, package=True, options=FIGURES, needs=())
TWO_OF_THEM = """
import os, pathlib, subprocess, sys
program = pathlib.Path(__file__).with_name("ranks.py")
program.write_text({training!r})
ranks = [subprocess.Popen([sys.executable, program], env={{**os.environ, "RANK": str(rank), "WORLD_SIZE": "2"}})
         for rank in (0, 1)]
sys.exit(max(rank.wait() for rank in ranks))
""".format(training=TRAINING)
INPUTS["perfetto_ui_ranks"] = Input(code=TWO_OF_THEM, package=True, options=FIGURES, needs=())
INPUTS["perfetto_ui_device"] = Input(program=("cuda_program", 20), built=True, device=(), needs=())


# --- test_tracks: all that a program can mark -----------------------------------------------------

INPUTS["tracks_everything"] = Input(program=("annotated_life", "everything", 5), built=True, needs=(),
                                    options=("--host-interval", 0))


# --- test_merge: three ranks of one run, each with its recorder -----------------------------------

BESIDE = """
import threading, time

def work(end):
    while time.time() < end:
        sum(range(500))

end = time.time() + .7
thread = threading.Thread(target=work, args=(end,), name="beside")
thread.start()
work(end)
thread.join()
"""
THREE_RANKS = """
import os, pathlib, subprocess, sys
program = pathlib.Path(__file__).with_name("work.py")
program.write_text({work!r})
ranks = [subprocess.Popen(
    ["stepscope", "record", "-q", "-r", "50", "--host-interval", "5", "-o", sys.argv[1] + "/run.stepscope", "--",
     sys.executable, program],
    env={{**os.environ, "RANK": str(rank), "WORLD_SIZE": "3", "LOCAL_RANK": str(rank), "LOCAL_WORLD_SIZE": "3"}})
    for rank in range(3)]
sys.exit(max(rank.wait() for rank in ranks))
""".format(work=BESIDE)
INPUTS["merge_run"] = Input(code=THREE_RANKS, program=("{out}",), package=True, is_folder=True, needs=())


# --- test_report: a thread that waits, and a main thread that computes and sleeps ------------------

WORK = """import threading, time

def waiter():
    time.sleep(30)

def spin(seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        sum(range(1000))

def train():
    begin, slept = time.monotonic(), 0
    for _ in range(4):
        spin(0.3)
        before = time.monotonic()
        time.sleep(0.2)
        slept += time.monotonic() - before
    print(slept, time.monotonic() - begin)

threading.Thread(target=waiter, name="pin", daemon=True).start()
train()
"""
INPUTS["report_work"] = Input(code=WORK, options=("-r", 200, "--host-interval", 5), needs=())


# --- test_kineto_recordings: what a program marks --------------------------------------------------

ANNOTATES = """\
import stepscope
for number in range(4):
    with stepscope.annotate("load"):
        sum(range(200000))
    with stepscope.annotate("compute"):
        sum(range(200000))
    stepscope.step()
"""
INPUTS["kineto_recordings_annotations"] = Input(code=ANNOTATES, package=True, needs=(),
                                                options=("-r", 200, "--host-interval", 5))


# --- test_drift: steps that become slower ----------------------------------------------------------

INPUTS["drift_slowed"] = Input(program=("slowing.py", 100, "--from", 50), package=True, needs=(),
                               options=("-r", 20, "--host-interval", 5))
