#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What recording costs: the recorder's CPU and memory, the program's slowdown, rates reached.

Slowdown: CPU and wall time of equal chunks of work while the recorder is stopped and continued in
turn, five times a second; the ratio of neighbouring windows, their median, and its upper 95 % bound
by bootstrap. The A/A control does the same with no recorder: the effect of the machine's
noise alone. py-spy (when installed) runs beside."""

import json
import os
import pathlib
import random
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

STEPSCOPE = os.environ["STEPSCOPE"]
PYTHON = os.environ.get("BENCH_PYTHON", sys.executable)
HERE = pathlib.Path(__file__).resolve().parent
WORKLOADS = HERE.parent / "workloads"
ATTENTION = HERE.parents[1] / "examples" / "attention" / "train.py"
SWITCHED_SECONDS = float(os.environ.get("BENCH_SWITCHED_SECONDS", "40"))
PY_SPY = shutil.which("py-spy") or shutil.which("py-spy", path=str(pathlib.Path(PYTHON).parent))


def row(identity, value, beside=""):
    print(f"{identity}\t{value:.4g}\t{beside}", flush=True)


def record(out, *options):
    return [STEPSCOPE, "record", "-q", "-o", str(out), *map(str, options), "--"]


def info(path):
    done = subprocess.run([STEPSCOPE, "info", "--format", "json", str(path)], capture_output=True,
                          text=True, check=False)
    return json.loads(done.stdout)["files"][0]


def note_value(facts, kind):
    return next(n["value"] for n in facts["notes"] if n["kind"] == kind)


def timed(command):
    """(cpu seconds, wall seconds) that the program itself printed."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    for line in reversed(done.stdout.splitlines()):  # py-spy prints on stdout as well
        words = line.split()
        if len(words) == 2 and all(w.replace(".", "", 1).isdigit() for w in words):
            return float(words[0]), float(words[1])
    raise RuntimeError(f"{command} printed no times:\n{done.stdout}{done.stderr}")


def upper_bound(ratios):
    """Upper 95 % bound of the median, in percent above 1."""
    draw = random.Random(1)
    medians = sorted(statistics.median(draw.choices(ratios, k=len(ratios))) for _ in range(2000))
    return (medians[int(0.95 * len(medians))] - 1) * 100


def describe(ratios, kind):
    return f"median {(statistics.median(ratios[kind]) - 1) * 100:+.2f} %"


def descendants(pid):
    found = []
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        for child in (task / "children").read_text().split():
            found += [int(child), *descendants(int(child))]
    return found


def window_ratios(edges, rows):
    """Of neighbouring windows, sampled to not sampled."""
    windows = []
    for (start, on), (stop, _) in zip(edges, edges[1:]):
        inside = [r for r in rows if start + 0.01 + r[2] < r[0] < stop]
        if len(inside) >= 20:
            windows.append((on, statistics.fmean(r[1] for r in inside),
                            statistics.fmean(r[2] for r in inside)))
    ratios = {"cpu": [], "wall": []}
    for first, second in zip(windows[::2], windows[1::2]):
        on, off = (first, second) if first[0] else (second, first)
        if on[0] and not off[0]:
            ratios["cpu"].append(on[1] / off[1])
            ratios["wall"].append(on[2] / off[2])
    return ratios


def switched(command, options, seconds):
    """One run of equal chunks of work, while the recorder is stopped and continued every 0.2 s:
    slow changes of the machine's speed hit both windows of a pair. `command` attaches to the pid
    that is appended; None: the A/A control."""
    target = subprocess.Popen([PYTHON, str(HERE / "chunks.py"), "--seconds", str(seconds),
                               *options], stdout=subprocess.PIPE, text=True)
    target.stdout.readline()
    recorder = subprocess.Popen([*command, str(target.pid)]) if command else None
    time.sleep(1.0)
    pids = [recorder.pid, *descendants(recorder.pid)] if recorder else []
    edges, on = [], True
    end = time.monotonic() + seconds - 3
    while time.monotonic() < end:
        for pid in pids:
            os.kill(pid, signal.SIGCONT if on else signal.SIGSTOP)
        edges.append((time.monotonic(), on))
        time.sleep(0.2)
        on = not on
    for pid in pids:
        os.kill(pid, signal.SIGCONT)
    rows = [tuple(map(float, line.split())) for line in target.stdout]
    target.wait()
    if recorder:
        recorder.wait()
    return window_ratios(edges, rows)


def attach(folder, rate):
    return [STEPSCOPE, "record", "-q", "-r", str(rate), "-o", str(folder / "a.pftrace"), "-p"]


def bench_slowdown(folder):
    control = switched(None, [], SWITCHED_SECONDS)
    for rate, prefix in ((100, "slow_100hz"), (1000, "slow_1khz")):
        ours = switched(attach(folder, rate), [], SWITCHED_SECONDS)
        for kind in ("cpu", "wall"):
            row(f"{prefix}_{kind}", upper_bound(ours[kind]),
                f"{describe(ours, kind)} of {len(ours[kind])} pairs; A/A "
                f"{describe(control, kind)}, upper {upper_bound(control[kind]):.2f} %")


