# SPDX-License-Identifier: Apache-2.0
"""What is to be verified on hardware: one function for each line. It returns what it saw, raises
Failure for what does not hold, and Skip for what cannot be tried here."""

import json
import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TRAINING = ROOT / "tests/gpu/training.py"
STEPS = ROOT / "tests/workloads/torch_cuda_steps.py"
LONG_PERCENT = {"light": 1, "default": 2}  # of a step's time, with kernels of 200 us and more
FIXTURE_BYTES = 1 << 20


class Failure(Exception):
    pass


class Skip(Exception):
    pass


class Bench:
    """Runs programs on the device, alone or recorded, in a folder of its own."""

    def __init__(self, stepscope, python, folder, environment, burst=1_000_000, repeats=7):
        self.stepscope, self.python, self.folder = Path(stepscope), python, Path(folder)
        self.environment = {**os.environ, **environment}
        self.burst, self.repeats, self.recordings = burst, repeats, 0

    def run(self, *command, status=0, **more):
        done = subprocess.run([str(word) for word in command], env={**self.environment, **more},
                              cwd=self.folder, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=1200, check=False)
        if status is not None and done.returncode != status:
            raise Failure(f"{Path(command[0]).name} ended with status {done.returncode}: "
                          f"{done.stderr.strip()[-300:]}")
        return done

    def torch(self):
        if self.python is None:
            raise Skip("no Python with a CUDA build of PyTorch: $STEPSCOPE_CUDA_PYTHON names none")
        return self.python

    def program(self):
        path = self.stepscope.parent / "tests" / "cuda_program"
        if not path.exists():
            raise Skip(f"no {path.name}: stepscope was built without tests")
        return path

    def record(self, *command, options=(), status=0, **more):
        self.recordings += 1
        path = self.folder / f"{self.recordings}.pftrace"
        done = self.run(self.stepscope, "record", "-q", "-o", path, *options, "--", *command,
                        status=status, **more)
        return Recording(self, path, done)


class Recording:
    def __init__(self, bench, path, done):
        self.bench, self.path, self.done = bench, path, done
        facts = json.loads(bench.run(bench.stepscope, "info", path, "--format", "json").stdout)["files"][0]
        self.source = next(one for one in facts["sources"] if one["name"] == "gpu")
        self.notes = {}
        for note in facts["notes"]:
            if note["kind"].startswith("gpu-"):
                self.notes[note["kind"]] = self.notes.get(note["kind"], 0) + note["value"]
        self.facts = dict(note["text"].split(" = ", 1) for note in facts["notes"] if note["kind"] == "fact")

    def rows(self, by):
        done = self.bench.run(self.bench.stepscope, "report", "--by", by, "--num-rows", "all", "-f", "json",
                              self.path, status=None)
        return json.loads(done.stdout)["tables"][0]["rows"]

    def need_all_counted(self, launches):
        """Each launch has its kernel or is counted; returns what was lost."""
        notes = self.notes
        placed = notes["gpu-kernels"] - notes["gpu-kernels-without-launch"]
        lost = notes["gpu-launches-without-kernel"]
        if placed + lost != notes["gpu-launches"]:
            raise Failure(f"{placed} kernels and {lost} launches without one are not "
                          f"{notes['gpu-launches']} launches")
        if launches is not None and notes["gpu-launches"] + notes["gpu-lost-launches"] < launches:
            raise Failure(f"{notes['gpu-launches']} of {launches} launches were observed")
        return lost


def claims(bench):
    """all claims of `stepscope doctor --gpu` hold"""
    found = json.loads(bench.run(bench.stepscope, "doctor", "--gpu", "--format", "json",
                                 status=None).stdout)["claims"]
    wrong = [f"{one['name']}: {one['text']}" for one in found if one["state"] == "fails"]
    if wrong:
        raise Failure("; ".join(wrong))
    return f"{sum(one['state'] == 'holds' for one in found)} of {len(found)} hold: {found[0]['text']}"


def one_cupti(bench):
    """PyTorch's process has exactly one CUPTI, which is the one that stepscope uses"""
    recording = bench.record(bench.torch(), TRAINING, "short", 2)
    loaded = json.loads(recording.done.stdout)["cupti"]
    if len(loaded) != 1 or "gpu.collector" not in recording.facts:
        raise Failure(f"loaded: {loaded}; {recording.source['reason']}")
    return recording.facts["gpu.collector"]


def overhead(bench, kind, steps):
    """Medians of the medians, all runs in turn: {name: ms}"""
    python, runs = bench.torch(), {}
    for _ in range(bench.repeats):
        for name in ("plain", "light", "default", "full", "torch.profiler"):
            program = [python, TRAINING, kind, steps] + (["profiler"] if name == "torch.profiler" else [])
            done = (bench.run(*program) if name in ("plain", "torch.profiler") else
                    bench.record(*program, options=["--gpu", name]).done)
            runs.setdefault(name, []).append(json.loads(done.stdout)["step_ms"])
    return {name: statistics.median(times) for name, times in runs.items()}


