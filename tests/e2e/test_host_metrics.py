# SPDX-License-Identifier: Apache-2.0
"""The host's figures in a recording, against what /proc says to the test itself, against what the
program says about itself, and against psutil where it is installed. No figure depends on how busy
the machine is: totals over the whole recording are compared, with room for the two ends."""

import csv
import io
import json
import os
import pathlib
import re
import sys
import time

import pytest

import counters
from target import HOLD, info_so_far, record_until

trace_pb2 = pytest.importorskip("perfetto.protos.perfetto.trace.perfetto_trace_pb2",
                                reason="the package perfetto is not installed")
DecodeError = pytest.importorskip("google.protobuf.message").DecodeError

PROGRAM = """
import json, os, resource, sys, time

megabytes = 24
begin = time.process_time()
while time.process_time() - begin < 1.2:
    sum(range(1000))
block = bytearray(64 << 20)           # touched: resident, and faulted in page by page
for at in range(0, len(block), 4096):
    block[at] = 1
with open(sys.argv[1], "wb") as file:
    for _ in range(megabytes):
        file.write(os.urandom(1 << 20))
    file.flush()
    os.fsync(file.fileno())
for _ in range(200):
    time.sleep(0.002)                 # switches
print("ready", flush=True)            # a level is read while the block is there
sys.stdin.readline()
usage = resource.getrusage(resource.RUSAGE_SELF)
io = dict(line.split(": ") for line in open("/proc/self/io").read().splitlines())
print(json.dumps({"pid": os.getpid(), "cpu": usage.ru_utime + usage.ru_stime,
                  "minor": usage.ru_minflt, "voluntary": usage.ru_nvcsw,
                  "written": int(io["wchar"]), "storage": int(io["write_bytes"])}))
"""


def live(trace):
    """The series of a file that grows."""
    try:
        return counters.read(trace_pb2, trace)[0]
    except (FileNotFoundError, DecodeError):  # not there, or in the middle of a write
        return {}


def has_more_readings(trace, count):
    """A condition: since its first call the host was read so often."""
    first = []

    def condition():
        series = live(trace).get((0, "memory/used"))
        first.append(len(series.points) if series else 0)
        return first[-1] >= first[0] + count
    return condition


def cpu_seconds():
    """Busy time of all cores since boot, as /proc/stat has it."""
    with open("/proc/stat") as file:
        user, nice, system, _, _, irq, softirq, *_ = map(int, file.readline().split()[1:])
    return (user + nice + system + irq + softirq) / os.sysconf("SC_CLK_TCK")


def network_bytes():
    rows = [line.split() for line in pathlib.Path("/proc/net/dev").read_text()
            .replace(":", " ").splitlines()[2:]]
    return {row[0]: (int(row[1]), int(row[9])) for row in rows}


class Recording:
    def __init__(self, stepscope, folder):
        program, self.trace = folder / "program.py", folder / "run.pftrace"
        program.write_text(PROGRAM)
        before = time.monotonic(), cpu_seconds(), network_bytes()
        done = record_until(stepscope, self.trace, [sys.executable, program, folder / "data"],
                            self.has_block, "the block in the resident memory", ["-q"])
        after = time.monotonic(), cpu_seconds(), network_bytes()
        self.seconds = after[0] - before[0]
        self.busy_seconds = after[1] - before[1]
        self.network = {name: (after[2][name][0] - rx, after[2][name][1] - tx)
                        for name, (rx, tx) in before[2].items() if name in after[2]}
        self.said = json.loads(done.stdout)
        self.series, self.end_ns = counters.read(trace_pb2, self.trace)

    def has_block(self):
        return any(max(series.values) > 64 << 20 for (_, path), series in live(self.trace).items()
                   if path == "usage/resident memory")

    def host(self, path):
        return self.series[0, path]

    def process(self, name):
        return self.series[self.said["pid"], f"usage/{name}"]

    def total(self, series):
        return series.total(self.end_ns)


@pytest.fixture(scope="module")
def recording(stepscope, tmp_path_factory):
    return Recording(stepscope, tmp_path_factory.mktemp("host"))


def test_every_series_has_its_unit(recording):
    units = {name: series.unit for (_, name), series in recording.series.items()}
    for name, unit in {"CPU/busy": "%", "memory/used": "bytes", "load/1 min": "tasks",
                       "usage/CPU": "%", "usage/resident memory": "bytes",
                       "usage/minor faults": "/s", "usage/written by calls": "bytes/s"}.items():
        assert units[name] == unit, name
    for name in units:
        if name.startswith("disk ") and name.endswith(("/read", "/written")):
            assert units[name] == "bytes/s"


