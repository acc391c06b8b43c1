#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Records trainings with planted faults and their healthy twins, and holds what stepscope says against
what was planted, against the programs' own stopwatch and against hooks that are not stepscope's.

    run.py [--check] [--rounds N] [--only WORD]…        (WORD: a program, or PROGRAM:FAULT)

A fault is right when the first finding is one of its rules, at a marked line. Its promise is that of the
first finding and of others at marked lines, all of which are taken out or changed; it is kept when what
a step gains by that is at most the promise, beyond the measured noise, and at least half of it. Both are
medians over rounds, in which the program is recorded once with the fault and once without: a disk, a lock
or a core of a shared machine takes as long in both as in the promise.
Findings of "busy-machine" concern the machine and are left out, but counted below the table."""

import argparse
import dataclasses
import importlib.util
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

import faults

HERE = pathlib.Path(__file__).resolve().parent
PROGRAMS = HERE / "programs"
LEAST_PERCENT = 2  # of a step: a healthy twin is blamed for less
LEAST_RIGHT_PERCENT, LEAST_KEPT_PERCENT = 95, 95
MOST_POINTS = 2  # that phases may differ by
WARM_UP = 8
RATE_HZ = 400
LEAST_NOISE = 0.1  # of a promise: what two rounds on one machine differ by


@dataclasses.dataclass
class Watch:
    """What a program's stopwatch measured."""
    pid: int
    steps_ns: list
    cored_ns: list  # without the time in which the thread waited for a core
    samples: int
    phases: list

    def mean_ns(self, cores):
        steps = self.steps_ns if cores else self.cored_ns
        return statistics.fmean(steps[WARM_UP:])


def read_watch(path):
    data = json.loads(pathlib.Path(path).read_text())
    ends, delays = data["ends_ns"], data["delays_ns"]
    steps = [end - begin for begin, end in zip(ends, ends[1:])]
    waits = [after - before for before, after in zip(delays, delays[1:])]
    return Watch(data["pid"], steps, [max(0, step - wait) for step, wait in zip(steps, waits)],
                 data["samples"], data["phases"])


def flags_of(one, fixed=False):
    """The program's flags for a fault, planted or with its advice followed. None: the healthy twin."""
    if one is None or (fixed and not one.fix):
        return ()
    fixes = [word for name in one.fix for word in ("--fix", name)] if fixed else []
    return ("--fault", one.name, *fixes)