def describe(step_ms):
    return ", ".join(f"{name} {ms / step_ms['plain'] * 100 - 100:+.2f} %" for name, ms in step_ms.items()
                     if name != "plain") + f" of {step_ms['plain']:.3f} ms"


def overhead_of_long_kernels(bench):
    """recording costs at most 1 % (light) and 2 % (default) of a step with kernels of 200 us and more"""
    step_ms = overhead(bench, "long", 20)
    for level, percent in LONG_PERCENT.items():
        if step_ms[level] > step_ms["plain"] * (1 + percent / 100):
            raise Failure(describe(step_ms))
    return describe(step_ms)


def overhead_of_short_kernels(bench):
    """with short kernels, recording costs no more than torch.profiler with CPU and CUDA"""
    step_ms = overhead(bench, "short", 100)
    if step_ms["default"] > step_ms["torch.profiler"]:
        raise Failure(describe(step_ms))
    return describe(step_ms)


def launches_of_the_runtime(bench):
    """a launch by the runtime is one launch, also where the calls of the driver are recorded"""
    recording = bench.record(bench.program(), 4, 6, options=["--gpu", "full"])
    lost = recording.need_all_counted(24)
    if lost or recording.notes["gpu-launches"] != 24 or recording.notes["gpu-kernels"] != 24:
        raise Failure(f"24 launches: {recording.notes}")
    calls = {row["name"]: row["instances"] for row in recording.rows("api")}
    return f"24 launches, 24 kernels; calls: {calls}"


def graphs(bench):
    """the kernels of a graph belong to its launch; with --gpu light the graph is one entry"""
    seen = {}
    for level in ("default", "light"):
        recording = bench.record(bench.torch(), TRAINING, "graph", 5, options=["--gpu", level])
        seen[level] = sum(row["instances"] for row in recording.rows("kernel"))
    if seen["default"] < 6 * 8 or seen["light"] > seen["default"] - 6 * 7:
        raise Failure(f"works of 6 replays of 8 kernels: {seen}")
    return f"works of 6 replays of 8 kernels: {seen}"


def triton(bench):
    """a kernel of torch.compile has its launch"""
    recording = bench.record(bench.torch(), TRAINING, "compile", 5)
    recording.need_all_counted(None)
    names = [row["name"] for row in recording.rows("kernel") if "triton" in row["name"]]
    if not names or recording.notes["gpu-kernels-without-launch"]:
        raise Failure(f"kernels of Triton: {names}; {recording.source['reason']}")
    return ", ".join(names)


def beside_torch_profiler(bench):
    """torch.profiler sees the same kernels when the program is recorded"""
    alone = json.loads(bench.record(bench.torch(), STEPS, 12, 4, 7,
                                    options=["--gpu", "off"]).done.stdout)["kernels"]
    recording = bench.record(bench.torch(), STEPS, 12, 4, 7)
    theirs = json.loads(recording.done.stdout)["kernels"]
    if theirs != alone or alone == 0 or "gpu.paused" not in recording.facts:
        raise Failure(f"torch.profiler saw {theirs} of {alone} kernels; {recording.source['reason']}")
    return f"{theirs} kernels; {recording.facts['gpu.paused']}"


def beside_ncu(bench):
    """below Nsight Compute the other user of CUPTI is named, and the program runs"""
    ncu = shutil.which("ncu") or shutil.which("/usr/local/cuda/bin/ncu")
    if ncu is None:
        raise Skip("no ncu: it belongs to the toolkit of CUDA")
    recording = bench.record(ncu, "-c", "1", "--clock-control", "none", bench.program(), 2, 3, status=None)
    if recording.done.returncode != 0:
        raise Skip(f"ncu ended with status {recording.done.returncode}: {recording.done.stdout[-200:]}")
    if not recording.source["reason"].startswith("another tool uses CUPTI"):
        raise Failure(recording.source["reason"])
    return recording.source["reason"]


def burst(bench):
    """of a million launches in a burst each has its kernel, or is counted as lost"""
    launches = bench.burst
    recording = bench.record(bench.program(), 1, launches, "burst")
    return f"{launches} launches, {recording.need_all_counted(launches)} lost and counted"


def burst_of_one_buffer(bench):
    """the same with a single buffer for CUPTI"""
    launches = bench.burst
    recording = bench.record(bench.program(), 1, launches, "burst",
                             STEPSCOPE_GPU="default,buffers=1")
    lost = recording.need_all_counted(launches)
    return f"{launches} launches, {lost} lost and counted, " \
           f"{recording.notes['gpu-refused-buffers']} buffers refused"