def test_cpu_of_the_process_is_what_it_says_itself(recording):
    used = recording.total(recording.process("CPU")) / 100
    assert abs(used - recording.said["cpu"]) < 0.2 + 0.05 * recording.said["cpu"]
    parts = sum(recording.total(recording.process(f"CPU {part}")) for part in ("user", "system"))
    assert abs(parts / 100 - used) < 0.2


def test_memory_faults_and_switches_of_the_process(recording):
    assert max(recording.process("resident memory").values) > 64 << 20
    assert max(recording.process("threads").values) >= 1
    faults = recording.total(recording.process("minor faults"))
    assert 0.9 * recording.said["minor"] - 500 < faults < 1.1 * recording.said["minor"] + 500
    voluntary = recording.total(recording.process("voluntary switches"))
    assert voluntary > 0.5 * recording.said["voluntary"]
    assert voluntary < 1.5 * recording.said["voluntary"] + 100


def test_bytes_written_by_the_process(recording):
    written = recording.total(recording.process("written by calls"))
    assert abs(written - recording.said["written"]) < 0.05 * recording.said["written"]
    storage = recording.total(recording.process("storage written"))
    assert abs(storage - recording.said["storage"]) < 0.05 * (recording.said["storage"] + 1e6)


def test_series_of_a_process_end_with_it(recording):
    for name in ("CPU", "resident memory", "threads"):
        assert recording.process(name).values[-1] == 0


def test_cpu_of_the_machine_against_proc_stat(recording):
    busy = recording.total(recording.host("CPU/busy")) / 100
    # The test's own reading spans a bit more time than the recording does.
    slack = 0.3 + os.cpu_count() * max(0.2, recording.seconds - self_seconds(recording))
    assert busy < 1.15 * recording.busy_seconds + 0.5
    assert busy > recording.busy_seconds - slack
    cores = [series for (_, name), series in recording.series.items()
             if name.startswith("CPU cores/") and name.endswith("/busy")]
    assert len(cores) == os.sysconf("SC_NPROCESSORS_ONLN")
    assert all(0 <= value <= 100 for series in cores for value in series.values)
    by_core = sum(recording.total(series) for series in cores) / 100
    assert abs(by_core - busy) < 0.1 + 0.05 * busy


def self_seconds(recording):
    first = recording.host("memory/used").points[0][0]
    return (recording.end_ns - first) / 1e9


def test_memory_of_the_machine_against_meminfo(recording):
    rows = dict(line.split(":") for line in pathlib.Path("/proc/meminfo").read_text().splitlines())
    total = int(rows["MemTotal"].split()[0]) * 1024
    assert set(recording.host("memory/total").values) == {total}
    used, free = recording.host("memory/used"), recording.host("memory/available")
    assert all(0 < value < total for value in used.values + free.values)
    assert abs(used.values[0] + free.values[0] - total) < 4096


def test_network_against_proc_net_dev(recording):
    for (_, name), series in recording.series.items():
        if name.startswith("net ") and name.endswith("/received"):
            interface = name[len("net "):].split("/")[0]
            if interface in recording.network:
                assert recording.total(series) <= 1.25 * recording.network[interface][0] + (1 << 16)


def test_disks_networks_and_memory_against_psutil(stepscope, tmp_path):
    psutil = pytest.importorskip("psutil", reason="psutil is not installed")
    def totals():
        return psutil.disk_io_counters(perdisk=True), psutil.net_io_counters(pernic=True), \
            psutil.virtual_memory()
    out = tmp_path / "t.pftrace"
    program = "import os; f = open('data', 'wb'); f.write(os.urandom(16 << 20));" \
        "f.flush(); os.fsync(f.fileno());" + HOLD
    disks, networks, memory = totals()
    record_until(stepscope, out, [sys.executable, "-c", program], has_more_readings(out, 2),
                 "two readings of the host", ["-q"], cwd=tmp_path)
    disks_after, networks_after, memory_after = totals()
    series, end_ns = counters.read(trace_pb2, out)

    def total(path):
        return series[0, path].total(end_ns) if (0, path) in series else 0

    # What psutil sees contains what the recording saw: it read before and after.
    # The last rate counts to the end of the recording, a part of an interval later.
    room = 1.25, 1 << 20
    for name, before in disks.items():
        if name in disks_after:
            for ours, theirs in (("read", "read_bytes"), ("written", "write_bytes")):
                most = getattr(disks_after[name], theirs) - getattr(before, theirs)
                assert total(f"disk {name}/{ours}") <= room[0] * most + room[1], name
    for name, before in networks.items():
        if name in networks_after:
            for ours, theirs in (("received", "bytes_recv"), ("sent", "bytes_sent")):
                most = getattr(networks_after[name], theirs) - getattr(before, theirs)
                assert total(f"net {name}/{ours}") <= room[0] * most + room[1], name
    shown = {path.split("/")[0].removeprefix("disk ") for _, path in series
             if path.startswith("disk ")}
    written = sum(disks_after[name].write_bytes - disks[name].write_bytes
                  for name in shown if name in disks)
    if written >= 16 << 20:  # else it went to no disk: tmpfs, a network
        assert sum(total(f"disk {name}/written") for name in shown) > 12 << 20
    assert series[0, "memory/total"].values[0] == memory.total
    low, high = sorted((memory.available, memory_after.available))
    other = 0.2 * memory.total  # other programs come and go
    assert low - other < series[0, "memory/available"].values[0] < high + other