class Runner:
    """Starts programs, recorded or not. Owns a folder for what they write."""

    def __init__(self, stepscope, python, folder):
        self.stepscope, self.python, self.folder = stepscope, python, pathlib.Path(folder)
        self.count = 0
        self.recordings = {}

    def path(self, ending):
        self.count += 1
        return self.folder / f"{self.count}.{ending}"

    def start(self, program, flags, before=(), **more):
        watch = self.path("json")
        env = {**os.environ, "OMP_NUM_THREADS": "1", "CORPUS_CLOCK": str(watch), **more}
        command = [*before, self.python, PROGRAMS / f"{program}.py", *flags]
        for _ in range(2):  # ranks abort now and then as they end, without a recorder too: 1 of 40 runs
            done = subprocess.run(command, env=env, cwd=self.folder, stdin=subprocess.DEVNULL,
                                  stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
            if done.returncode == 0:
                break
        if done.returncode != 0:
            raise RuntimeError(f"{program} {' '.join(flags)}: exit status {done.returncode}\n"
                               f"{done.stderr[-2000:]}")
        return read_watch(watch)

    def report(self, trace, *options):
        done = subprocess.run([self.stepscope, "report", "-f", "json", *options, trace],
                              stdout=subprocess.PIPE, text=True, check=True)
        return json.loads(done.stdout)

    def record(self, program, flags, **more):
        """(watch, trace) of a recorded run. Runs of two seconds stand for trainings of minutes: they are
        sampled more often, for as many samples as a finding needs."""
        trace = self.path("pftrace")
        command = (self.stepscope, "record", "-q", "-r", str(RATE_HZ), "-o", trace, "--")
        watch = self.start(program, flags, command, **more)
        return watch, trace


def findings(document):
    """What the report says, the largest first; nothing where it found no training."""
    training = document["training"] or {"advice": []}
    return [one for one in training["advice"] if one["rule"] != "busy-machine"]


def is_busy(document):
    """Whether the report itself says that other programs have the cores."""
    return any(one["rule"] == "busy-machine" for one in (document["training"] or {"advice": []})["advice"])


def marked_lines(program, name):
    """{(file, line)} that carry the mark of a fault."""
    path = PROGRAMS / f"{program}.py"
    lines = path.read_text().splitlines()
    return {(path.name, number) for number, line in enumerate(lines, 1)
            if line.endswith(f"# planted: {name}")}


def place_of(finding):
    line = finding.get("line")
    return (pathlib.PurePath(line["path"]).name, line["line"]) if line else None


def text_of(finding):
    """One finding in a few words."""
    if finding is None:
        return "nothing"
    place = place_of(finding)
    return (f"{finding['rule']} {finding['percent']:.0f} %"
            + (f" at {place[0]}:{place[1]}" if place else ""))


def is_right(one, first):
    return first is not None and first["rule"] in one.rules and (
        not one.line or place_of(first) in marked_lines(one.program, one.name))


def promise_of(one, said):
    """What the findings at the lines that the fault was planted on promise together."""
    lines = marked_lines(one.program, one.name)
    return said[0]["recoverable_ns"] + sum(other["recoverable_ns"] for other in said[1:]
                                           if place_of(other) in lines)


@dataclasses.dataclass
class Row:
    program: str
    fault: str
    said: str
    right: bool
    promise_ns: float = None
    gain_ns: float = None
    noise_ns: float = 0
    note: str = ""

    def kept(self):
        """Whether the promise held; None where none was made or nothing was measured."""
        if not self.promise_ns or self.gain_ns is None:
            return None
        slack = max(self.noise_ns, LEAST_NOISE * self.promise_ns)
        return self.promise_ns / 2 - slack <= self.gain_ns <= self.promise_ns + slack


def judge(runner, one):
    """The row of a fault: what its recording says."""
    _, trace = runner.record(one.program, flags_of(one))
    document = runner.report(trace)
    said = findings(document)
    first = said[0] if said else None
    row = Row(one.program, one.name, text_of(first), is_right(one, first))
    if not row.right:
        row.note = "then " + ", ".join(text_of(other) for other in said[1:4]) if said[1:] else ""
        row.note += " (busy machine)" if is_busy(document) else ""
    elif one.promise:
        row.promise_ns = promise_of(one, said)
    return row


def measure(runner, one):
    """(promise, gain) of one round: one run right behind the other, for a shared machine is faster in one
    minute than in the next. None: another finding came first."""
    faulty, trace = runner.record(one.program, flags_of(one))
    fixed, _ = runner.record(one.program, flags_of(one, True))
    said = findings(runner.report(trace, *(("--process", str(faulty.pid)) if one.own else ())))
    if not said or not is_right(one, said[0]):
        return None
    share = faulty.samples / fixed.samples if one.promise == "sample" else 1.0
    return promise_of(one, said), faulty.mean_ns(one.cores) - share * fixed.mean_ns(one.cores)


def add_gain(row, pairs):
    """What was promised, what a step gains, and what the two differ by from round to round."""
    more = [gain - promise for promise, gain in pairs]
    row.promise_ns = statistics.median(promise for promise, _ in pairs)
    row.gain_ns = row.promise_ns + statistics.median(more)
    row.noise_ns = (max(more) - min(more)) / 2


def folded(times):
    """The phases by name; of ranks that wait for each other in the middle of backward or of a module,
    those that hooks cannot distinguish, together."""
    if "communication" in times:
        together = ("forward", "backward", "communication")
        times["passes"] = sum(times.pop(name, 0) for name in together)
    return times


def phase_points(runner, program):
    """(largest difference of a phase's share in points, its name, difference of the step in percent)
    between stepscope and the hooks, over the steps that the report counts as usual."""
    watch, trace = runner.record(program, (), CORPUS_HOOKS="1")
    document = runner.report(trace, "--by", "step", "--num-rows", "all", "--process", str(watch.pid))
    rows = document["tables"][0]["rows"] if document["tables"] else []
    usual = [row for row in rows if row["kind"] == "steady" and 1 <= row["step"] <= len(watch.steps_ns)]
    if len(rows) != len(watch.phases):
        return None, f"{len(rows)} steps instead of {len(watch.phases)}", None
    ours, hooks = {}, {}
    for row in usual:
        for name, value in row.items():
            if name.endswith("_ns") and name not in ("begin_ns", "duration_ns"):
                ours[name[:-3]] = ours.get(name[:-3], 0) + value
        for name, value in watch.phases[row["step"]].items():
            hooks[name] = hooks.get(name, 0) + value
    if not ours or not hooks:
        return None, "no steady-state steps", None
    if "communication" in ours:
        hooks.setdefault("communication", 0)
    ours, hooks = folded(ours), folded(hooks)
    total, hooked = sum(ours.values()), sum(hooks.values())
    points = {name: abs(ours.get(name, 0) / total - hooks.get(name, 0) / hooked) * 100
              for name in ours.keys() | hooks.keys()}
    worst = max(points, key=points.get)
    return points[worst], worst, 100 * abs(total / hooked - 1)


def judge_healthy(runner, program):
    """(row of the healthy twin, row of its phases)."""
    _, trace = runner.record(program, ())
    blamed = [one for one in findings(runner.report(trace)) if one["percent"] >= LEAST_PERCENT]
    twin = Row(program, "(healthy)", ", ".join(text_of(one) for one in blamed) or "nothing", not blamed)
    points, worst, step = phase_points(runner, program)
    if points is None:
        return twin, Row(program, "(phases)", worst, False)
    return twin, Row(program, "(phases)", f"{worst} {points:.1f} points off, step {step:.1f} %",
                     points <= MOST_POINTS and step <= MOST_POINTS)


def lacking(program):
    return [name for name in program.needs if importlib.util.find_spec(name) is None]


def milliseconds(value):
    return "" if value is None else f"{value / 1e6:.2f}"


def print_table(rows):
    table = [("program", "fault", "right", "first finding", "promise ms", "gain ms", "± ms", "kept", "")]
    for row in rows:
        kept = {None: "", True: "yes", False: "NO"}[row.kept()]
        table.append((row.program, row.fault, "yes" if row.right else "NO", row.said,
                      milliseconds(row.promise_ns), milliseconds(row.gain_ns),
                      milliseconds(row.noise_ns) if row.gain_ns is not None else "", kept, row.note))
    widths = [max(len(row[i]) for row in table) for i in range(len(table[0]))]
    for row in table:
        cells = [cell.rjust(width) if 4 <= i <= 6 else cell.ljust(width)
                 for i, (cell, width) in enumerate(zip(row, widths))]
        print("  ".join(cells).rstrip())


def totals(rows):
    """[(id, value, words)]: what the targets are about."""
    planted = [row for row in rows if not row.fault.startswith("(")]
    promised = [row for row in planted if row.kept() is not None]
    counts = {kind: [row for row in rows if row.fault == kind] for kind in ("(healthy)", "(phases)")}

    def percent(some, every):
        return 100 * some / every if every else 100.0
    right, kept = sum(row.right for row in planted), sum(row.kept() for row in promised)
    return [("corpus_right", percent(right, len(planted)), f"{right} of {len(planted)} faults"),
            ("corpus_false", sum(not row.right for row in counts["(healthy)"]),
             f"of {len(counts['(healthy)'])} healthy twins"),
            ("corpus_promises", percent(kept, len(promised)), f"{kept} of {len(promised)} promises"),
            ("corpus_phases", sum(not row.right for row in counts["(phases)"]),
             f"of {len(counts['(phases)'])} programs")]


def reaches_target(identity, value):
    least = {"corpus_right": LEAST_RIGHT_PERCENT, "corpus_promises": LEAST_KEPT_PERCENT}
    return value >= least[identity] if identity in least else value == 0


def wanted(words, program, name=None):
    return not words or program in words or (f"{program}:{name}" in words if name else
                                             any(word.startswith(program + ":") for word in words))


def run_program(runner, program, words, rounds):
    planted = [one for one in faults.FAULTS
               if one.program == program.name and wanted(words, one.program, one.name)]
    rows = []
    for one in planted:
        try:
            rows.append(judge(runner, one))
        except RuntimeError as error:
            rows.append(Row(one.program, one.name, f"failed: {str(error).splitlines()[-1]}", False))
        print(f"{one.program}:{one.name}: {rows[-1].said}", file=sys.stderr, flush=True)
    promised = [(row, one) for row, one in zip(rows, planted) if row.promise_ns]
    for row, one in promised if rounds else []:
        try:
            pairs = [pair for pair in (measure(runner, one) for _ in range(rounds)) if pair]
            row.note = f"first in {len(pairs)} of {rounds} rounds" if len(pairs) < rounds else ""
            if pairs:
                add_gain(row, pairs)
            row.right = bool(pairs)
        except RuntimeError as error:
            row.note, row.right = f"no gain: {str(error).splitlines()[-1]}", False
        print(f"{one.program}:{one.name}: gains {milliseconds(row.gain_ns)} ± "
              f"{milliseconds(row.noise_ns)} ms of {milliseconds(row.promise_ns)}", file=sys.stderr, flush=True)
    if wanted(words, program.name, "healthy"):
        try:
            rows += judge_healthy(runner, program.name)
        except RuntimeError as error:
            rows.append(Row(program.name, "(healthy)", f"failed: {str(error).splitlines()[-1]}", False))
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    root = HERE.parents[1]
    parser.add_argument("--stepscope", default=os.environ.get("STEPSCOPE", root / "build/release/stepscope"))
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--rounds", type=int, default=3, help="0: no gains are measured")
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("--check", action="store_true", help="exit status 1 below a target")
    parser.add_argument("--bench", action="store_true", help="rows for tests/bench/run behind the table")
    parser.add_argument("--keep", help="the folder for recordings; by default they are deleted")
    arguments = parser.parse_args()
    rows, skipped = [], []
    with tempfile.TemporaryDirectory(prefix="stepscope-corpus-") as folder:
        keep = pathlib.Path(arguments.keep or folder)
        keep.mkdir(parents=True, exist_ok=True)
        runner = Runner(os.path.abspath(arguments.stepscope), os.path.abspath(arguments.python), keep)
        begin = os.getloadavg()[0]
        for program in faults.PROGRAMS:
            if not wanted(arguments.only, program.name):
                continue
            if lacking(program):
                skipped.append(f"{program.name}: {', '.join(lacking(program))} is not installed")
                continue
            rows += run_program(runner, program, arguments.only, arguments.rounds)
    print_table(rows)
    print(f"\n{os.cpu_count()} cores, load {begin:.1f} at the beginning, {os.getloadavg()[0]:.1f} at the end")
    for reason in skipped:
        print(f"skipped {reason}")
    results = totals(rows)
    for identity, value, words in results:
        print(f"{identity}\t{value:g}\t{words}" if arguments.bench else
              f"{identity}: {value:g} ({words}){'' if reaches_target(identity, value) else ': below the target'}")
    return 1 if arguments.check and not all(reaches_target(name, value) for name, value, _ in results) else 0


if __name__ == "__main__":
    sys.exit(main())
