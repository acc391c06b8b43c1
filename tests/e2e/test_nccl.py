# SPDX-License-Identifier: Apache-2.0
"""NCCL's profiler interface under `record`, in each of its versions, with a fake NCCL: what a
recording has of collectives, with the work of devices and without."""

import json

import fake_cuda
import pytest
from test_gpu import simulated

VERSIONS = [1, 2, 3, 4, 5]
LATE_NS = 20_000_000


class Collectives:
    def __init__(self, stepscope, path, done):
        self.stepscope, self.path, self.done = stepscope, path, done

    def rows(self):
        done = self.stepscope("report", "--by", "collective", "-f", "json", self.path, status=None)
        return json.loads(done.stdout)["tables"][0]["rows"]

    def source(self):
        facts = json.loads(self.stepscope("info", self.path, "--format", "json").stdout)["files"][0]
        return {note["text"] for note in facts["notes"]
                if note["kind"] == "fact" and note["text"].startswith("nccl.source")}

    def events(self, name):
        """The events with this in their name, of both ranks."""
        out = self.path.with_suffix(".json")
        self.stepscope("export", "--to", "chrome", "-o", out, self.path, status=None)
        events = json.loads(out.read_text())["traceEvents"]
        return [one for one in events if name in one.get("name", "") and one["ph"] in "bX"]


@pytest.fixture
def record(stepscope, source_dir, tmp_path):
    program = stepscope.path.parent / "tests" / "nccl_program"
    if not program.exists():
        pytest.skip(f"{program} is missing: built without tests")

    def run(version, *options, rounds=3, nvtx=26, words=(), env=None):
        path = tmp_path / "t.pftrace"
        device = simulated(source_dir, "--devices", "2", "--nccl-profiler", str(version),
                           "--nccl-nvtx", str(nvtx))
        done = stepscope("record", "-o", path, *options, "--", program, rounds, *words,
                         env={**device, **(env or {})})
        assert done.stdout.split()[-1] == str(2 * rounds)
        return Collectives(stepscope, path, done)
    return run


def check_rows(rows, rounds):
    """Numbers, names, sizes and how NCCL did them; who was late."""
    assert [row["sequence"] for row in rows] == list(range(2 * rounds))
    assert {row["group"] for row in rows} == {rows[0]["group"]} and rows[0]["group"].startswith("NCCL ")
    assert all(row["ranks"] == 2 and row["algorithm"] == "ring" and row["protocol"] == "LL"
               for row in rows)
    reductions = rows[0::2]
    scatters = rows[1::2]
    assert {(row["name"], row["bytes"]) for row in reductions} == {("allreduce", 4000)}
    assert {(row["name"], row["bytes"]) for row in scatters} == {("reduce_scatter", 128)}
    assert max(row["skew_ns"] for row in scatters) > LATE_NS / 2  # the other rank may be late, too


@pytest.mark.parametrize("version", VERSIONS)
def test_kernels_have_what_nccl_says(record, version):
    recording = record(version)
    rows = recording.rows()
    check_rows(rows, 3)
    assert all(row["ends_differ_ns"] < 1000 for row in rows)  # the simulated ranks end together
    kernels = recording.events("ncclDevKernel_AllReduce")
    assert len(kernels) == 6
    assert {one["args"]["dtype"] if "dtype" in one["args"] else one["args"]["datatype"]
            for one in kernels} == {"float32"}
    assert {one["args"].get("reduction") for one in kernels} == {"sum" if version == 1 else None}
    messages = recording.events("ncclDevKernel_SendRecv")
    assert len(messages) == 6 and all("sequence" not in one["args"] for one in messages)


@pytest.mark.parametrize("version", [3, 4, 5])
def test_channels_stand_for_kernels(record, version):
    """Without the work of devices: from the start of the first channel to the end of the last."""
    recording = record(version, "--gpu", "off")
    rows = recording.rows()
    check_rows(rows, 3)
    ranges = recording.events("ncclReduceScatter")
    assert len([one for one in ranges if one["cat"] == "nccl"]) == 6  # the others are NVTX's
    assert not recording.events("ncclDevKernel")


@pytest.mark.parametrize("version", [1, 2])
def test_calls_alone_are_queued(record, version):
    """Versions without channels: the host only queues a collective, and says nothing of waits."""
    recording = record(version, "--gpu", "off")
    assert recording.rows() == []
    queued = recording.events("nccl:ReduceScatter")
    assert len(queued) == 6
    assert {one["args"]["algorithm"] for one in queued} == {"ring"}


def test_a_plugin_of_the_user_stays(record):
    """NVTX says what it does not."""
    recording = record(5, env={"NCCL_PROFILER_PLUGIN": "/none/plugin.so"})
    assert "NCCL_PROFILER_PLUGIN is set already (/none/plugin.so)" in recording.done.stderr
    check_of_nvtx(recording, 26, "NCCL ")


# --- NVTX, the second source ---