def test_the_report_has_them(stepscope, recording):
    done = stepscope("report", "--by", "counter", "-f", "csv", "--num-rows", "all",
                     recording.trace)
    rows = {(row["group"], row["name"], row["pid"]): row
            for row in csv.DictReader(io.StringIO(done.stdout))}
    busy, used = rows["CPU", "busy", ""], rows["memory", "used", ""]
    assert (busy["unit"], used["unit"], busy["kind"]) == ("%", "bytes", "gauge")
    assert float(used["last"]) == recording.host("memory/used").values[-1]
    cpu = rows["usage", "CPU", str(recording.said["pid"])]
    points = recording.process("CPU").points
    seconds = (points[-1][0] - points[0][0]) / 1e9
    assert abs(float(cpu["mean"]) / 100 * seconds - recording.said["cpu"]) < \
        0.2 + 0.05 * recording.said["cpu"]


def test_off_and_slower_by_the_option(stepscope, tmp_path):
    off, slow = tmp_path / "off.pftrace", tmp_path / "slow.pftrace"
    for trace, interval in ((off, "0"), (slow, "60")):  # by default it reads twice a second
        record_until(stepscope, trace, [sys.executable, "-c", HOLD],
                     lambda: (info_so_far(stepscope, trace) or {"duration_s": 0})["duration_s"] > 1,
                     "a second", ["-q", "--host-interval", interval])
    series, _ = counters.read(trace_pb2, off)
    assert {path for _, path in series} <= {"lost samples"}
    sources = {one["name"]: one for one in info(stepscope, off)["sources"]}
    assert sources["host"]["status"] == "off"
    assert "--host-interval 0" in sources["host"]["reason"]
    series, _ = counters.read(trace_pb2, slow)
    assert len(series[0, "memory/used"].points) == 1
    done = stepscope("record", "--host-interval", "-1", "--", "true", status=2)
    assert "--host-interval takes a number" in done.stderr


def info(stepscope, path):
    return json.loads(stepscope("info", path, "--format", "json").stdout)["files"][0]


def test_doctor_and_info_name_the_source(stepscope, recording):
    done = stepscope("doctor", "--format", "json", status=None)
    found = {one["name"]: one for one in json.loads(done.stdout)["checks"]}
    assert "CPU" in found["host"]["text"]
    sources = {one["name"]: one for one in info(stepscope, recording.trace)["sources"]}
    assert sources["host"]["status"] == "ran"
    assert "memory" in sources["host"]["reason"]


# --- NVML -----------------------------------------------------------------------------------------

@pytest.fixture
def fake_gpus(stepscope):
    folder = stepscope.path.parent / "tests" / "fakes"
    if not (folder / "libnvidia-ml.so.1").exists():
        pytest.skip("the fake NVML is not built beside stepscope")

    def record(out, path=None, ends=lambda values: True, mode=""):
        """Until the series of this path has values that end it; without one until it has started."""
        env = {**os.environ, "LD_LIBRARY_PATH": str(folder), "FAKE_NVML": mode}

        def has_ended():
            series = live(out).get((0, path))
            return series is not None and ends(series.values)
        record_until(stepscope, out, [sys.executable, "-c", HOLD],
                     has_ended if path else lambda: True, path or "a start",
                     ["-q", "--host-interval", "0.1"], env=env)
        return counters.read(trace_pb2, out)[0]
    record.env = {"LD_LIBRARY_PATH": str(folder)}
    return record