def bench_crowd_slowdown(folder):
    """160 threads, one of which works; py-spy in whole runs, since it stops the program."""
    options = ["--idle-threads", "159"]
    control = switched(None, options, SWITCHED_SECONDS)
    ours = switched(attach(folder, 100), options, SWITCHED_SECONDS)
    beside = f"{describe(ours, 'wall')} of {len(ours['wall'])} pairs; A/A " \
             f"{describe(control, 'wall')}, upper {upper_bound(control['wall']):.2f} %"
    if PY_SPY:
        work = [PYTHON, str(HERE / "work.py"), "--rounds", "150", *options]
        spied = [PY_SPY, "record", "-r", "100", "-f", "raw", "-o", str(folder / "p.txt"), "--"]
        ratios = [timed([*spied, *work])[1] / timed(work)[1] for _ in range(3)]
        beside += f"; py-spy {(statistics.median(ratios) - 1) * 100:+.0f} %"
    row("slow_160_threads", upper_bound(ours["wall"]), beside)


def recorder_share(facts):
    """CPU of the recorder in percent of one core, by its own account in the trace."""
    return note_value(facts, "recorder-cpu") / 1e9 / facts["duration_s"] * 100


def tick_floor():
    """What waking up a hundred times a second costs alone, in percent of a core."""
    code = ("import time\n"
            "start = time.process_time(); at = time.monotonic()\n"
            "for i in range(300): time.sleep(0.01)\n"
            "print((time.process_time() - start) / (time.monotonic() - at) * 100)")
    done = subprocess.run([PYTHON, "-S", "-c", code], capture_output=True, text=True, check=True)
    return float(done.stdout)


def bench_recorder_cost(folder):
    crowd = [PYTHON, str(WORKLOADS / "crowd.py"), "--seconds", "8"]
    for identity, threads in (("busy_8_threads", ["--threads", "8", "--busy", "8"]),
                              ("idle_160_threads", ["--threads", "160", "--busy", "1"])):
        shares = []
        for _ in range(3):
            out = folder / "c.pftrace"
            subprocess.run([*record(out), *crowd, *threads], check=True)
            shares.append(recorder_share(info(out)))
        row(identity, statistics.median(shares), f"runs {', '.join(f'{s:.2f}' for s in shares)}; "
            f"an empty loop of 100 wake-ups a second {tick_floor():.2f} %")


def bench_rate(folder):
    rates = []
    for _ in range(3):
        out = folder / "r.pftrace"
        subprocess.run([*record(out, "-r", 10000), PYTHON, str(WORKLOADS / "spin.py"), "--seconds",
                        "4"], check=True)
        facts = info(out)
        done = max(c["done"] for c in facts["counts"])
        rates.append(done / facts["duration_s"])
    row("rate_10khz", statistics.median(rates), f"runs {', '.join(f'{r:.0f}' for r in rates)}")


def bench_first_sample(folder):
    """Launch: from the program's first Python statement (an upper bound of "the interpreter
    exists") it prints its monotonic clock; the trace has the first sample's."""
    delays = []
    for _ in range(7):
        out = folder / "f.pftrace"
        code = "import time; print(time.monotonic_ns())\nt=time.time()+0.4\nwhile time.time()<t: pass"
        done = subprocess.run([*record(out), PYTHON, "-S", "-c", code], capture_output=True,
                              text=True, check=True)
        delays.append((info(out)["first_sample_ns"] - int(done.stdout)) / 1e6)
    row("first_sample_launch", statistics.median(delays),
        f"from the first statement; worst {max(delays):.0f}")
    target = subprocess.Popen(
        [PYTHON, "-c", "import time\ntry:\n import torch\nexcept ImportError: pass\n"
                       "print('up', flush=True)\nwhile True: sum(range(1000))"],
        stdout=subprocess.PIPE, text=True)
    try:
        target.stdout.readline()
        delays = []
        for _ in range(7):
            out = folder / "g.pftrace"
            start = time.monotonic_ns()
            subprocess.run([STEPSCOPE, "record", "-q", "-p", str(target.pid), "-d", "0.4", "-o",
                            str(out)], check=True)
            delays.append((info(out)["first_sample_ns"] - start) / 1e6)
        row("first_sample_attach", statistics.median(delays),
            f"from the command; worst {max(delays):.0f}")
    finally:
        target.kill()
        target.wait()


def bench_size(folder):
    seconds = os.environ.get("BENCH_SIZE_SECONDS", "60")
    has_torch = subprocess.run([PYTHON, "-c", "import torch"], capture_output=True, check=False)
    if has_torch.returncode == 0:
        command = [PYTHON, str(ATTENTION), "--epochs", "1000000"]
        what = "attention example"
    else:
        command = [PYTHON, str(WORKLOADS / "spin.py"), "--seconds", "1000"]
        what = "no PyTorch here: spin workload"
    out = folder / "s.pftrace"
    target = subprocess.Popen([*record(out, "-d", seconds, "--host-interval", 0, "--no-inject"),
                               *command], stdout=subprocess.DEVNULL,
                              start_new_session=True)
    time.sleep(float(seconds) + 4)
    os.killpg(target.pid, 15)
    target.wait()
    facts = info(out)
    written, plain = facts["file_bytes"], facts["plain_bytes"]
    rows, ticks = facts["records"], facts["samples"]
    row("sample_bytes", written / rows,
        f"{what}, {seconds} s at 100 Hz: {rows} stored samples that stand for {ticks} thread ticks; "
        f"plain {plain / rows:.1f} B")
    row("recorder_memory", note_value(facts, "recorder-memory") / 1e6, what)


def main():
    parts = {"cost": bench_recorder_cost, "rate": bench_rate, "first": bench_first_sample,
             "size": bench_size, "slowdown": bench_slowdown, "crowd": bench_crowd_slowdown}
    chosen = os.environ.get("BENCH_PARTS", ",".join(parts)).split(",")
    with tempfile.TemporaryDirectory() as name:
        for part in chosen:
            parts[part](pathlib.Path(name))


main()
