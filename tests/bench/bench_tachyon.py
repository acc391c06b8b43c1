# SPDX-License-Identifier: Apache-2.0
"""Beside Tachyon, CPython 3.15's own sampler (`python3.15 -m profiling.sampling`), both attached in turn to one
program in $BENCH_PYTHON_315, a command such as "chroot DIR python3.15" or a path. The program is
workloads/flutter.py, in which a caller's name and line determine its callee: a sample is in error if it has a
pair of frames that cannot be, or if the sampler itself counts it as failed.

The cost to the program: CPU time of equal chunks of work while a sampler is attached, against the chunks of the
same program just before and after."""

import json
import os
import pathlib
import re
import resource
import shlex
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
STEPSCOPE = os.environ["STEPSCOPE"]
PYTHON = shlex.split(os.environ.get("BENCH_PYTHON_315", "python3.15"))
RATES = [int(rate) for rate in os.environ.get("BENCH_RATES", "1000,10000,100000").split(",")]
THREADS = [int(count) for count in os.environ.get("BENCH_THREADS", "1,160").split(",")]
SECONDS = int(os.environ.get("BENCH_TACHYON_SECONDS", "4"))
ROUNDS = int(os.environ.get("BENCH_TACHYON_ROUNDS", "3"))
TEXT = (HERE.parent / "workloads" / "flutter.py").read_text()
WIDTH = int(re.search(r"LEVELS, WIDTH, STEM = \d+, (\d+), \d+", TEXT)[1])
STEM = int(re.search(r"LEVELS, WIDTH, STEM = \d+, \d+, (\d+)", TEXT)[1])
# The program of the slowdown: chunks.py and what it imports, in one text, since a chroot does not see the files.
CHUNKS = (HERE / "busywork.py").read_text() + (HERE / "chunks.py").read_text().replace(
    "from busywork import IdleThreads, middle\n", "")
FLUTTER = TEXT.replace("\nmain()\n", "\nfrom threading import Event, Thread\nEND = Event()\n"
                       "for _ in range(int(sys.argv[3])):\n"
                       "    Thread(target=END.wait, daemon=True).start()\nmain()\n")