def test_figures_of_gpus(fake_gpus, tmp_path):
    series = fake_gpus(tmp_path / "t.pftrace", "GPU 0 Fake 1 GPU-00000000/power, average")
    first = {path.split("/", 1)[1]: one for (_, path), one in series.items()
             if path.startswith("GPU 0 Fake 1 GPU-00000000/")}
    assert {name: one.unit for name, one in first.items()} == {
        "utilisation": "%", "memory utilisation": "%", "memory used": "bytes",
        "memory total": "bytes", "power": "W", "power limit": "W", "power, average": "W",
        "energy since start": "J", "SM clock": "MHz", "memory clock": "MHz", "temperature": "°C",
        "SMs busy": "%", "SM occupancy": "%", "tensor cores busy": "%", "tensor cores busy, HMMA": "%",
        "tensor cores busy, IMMA": "%", "tensor cores busy, DMMA": "%", "FP32 units busy": "%",
        "FP16 units busy": "%", "integer units busy": "%", "DRAM bandwidth used": "%",
        "PCIe sent": "bytes/s", "PCIe received": "bytes/s"}
    expected = {"utilisation": 87, "memory utilisation": 43, "memory used": 20 << 30,
                "memory total": 80 << 30, "power": 345.6, "power limit": 700, "SM clock": 1980,
                "memory clock": 2619, "temperature": 54, "SMs busy": 62.5,
                "tensor cores busy": 31.3, "PCIe sent": 100 << 20}
    for name, value in expected.items():
        assert set(first[name].values) == {value}, name
    assert 200 < first["power, average"].values[0] < 400
    assert 0 < first["energy since start"].values[-1] < 300 * 60
    second = {path.split("/", 1)[1]: one for (_, path), one in series.items()
              if path.startswith("GPU 1 Fake 2 GPU-00000001/")}
    assert "utilisation" not in second and "SMs busy" not in second
    assert "power, average" not in second
    assert set(second["throttled: heat"].values) == {1}


@pytest.mark.parametrize("mode,words", [
    ("", "2 GPUs, no GPM of GPU 1: this GPU has no GPM"),
    ("forbidden", "2 GPUs, no GPM of GPU 0: the driver refuses GPM to this user (root may have it)")])
def test_why_a_gpu_has_no_gpm_is_said(stepscope, fake_gpus, tmp_path, mode, words):
    out = tmp_path / "t.pftrace"
    series = fake_gpus(out, "GPU 0 Fake 1 GPU-00000000/power, average", mode=mode)
    source = next(one for one in info(stepscope, out)["sources"] if one["name"] == "nvml")
    assert source["reason"] == words
    assert ((0, "GPU 0 Fake 1 GPU-00000000/SMs busy") in series) == (mode == "")


def test_a_gpu_is_an_entity_of_the_recording(stepscope, fake_gpus, tmp_path):
    out = tmp_path / "t.pftrace"
    fake_gpus(out)
    assert info(stepscope, out)["devices"] == [
        {"id": 1, "kind": "gpu", "number": 0, "model": "Fake 1", "uuid": "GPU-00000000-and-so-on",
         "pci_address": "00000000:3B:00.0", "memory_bytes": 80 << 30},
        {"id": 2, "kind": "gpu", "number": 1, "model": "Fake 2", "uuid": "GPU-00000001-and-so-on",
         "pci_address": "00000000:3C:00.0", "memory_bytes": 80 << 30}]
    text = stepscope("info", out).stdout
    assert re.search(r"GPU 1 +Fake 2 +80.0 GiB +00000000:3C:00.0 +GPU-00000001-and-so-on", text), text


@pytest.mark.parametrize("mode,status,words", [
    ("driver", "unavailable", "the NVIDIA driver is not loaded"),
    ("none", "unavailable", "no GPU is visible"),
    ("slow", "failed", "does not answer")])
def test_what_stops_nvml_is_reported(stepscope, fake_gpus, tmp_path, mode, status, words):
    out = tmp_path / "t.pftrace"
    fake_gpus(out, mode=mode)
    source = next(one for one in info(stepscope, out)["sources"] if one["name"] == "nvml")
    assert source["status"] == status
    assert words in source["reason"]


def test_a_lost_gpu_ends_and_the_other_goes_on(fake_gpus, tmp_path):
    series = fake_gpus(tmp_path / "t.pftrace", "GPU 0 Fake 1 GPU-00000000/utilisation",
                       lambda values: values[-1] == 0, mode="lost")
    assert series[0, "GPU 0 Fake 1 GPU-00000000/utilisation"].values[-1] == 0
    assert series[0, "GPU 1 Fake 2 GPU-00000001/temperature"].values == [55]


def test_older_libraries_and_doctor(stepscope, fake_gpus, tmp_path):
    series = fake_gpus(tmp_path / "t.pftrace", "GPU 0 Fake 1 GPU-00000000/memory used", mode="old")
    assert set(series[0, "GPU 0 Fake 1 GPU-00000000/memory used"].values) == {21 << 30}
    done = stepscope("doctor", "--format", "json", env=fake_gpus.env, status=None)
    found = {one["name"]: one for one in json.loads(done.stdout)["checks"]}
    assert found["nvml"]["verdict"] == "ok" and "2 GPUs: Fake 1" in found["nvml"]["text"]