def fork(bench):
    """a child that is forked after CUDA was initialised ends well, and no kernel of the parent is lost"""
    recording = bench.record(bench.program(), 4, 6, "fork")
    if recording.need_all_counted(24) or recording.notes["gpu-kernels"] != 24:
        raise Failure(f"24 launches: {recording.notes}")
    return "24 launches, 24 kernels"


def sigterm(bench):
    """a program that SIGTERM ends has all but its last second"""
    path = bench.folder / "terminated.pftrace"
    child = subprocess.Popen([bench.stepscope, "record", "-q", "-o", path, "--", bench.program(), "1000000",
                              "20"], env=bench.environment, cwd=bench.folder, stdout=subprocess.DEVNULL)
    time.sleep(4)
    child.send_signal(signal.SIGTERM)
    status = child.wait(60)
    recording = Recording(bench, path, None)
    if status not in (-signal.SIGTERM, 128 + signal.SIGTERM) or recording.notes["gpu-kernels"] == 0:
        raise Failure(f"status {status}; {recording.source['reason']}")
    lost = recording.need_all_counted(None)
    return f"status {status}, {recording.notes['gpu-kernels']} kernels, {lost} lost and counted"


def ordinary_user(bench):
    """recording needs no permission beyond that of using the device"""
    setpriv = shutil.which("setpriv")
    if os.geteuid() != 0 or setpriv is None:
        raise Skip("needs root and setpriv, to become an ordinary user")
    folder = bench.folder / "ordinary"
    folder.mkdir(mode=0o777)
    folder.chmod(0o777)
    path = folder / "t.pftrace"
    done = bench.run(setpriv, "--reuid", "65534", "--regid", "65534", "--clear-groups", "--", bench.stepscope,
                     "record", "-q", "-o", path, "--", bench.program(), 2, 3, status=None)
    if done.returncode in (126, 127):
        raise Skip(f"the files of stepscope cannot be read by others: {done.stderr.strip()[-200:]}")
    recording = Recording(bench, path, done)
    if recording.notes.get("gpu-kernels") != 6:
        raise Failure(recording.source["reason"])
    return recording.source["reason"]


def recordings(bench):
    """small recordings of a device for tests: eager, compiled, graph, copies"""
    sizes = {}
    for kind in ("short", "compile", "graph", "copies"):
        recording = bench.record(bench.torch(), TRAINING, kind, 2)
        sizes[kind] = recording.path.stat().st_size
        recording.path.rename(bench.folder / f"fixture-{kind}.pftrace")
    if max(sizes.values()) > FIXTURE_BYTES:
        raise Failure(f"larger than a MiB: {sizes}")
    return f"bytes: {sizes}"


FMA = "sm__sass_thread_inst_executed_op_ffma_pred_on.sum"


def counters(bench):
    """counters of a kernel are what it does: its fused multiplications, within 2 %"""
    sheet, path, out = (bench.folder / name for name in ("counters.sheet", "counters.pftrace", "counters.json"))
    sheet.write_bytes(bytes(1 << 16))
    bench.run(bench.stepscope, "kernel", "-q", "-k", "stepscope_fma", "--count", 0, "--counters",
              f"{FMA},gpu__time_duration.sum", "-o", path, "--", bench.stepscope, "doctor", "--gpu-work", sheet)
    bench.run(bench.stepscope, "export", "--to", "chrome", "-o", out, path)
    launches = [one["args"] for one in json.loads(out.read_text())["traceEvents"]
                if one.get("name") == "stepscope_fma" and one["args"].get("grid_x", 0) > 1]
    if not launches:
        raise Failure(counters_fact(bench, path))
    worst = 0
    for number, launch in enumerate(launches):
        wanted = launch["grid_x"] * launch["block_x"] * 8 * (16384 << number)
        worst = max(worst, abs(json.loads(launch.get("metrics") or launch["untested_metrics"])[FMA][0] / wanted - 1))
    if worst > 0.02:
        raise Failure(f"off by {100 * worst:.2f} %")
    return f"{len(launches)} launches, off by at most {100 * worst:.3f} %"


def counters_fact(bench, path):
    notes = json.loads(bench.run(bench.stepscope, "info", path, "--format", "json").stdout)["files"][0]["notes"]
    facts = [note["text"] for note in notes if note["kind"] == "fact"]
    return next((one for one in reversed(facts) if one.startswith("gpu.counters = ")), "nothing was measured")