def run(command):
    """(output, CPU seconds of the command and its children)."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([str(word) for word in command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != 0:
        raise RuntimeError(f"{command}: status {done.returncode}\n{done.stdout}")
    return done.stdout, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


class Stepscope:
    name = "stepscope"

    def __init__(self, folder):
        self.trace = folder / "t.pftrace"

    def command(self, pid, rate, seconds):
        return [STEPSCOPE, "record", "-q", "-r", rate, "-d", seconds, "-o", self.trace, "-p", pid]

    def results(self, output):
        """(samples taken, samples that the sampler counts as failed, [(stack, count)])."""
        facts = json.loads(run([STEPSCOPE, "info", "--format", "json", self.trace])[0])["files"][0]
        text, _ = run([STEPSCOPE, "export", "--to", "raw", "-o", "-", self.trace])
        ticks = sum(row["done"] for row in facts["counts"])
        failed = sum(row.get("lost", 0) + row.get("partial", 0) for row in facts["counts"])
        return ticks, failed, folded(text)


class Tachyon:
    name = "Tachyon"

    def __init__(self, folder):
        root = pathlib.Path(PYTHON[1]) if PYTHON[0] == "chroot" else pathlib.Path("/")
        self.out = pathlib.Path("/var/tmp", f"tachyon-{os.getpid()}.txt")
        self.seen = root / self.out.relative_to("/")

    def command(self, pid, rate, seconds):
        return [*PYTHON, "-m", "profiling.sampling", "attach", "-a", "-r", rate, "-d", seconds, "--collapsed",
                "-o", self.out, pid]

    def results(self, output):
        taken = int(re.search(r"Captured ([\d,]+) samples", output)[1].replace(",", ""))
        rate = re.search(r"Error rate: ([\d.]+)", output)
        failed = round(taken * float(rate[1]) / 100) if rate else 0
        stacks = folded(self.seen.read_text())
        self.seen.unlink()
        return taken, failed, stacks


def folded(text):
    for line in text.splitlines():
        stack, _, count = line.rpartition(" ")
        if count.isdigit():
            yield stack, int(count)


def frames(stack):
    """[(function, line)] of our program, outermost first; both write file, function and line, in their ways."""
    for frame in stack.split(";"):
        ours = re.fullmatch(r"(\w+) \(<flutter>:(\d+)\)", frame) or re.fullmatch(r"<flutter>:(\w+):(\d+)", frame)
        if ours:
            yield ours[1], int(ours[2])


def first_lines():
    scope = {}
    exec(compile(TEXT.split("def main")[0], "flutter.py", "exec"), scope)
    lines = scope["source"](1).splitlines()
    return {re.match(r"def (\w+)", line)[1]: number for number, line in enumerate(lines, 1) if line.startswith("def ")}


FIRST = first_lines()
FIRST_CALL = 4  # lines of the innermost of the stem before it calls f0_0, f0_1, …


def can_call(caller, line, callee):
    kind, level = re.match(r"([sf])(\d+)", caller).groups()
    level, at = int(level), line - FIRST[caller]
    if kind == "s":
        return callee == (f"s{level + 1}" if level + 1 < STEM else f"f0_{at - FIRST_CALL}")
    number = int(caller.split("_")[1])
    return 1 <= at <= 2 and callee == f"f{level + 1}_{(2 * number + at - 1) % WIDTH}"


def is_impossible(stack):
    found = list(frames(stack))
    return any(not can_call(*caller, callee[0]) for caller, callee in zip(found, found[1:]))


def measure(tool, pid, rate):
    """Rate reached, percent in error, percent of a core."""
    output, cpu = run(tool.command(pid, rate, SECONDS))
    taken, failed, stacks = tool.results(output)
    of_program = [(stack, count) for stack, count in stacks if any(frames(stack))]
    wrong = sum(count for stack, count in of_program if is_impossible(stack))
    whole = sum(count for _, count in of_program)
    return taken / SECONDS, (wrong + failed) / max(whole + failed, 1) * 100, cpu / SECONDS * 100


def started(text, *arguments):
    program = subprocess.Popen([*PYTHON, "-c", text, *map(str, arguments)], stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, text=True)
    program.stdout.readline()
    return program


def slowdown(tool, rate, threads):
    """Percent of CPU time that chunks take longer while the sampler is attached: half of the chunks are without."""
    seconds = SECONDS + 4
    program = started(CHUNKS, "--seconds", seconds, "--idle-threads", threads - 1)
    time.sleep(2)
    begin = time.monotonic()
    run(tool.command(program.pid, rate, SECONDS - 1))
    end = time.monotonic()
    rows = [tuple(map(float, line.split())) for line in program.stdout]
    program.wait()
    inside = [cpu for at, cpu, _ in rows if begin + 1 < at < end - 0.5]
    outside = [cpu for at, cpu, _ in rows if at < begin or at > end + 0.1]
    if len(inside) < 10 or len(outside) < 10:
        raise RuntimeError("the program made too few chunks")
    return (statistics.median(inside) / statistics.median(outside) - 1) * 100


def compare(tools, rate, threads):
    results = {tool.name: [] for tool in tools}
    program = started(FLUTTER, 3600, 1, threads - 1)
    try:
        for _ in range(ROUNDS):
            for tool in tools:
                results[tool.name].append(measure(tool, program.pid, rate))
    finally:
        program.kill()
        program.wait()
    costs = {tool.name: statistics.median(slowdown(tool, rate, threads) for _ in range(ROUNDS)) for tool in tools}
    ours, theirs = ([statistics.median(one[i] for one in results[name]) for i in range(3)]
                    for name in ("stepscope", "Tachyon"))
    words = "{0:.0f} ticks/s, {1:.3f} % in error, {2:.0f} % of a core, program {3:+.1f} %"
    print(f"tachyon_{rate // 1000}khz_{threads}\t{ours[0] / theirs[0]:.3g}\tstepscope "
          f"{words.format(*ours, costs['stepscope'])}; Tachyon {words.format(*theirs, costs['Tachyon'])}; medians of "
          f"{ROUNDS}", flush=True)
    for what, at in (("error", 1), ("cpu", 2)):
        print(f"tachyon_{what}_{rate // 1000}khz_{threads}\t{ours[at] / max(theirs[at], 1e-9):.3g}\t", flush=True)


def main():
    version = subprocess.run([*PYTHON, "-c", "import sys, profiling.sampling; print(*sys.version_info[:2])"],
                             capture_output=True, text=True, check=False)
    if version.returncode != 0:
        print("Tachyon is left out: no CPython 3.15 in $BENCH_PYTHON_315")
        return
    with tempfile.TemporaryDirectory() as name:
        tools = [Stepscope(pathlib.Path(name)), Tachyon(pathlib.Path(name))]
        print(f"load of the machine: {os.getloadavg()[0]:.1f}")
        for threads in THREADS:
            for rate in RATES:
                compare(tools, rate, threads)


if __name__ == "__main__":
    try:
        main()
    except FileNotFoundError as error:
        sys.exit(f"bench_tachyon: {error}")