def check_of_nvtx(recording, edition, group):
    """What arguments say goes to the kernels; `group`: the start of its name, None: unknown."""
    rows = recording.rows()
    kernels = recording.events("ncclDevKernel")
    assert len(kernels) == 18
    for kernel in kernels:
        arguments = kernel["args"]
        is_message = "SendRecv" in kernel["name"]
        is_reduction = not is_message and edition >= 18
        wanted = {"allreduce": 4000, "reduce_scatter": 128, "send": 16, "recv": 16}
        assert arguments.get("bytes") == (wanted[arguments["collective"]] if edition >= 18 else None)
        assert arguments.get("reduction") == ("sum" if is_reduction else None)
        assert ("sequence" in arguments) == (group is not None and not is_message)
        assert not {"algorithm", "protocol", "datatype", "root"} & set(arguments)
    assert recording.source() == {"nccl.source = NCCL's ranges of NVTX"}
    calls = recording.events("nccl:")
    assert len(calls) == 18 and {one["name"] for one in calls} == {
        "nccl:AllReduce", "nccl:ReduceScatter", "nccl:Send", "nccl:Recv"}
    assert len(rows) == 6
    if group is not None:
        assert [row["sequence"] for row in rows] == list(range(6))
        assert {row["group"] for row in rows} == {rows[0]["group"]}
        assert rows[0]["group"].startswith(group)
        assert {one["args"]["sequence"] for one in calls if "sequence" in one["args"]} == set(range(6))
        assert all(row["ranks"] == 2 for row in rows)


@pytest.mark.parametrize("edition, group", [
    (15, "NCCL communicator 0"), (18, "NCCL communicator 0"), (24, "NCCL communicator 0"),
    (26, "NCCL ")])
def test_ranges_of_nvtx_describe_collectives(record, edition, group):
    """Without a plugin, as before NCCL 2.23: calls and kernels have what NVTX says."""
    check_of_nvtx(record(0, nvtx=edition), edition, group)


@pytest.mark.parametrize("version", [1, 3, 5])
def test_the_plugin_comes_before_nvtx(record, version):
    """No collective counts twice: the ranges of NVTX stay ranges."""
    recording = record(version)
    check_rows(recording.rows(), 3)
    assert recording.source() == {"nccl.source = NCCL's profiler interface"}
    assert not recording.events("nccl:")
    ranges = recording.events("ncclReduceScatter")  # of the program's threads, as annotations
    assert len(ranges) == 6 and {one["cat"] for one in ranges} == {"range"}
    assert not any("payload" in one.get("args", {}) for one in ranges)
    kernels = recording.events("ncclDevKernel_AllReduce")
    assert len(kernels) == 6 and {one["args"]["algorithm"] for one in kernels} == {"ring"}


@pytest.mark.parametrize("edition", [18, 26])
def test_a_group_of_calls_is_one_kernel(record, edition):
    """It has the bytes of all, and the number of the first."""
    recording = record(0, nvtx=edition, words=("group",))
    kernels = recording.events("ncclDevKernel_AllReduce")
    assert len(kernels) == 6 and {one["args"]["bytes"] for one in kernels} == {4800}
    assert {one["args"]["sequence"] for one in kernels} == {0, 2, 4}
    calls = recording.events("nccl:AllReduce")
    assert len(calls) == 12 and {one["args"]["sequence"] for one in calls} == set(range(6))
    assert {one["args"]["payload"]: one["args"]["reduction"] for one in calls} == {
        4000: "sum", 800: "max"}


def test_calls_of_nvtx_without_devices_are_queued(record):
    recording = record(0, "--gpu", "off")
    assert recording.rows() == []
    queued = recording.events("nccl:ReduceScatter")
    assert len(queued) == 6 and {one["args"]["payload"] for one in queued} == {128}
    assert {one["args"]["collective"] for one in queued} == {"reduce_scatter"}


@pytest.mark.parametrize("version", [5, 0])
def test_collectives_of_torch_and_of_nccl_are_one(stepscope, source_dir, tmp_path, version):
    """The group and the number are those of torch.distributed, on its calls and on kernels: of the
    plugin, or of NVTX, whose calls are then no further ranges."""
    python = fake_cuda.need_cuda_python()
    path = tmp_path / "t.pftrace"
    stepscope("record", "-q", "-o", path, "--", python, "-m", "torch.distributed.run",
              "--nproc-per-node", 2, source_dir / "tests/workloads/torch_cuda_ranks.py", "plain",
              env=simulated(source_dir, "--devices", "2", "--nccl-profiler", str(version), python),
              timeout=300)
    recording = Collectives(stepscope, path, None)
    rows = recording.rows()
    calls = [one for one in recording.events("nccl:") if "sequence" in one.get("args", {})]
    kernels = recording.events("ncclDevKernel_AllReduce")
    assert kernels
    assert {one["args"]["group"] for one in kernels} <= {one["args"]["group"] for one in calls}
    numbers = {one["args"]["sequence"] for one in calls}
    assert {one["args"]["sequence"] for one in kernels} <= numbers
    assert [row["sequence"] for row in rows] == sorted(row["sequence"] for row in rows)
    assert {row.get("algorithm") for row in rows} == {"ring" if version > 0 else None}
    assert {row["name"] for row in rows} >= {"allreduce", "allgather", "broadcast"}
    assert not recording.events("nccl:AllReduce")
    if version == 0:
        assert {one["args"]["reduction"] for one in kernels} <= {"sum", "avg", "max"}