def counter_passes(bench):
    """sets of counters need as many passes on the device as CUPTI says without one"""
    seen = {}
    for name in ("memory", "roofline"):
        recording = bench.record(bench.program(), 60, 3, options=("--counters", name))
        fact = counters_fact(bench, recording.path)
        found = re.search(r" on (\w+): \d+ metrics in (\d+) pass", fact)
        if found is None:
            raise Failure(fact)
        answer = bench.run(bench.stepscope, "kernel", "--sets", "--chip", found[1], "--format", "json").stdout
        known = {one["set"]: one["passes"] for one in json.loads(answer)["sets"]}
        if known[name] != int(found[2]):
            raise Failure(f"{name} on {found[1]}: {found[2]} passes, and {known[name]} without the device")
        seen[name] = known[name]
    return f"passes on {found[1]}: {seen}"


def device_samples(bench):
    """periodic samples of a device's counters fit the kernels' records"""
    sheet, out = bench.folder / "samples.sheet", bench.folder / "samples.json"
    sheet.write_bytes(bytes(1 << 16))
    recording = bench.record(bench.stepscope, "doctor", "--gpu-work", sheet,
                             options=("--gpu-metrics", "0.0002", "--preflight", "warn"))
    if "gpu.samples" not in recording.facts:
        raise Failure(recording.facts.get("gpu.samples_problem", "nothing was sampled"))
    bench.run(bench.stepscope, "export", "--to", "chrome", "-o", out, recording.path, status=None)
    events = json.loads(out.read_text())["traceEvents"]
    active = [(one["ts"], *one["args"].values()) for one in events
              if one["ph"] == "C" and one["name"] == "GPU 0;SMs active"]
    kernels = sorted((one["ts"], one["ts"] + one["dur"], one["args"].get("grid_x", 0)) for one in events
                     if one.get("cat") == "kernel")
    whole = [one for one in kernels if one[1] - one[0] > 1000 and one[2] > 100 and active and one[0] > active[0][0]]
    if not whole:
        raise Skip("no kernel of a millisecond was sampled")

    def value(time):
        return [seen for ts, seen in active if ts <= time][-1]
    within = [value((begin + end) / 2) for begin, end, _ in whole]
    idle = [value((one[1] + after[0]) / 2) for one, after in zip(kernels, kernels[1:])
            if after[0] - one[1] > 1000 and one[1] > active[0][0]]
    if statistics.median_high(within) < 50 or max(idle, default=0) > 50:  # 0 within: samples may have been lost there
        raise Failure(f"SMs active within kernels: {within}; between them: {idle}")
    return f"{len(whole)} kernels: {statistics.median_high(within)} % active within, at most {max(idle, default=0)} % between"


def count_of_devices(bench):
    """Before a rank waits for another that has none."""
    simulated = bench.environment.get("FAKE_CUDA_DEVICES")
    if simulated is not None:
        return int(simulated)
    done = bench.run("nvidia-smi", "-L", status=None) if shutil.which("nvidia-smi") else None
    return len(done.stdout.splitlines()) if done is not None else 0


def sources_of_nccl(bench):
    """NCCL's plugin, and NVTX without it, say the same of collectives: group, number, bytes"""
    program = bench.program().with_name("nccl_program")
    if not program.exists() or count_of_devices(bench) < 2:
        raise Skip("it needs two devices, and nccl_program, which is built with the tests")
    found = []
    for more in ({}, {"NCCL_PROFILER_PLUGIN": "/none/plugin.so"}):
        recording = bench.record(program, 3, status=None, **more)
        if recording.done.returncode != 0:
            raise Skip(f"NCCL cannot be used: {recording.done.stderr.strip()[-200:]}")
        found.append([(row["name"], row["sequence"], row.get("bytes"), row["ranks"], row["group"][:5])
                      for row in recording.rows("collective") if "sequence" in row and "group" in row])
    if found[0] != found[1] or len(found[0]) != 6:
        raise Failure(f"the plugin: {found[0]}; NVTX: {found[1]}")
    return f"{len(found[0])} collectives"


CHECKS = {"claims": claims, "one-cupti": one_cupti, "overhead-long": overhead_of_long_kernels,
          "overhead-short": overhead_of_short_kernels, "runtime-launches": launches_of_the_runtime,
          "graphs": graphs, "triton": triton, "torch-profiler": beside_torch_profiler,
          "ncu": beside_ncu, "burst": burst, "one-buffer": burst_of_one_buffer, "fork": fork,
          "sigterm": sigterm, "ordinary-user": ordinary_user, "recordings": recordings,
          "counters": counters, "counter-passes": counter_passes, "device-samples": device_samples,
          "nccl-sources": sources_of_nccl}
# What stepscope does not record: nothing can be verified.
NOT_RECORDED = {}

if __name__ == "__main__":
    sys.exit("tests/gpu/check runs these")
