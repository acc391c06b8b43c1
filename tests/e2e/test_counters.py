# SPDX-License-Identifier: Apache-2.0
"""Hardware counters of a recording, on the simulated device: what is measured of its kernels is known
(tests/fakes/cuda/cupti_profiler.c)."""

import json
import pathlib

import fake_cuda
import pytest
from test_gpu import Recording, record, simulated  # noqa: F401 (record is a fixture)

DRIVER = pathlib.Path("/proc/driver/nvidia/version")
MARK = "gpu-GPU-5a000000-0000-0000-0000-000000000000-driver-unknown-cupti-130001.tested"


@pytest.fixture(autouse=True)
def cache(tmp_path_factory, monkeypatch, request):
    """A cache with the mark that the self-test has passed; "unmarked": without."""
    if DRIVER.exists():
        pytest.skip("this machine has a driver of CUDA, whose version would be in the mark")
    folder = tmp_path_factory.mktemp("cache")
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder))
    if "unmarked" not in request.keywords:
        (folder / "stepscope").mkdir()
        (folder / "stepscope" / MARK).touch()
    return folder / "stepscope"


ANYHOW = ["--preflight", "off"]  # test_preflight.py has what is said before the program starts
THREADS = 4 * 128  # of each kernel of tests/workloads/cuda_program.c


def measured(recording, name="training step"):
    """{metric: row} of what counters measured."""
    return {row["metric"]: row for row in recording.rows("metric") if row["name"] == name}


def test_a_set_of_one_pass_measures_each_step(record):  # noqa: F811
    recording = record(12, 6, options=["--counters", "memory"])
    rows = measured(recording)
    assert rows["dram__bytes_read.sum"]["avg"] == 6 * THREADS * 64
    assert rows["dram__bytes_write.sum"]["avg"] == 6 * THREADS * 32
    assert rows["gpu__time_duration.sum"]["avg"] == 6 * 20000
    assert {row["instances"] for row in rows.values()} == {3}
    assert rows["dram__bytes_read.sum"]["unit"] == "byte"
    assert recording.facts["gpu.counters"] == "memory on GA100: 12 metrics in 1 pass; 3 measurements of steps"
    # Measured steps have no work of devices, and do not count as steps without work.
    assert recording.notes["gpu-kernels"] == 9 * 6 and recording.notes["gpu-launches-without-kernel"] == 0


def test_consecutive_steps_are_the_passes_of_a_larger_set(record):  # noqa: F811
    recording = record(20, 3, options=["--counters", "roofline", "--counters-skip", "2", "--counters-count", "2"])
    rows = measured(recording)
    assert "3 passes; 2 measurements" in recording.facts["gpu.counters"]
    assert {row["instances"] for row in rows.values()} == {2}
    # Each pass counted a step of its own: the same work.
    assert rows["dram__bytes_read.sum"]["avg"] == 3 * THREADS * 64
    assert rows["sm__sass_thread_inst_executed_op_ffma_pred_on.sum"]["avg"] == 3 * THREADS * 2
    assert rows["sm__ops_path_tensor_src_bf16_dst_fp32.sum"]["avg"] == THREADS * 8192
    assert recording.notes["gpu-kernels"] == (20 - 2 * 3) * 3


def test_metrics_by_name(record):  # noqa: F811
    recording = record(12, 3, options=["--counters", "gpu__time_duration.sum,lts__t_bytes.sum"])
    assert set(measured(recording)) == {"gpu__time_duration.sum", "lts__t_bytes.sum"}


def test_count_0_measures_to_the_end(record):  # noqa: F811
    recording = record(12, 3, options=["--counters", "memory", "--counters-count", "0"])
    assert measured(recording)["gpu__time_duration.sum"]["instances"] >= 6


@pytest.mark.parametrize("fault,reason", [
    ("no-counters", "NVreg_RestrictProfilingToAdminUsers=0"), ("busy-counters", "DCGM")])
def test_a_refusal_names_the_fix_and_the_rest_is_recorded(record, fault, reason):  # noqa: F811
    recording = record(12, 3, options=["--counters", "memory", *ANYHOW], device=["--fault", fault])
    assert recording.facts["gpu.counters"].startswith("not measured: cannot ")
    assert reason in recording.facts["gpu.counters"]
    assert recording.notes["gpu-kernels"] == 36 and measured(recording) == {}


def test_a_metric_that_the_chip_lacks(record):  # noqa: F811
    recording = record(12, 3, options=["--counters", "sm__ops_path_tensor_src_fp8.sum", *ANYHOW])
    assert 'GA100 has no metric "sm__ops_path_tensor_src_fp8.sum"' in recording.facts["gpu.counters"]


def test_a_library_without_profilers(record):  # noqa: F811
    recording = record(12, 3, options=["--counters", "memory", *ANYHOW], device=["--cupti", "11.8"])
    assert "CUPTI 12.6 or later is needed" in recording.facts["gpu.counters"]
    assert recording.notes["gpu-kernels"] == 36


# --- kernels --------------------------------------------------------------------------------------

@pytest.fixture
def kernel(stepscope, source_dir, tmp_path):
    """Runs `kernel` on tests/workloads/cuda_program.c: its recording."""
    program = stepscope.path.parent / "tests" / "cuda_program"
    if not program.exists():
        pytest.skip(f"{program} is not there: built without tests")

    def run(*options, device=(), steps=6):
        path = tmp_path / "kernels.pftrace"
        done = stepscope("kernel", "-q", "-o", path, *options, "--", program, steps, 6,
                         env=simulated(source_dir, *device))
        return Recording(stepscope, path, done)
    return run


@pytest.mark.parametrize("device", [(), ("--nested-driver",)])
def test_launches_of_a_kernel(kernel, device):
    recording = kernel("-k", "gemm", "--skip", "2", "--count", "3", "--counters", "roofline", device=device)
    (name,) = recording.kernels()
    assert "gemm" in name and recording.kernels()[name] == 3
    rows = measured(recording, name)
    assert rows["dram__bytes_read.sum"]["avg"] == THREADS * 64
    assert rows["sm__ops_path_tensor_src_bf16_dst_fp32.sum"]["avg"] == THREADS * 8192
    assert rows["gpu__time_duration.sum"]["max"] == 20000
    assert "3 passes; 3 measurements of kernels" in recording.facts["gpu.counters"]
    durations = {row["min_ns"] for row in recording.rows("kernel")}
    assert all(abs(one - 20000) <= 1 for one in durations), "the kernel's, not that of its replay"


def test_what_was_measured_is_in_the_roofline(stepscope, kernel):
    recording = kernel("-k", "gemm", "--counters", "roofline")
    done = stepscope("report", "--by", "roofline", "--group", "kernel", "-f", "json", recording.path)
    (row,) = json.loads(done.stdout)["tables"][0]["rows"]
    flops = THREADS * (8192 + 2 * 2)  # two fused instructions of each thread
    assert row["source"] == "measured" and row["instances"] == 10
    assert row["flops"] == 10 * flops and row["bytes"] == 10 * THREADS * 96


def test_count_0_measures_all_launches_and_readable_names_match(kernel):
    recording = kernel("-k", r"^(add\(float|_Z3add)", "--count", "0", "--counters", "memory")
    assert list(recording.kernels().values()) == [12]


def test_no_kernel_matches(kernel):
    recording = kernel("-k", "nothing")
    assert recording.kernels() == {} and "gpu.counters" not in recording.facts
    assert "none that was launched has such a name (-k)" in recording.source["reason"]


def test_kernels_of_a_device_whose_counters_are_refused(kernel):
    recording = kernel("-k", "gemm", *ANYHOW, device=["--fault", "no-counters"])
    assert "--cap-add=SYS_ADMIN" in recording.facts["gpu.counters"]
    assert "--cap-add=SYS_ADMIN" in recording.facts["gpu.problem"] and recording.source["status"] != "ran"


def test_a_wrong_pattern(stepscope):
    assert "regular expression" in stepscope("kernel", "-k", "(", "--", "true", status=2).stderr


# --- CUDA graphs ----------------------------------------------------------------------------------

@pytest.fixture
def graphs(stepscope, source_dir, tmp_path):
    """Runs tests/workloads/cuda_graphs.c under `record` or `kernel`: its recording."""
    program = stepscope.path.parent / "tests" / "cuda_graphs"
    if not program.exists():
        pytest.skip(f"{program} is not there: built without tests")

    def run(command, *options, steps=12, mode="plain", device=()):
        path = tmp_path / "graphs.pftrace"
        done = stepscope(command, "-q", "-o", path, *options, "--", program, steps, 6, mode,
                         env=simulated(source_dir, *device))
        return Recording(stepscope, path, done)
    return run


def graph_of(recording):
    (name,) = [one for one in recording.kernels() if one.startswith("CUDA graph")]
    return name


@pytest.mark.parametrize("device", [(), ("--nested-driver",)])
def test_a_graph_is_measured_as_a_whole(graphs, device):
    """Each pass is a launch of it; it is shown with its kernels."""
    recording = graphs("kernel", "-k", "gemm", "--counters", "roofline", "--count", "3", steps=12, device=device)
    name = graph_of(recording)
    assert [name.count(f"2 x {one}") for one in ("add", "gemm", "reduce")] == [1, 1, 1] or \
        [name.count(f"2 x _Z{one}") for one in ("3add", "4gemm", "6reduce")] == [1, 1, 1], name
    assert recording.kernels() == {name: 3}
    rows = measured(recording, name)
    assert rows["dram__bytes_read.sum"]["avg"] == 6 * THREADS * 64
    assert rows["sm__ops_path_tensor_src_bf16_dst_fp32.sum"]["avg"] == 2 * THREADS * 8192
    assert rows["gpu__time_duration.sum"]["avg"] == 6 * 20000
    assert "3 passes; 3 measurements of kernels" in recording.facts["gpu.counters"]


def test_a_graph_beside_kernels_of_the_same_name(graphs):
    recording = graphs("kernel", "-k", "gemm", "--counters", "memory", "--count", "0", mode="eager")
    name = graph_of(recording)
    (kernel,) = set(recording.kernels()) - {name}
    assert recording.kernels() == {name: 11, kernel: 22}
    assert measured(recording, name)["dram__bytes_read.sum"]["avg"] == 6 * THREADS * 64
    assert measured(recording, kernel)["dram__bytes_read.sum"]["avg"] == THREADS * 64


def test_a_graph_that_is_not_launched_again_gives_way(graphs):
    """Three passes are needed, and it is launched once: after 1000 other launches, these are measured."""
    recording = graphs("kernel", "-k", "gemm", "--counters", "roofline", "--count", "0", steps=520, mode="once")
    (kernel,) = recording.kernels()
    assert "CUDA graph" not in kernel and 0 < recording.kernels()[kernel] < 50


def test_steps_count_the_kernels_of_graphs(graphs):
    recording = graphs("record", "--counters", "memory", "--gpu", "light")
    rows = measured(recording)
    assert rows["dram__bytes_read.sum"]["avg"] == 6 * THREADS * 64
    assert rows["gpu__time_duration.sum"]["instances"] == 3


@pytest.mark.parametrize("command,options", [
    ("record", ["--counters", "memory", "--counters-skip", "2", "--counters-count", "0"]),
    ("kernel", ["-k", "gemm", "--counters", "memory", "--count", "0"])])
def test_a_step_within_a_capture_does_not_break_it(graphs, command, options):
    """Nothing waits for the device there; the step with the capture is not a measurement."""
    recording = graphs(command, *options, mode="marked")
    rows = [row for row in recording.rows("metric") if row["metric"] == "dram__bytes_read.sum"]
    assert rows and {row["avg"] for row in rows} == {6 * THREADS * 64}


def test_a_step_that_ends_with_another_device(graphs):
    """Its work is waited for on the device that is measured."""
    recording = graphs("record", "--counters", "memory", "--counters-skip", "2", "--counters-count", "0",
                       mode="devices", device=["--devices", "2", "--duration", "*=20ms"])
    rows = measured(recording)
    assert rows["dram__bytes_read.sum"]["instances"] >= 3
    assert rows["dram__bytes_read.sum"]["min"] == rows["dram__bytes_read.sum"]["max"] == 6 * THREADS * 64


def test_another_threads_capture_is_not_broken(graphs):
    recording = graphs("kernel", "-k", "gemm", "--counters", "memory", "--count", "0", mode="threads", steps=60)
    assert " of kernels" in recording.facts["gpu.counters"]


@pytest.mark.parametrize("command,options,measurements", [
    ("kernel", ["-k", "elementwise", "--counters", "memory", "--count", "0"], " of kernels"),
    ("record", ["--counters", "memory", "--counters-skip", "0", "--counters-count", "0"], None)])
def test_graphs_of_torch(stepscope, source_dir, tmp_path, command, options, measurements):
    """Its capture is not broken, and each replay of the graph is one measurement."""
    python = fake_cuda.need_cuda_python()
    path = tmp_path / "torch.pftrace"
    done = stepscope(command, "-q", "-o", path, *options, "--", python,
                     source_dir / "tests/workloads/torch_cuda_odd.py", "graph", env=simulated(source_dir, python))
    recording = Recording(stepscope, path, done)
    assert json.loads(done.stdout)["nodes"] == 2
    if measurements is not None:
        (name,) = [one for one in recording.kernels() if one.startswith("CUDA graph")]
        assert recording.kernels()[name] == 8 and "elementwise_kernel" in name, recording.kernels()
        assert measurements in recording.facts["gpu.counters"]


# --- the self-test --------------------------------------------------------------------------------

@pytest.mark.unmarked
def test_measured_numbers_are_not_shown_before_the_self_test_has_passed(record, cache):  # noqa: F811
    recording = record(12, 6, options=["--counters", "memory"])
    assert "run `stepscope doctor --gpu`, then record again" in recording.done.stderr
    text = recording.stepscope("report", "--by", "metric", recording.path, status=None).stdout
    assert measured(recording) == {} and "196608" not in text
    assert "measured and are not shown" in " ".join(text.split()) and not cache.exists()


@pytest.mark.unmarked
def test_kernels_that_were_not_tested_are_not_measured_in_the_roofline(stepscope, kernel):
    recording = kernel("-k", "gemm", "--counters", "roofline")
    done = stepscope("report", "--by", "roofline", "--group", "kernel", "-f", "json", recording.path, status=None)
    assert "measured" not in json.dumps(json.loads(done.stdout)["tables"][0]["rows"])


@pytest.mark.unmarked
def test_the_self_test_leaves_the_mark(stepscope, source_dir, cache):
    done = stepscope("doctor", "--gpu", env=simulated(source_dir), status=None, timeout=600)
    if done.returncode == 0:
        assert "show hardware counters" in done.stdout and [one.name for one in cache.iterdir()] == [MARK]
    else:  # times of a busy machine
        assert done.returncode == 1 and not cache.exists(), done.stdout


def test_usage(stepscope):
    for options, reason in [(["--counters", "all"], "memory, roofline, detailed"),
                            (["--counters", "memory", "--gpu", "off"], "leave out --gpu off"),
                            (["--counters", "memory", "--no-inject"], "leave out --no-inject")]:
        assert reason in stepscope("record", *options, "--", "true", status=2).stderr


# --- as people read them --------------------------------------------------------------------------

def table(stepscope, recording, by):
    done = stepscope("report", "--by", by, "-f", "json", recording.path, status=None)
    return json.loads(done.stdout)["tables"][0]["rows"]


def test_counters_of_steps_are_a_roofline_of_steps(stepscope, record):  # noqa: F811
    recording = record(20, 3, options=["--counters", "roofline", "--counters-skip", "2", "--counters-count", "2"])
    measured_steps = [row for row in table(stepscope, recording, "step-roofline") if row["source"] == "measured"]
    assert len(measured_steps) == 2
    for row in measured_steps:
        assert row["flops"] == THREADS * (8192 + 3 * 2 * 2) and row["bytes"] == 3 * THREADS * 96
        assert row["time_ns"] == 3 * 20000
        assert row["flops_per_byte"] == pytest.approx(row["flops"] / row["bytes"])


def test_the_speed_of_light_of_steps(stepscope, record):  # noqa: F811
    recording = record(12, 6, options=["--counters", "memory"])
    (row,) = table(stepscope, recording, "speed-of-light")
    assert (row["name"], row["instances"]) == ("training step", 3)
    metrics = {name: one["avg"] for name, one in measured(recording).items()}
    assert row["source"] == "derived: compute, memory, L1, L2, DRAM"
    peak = metrics["dram__bytes.sum.peak_sustained_elapsed.per_second"]
    assert row["dram_percent"] == pytest.approx(100 * 6 * THREADS * 96 / (6 * 20000e-9) / peak)
    assert row["memory_percent"] == max(row["l1_percent"], row["l2_percent"], row["dram_percent"])


@pytest.mark.parametrize("device", [(), ("--nested-driver",)])
def test_a_measured_kernel_has_what_its_blocks_need(stepscope, kernel, device):
    recording = kernel("-k", "gemm", "--counters", "memory", device=device)
    (row,) = table(stepscope, recording, "occupancy")
    assert (row["registers"], row["block_threads"], row["shared_bytes"]) == (32, 128, 0)
    assert row["achieved_percent"] == measured(recording, row["name"])[
        "sm__warps_active.avg.pct_of_peak_sustained_active"]["avg"]


def test_the_speed_of_light_of_kernels_follows_from_their_counters(stepscope, kernel):
    recording = kernel("-k", "gemm", "--counters", "detailed")
    (row,) = table(stepscope, recording, "speed-of-light")
    metrics = {name: one["avg"] for name, one in measured(recording, row["name"]).items()}
    names = {"compute_percent": "sm__throughput.avg.pct_of_peak_sustained_elapsed",
             "memory_percent": "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed",
             "l2_percent": "lts__throughput.avg.pct_of_peak_sustained_elapsed"}
    for key, name in names.items():
        assert name not in metrics or row[key] == metrics[name]
    assert row["instances"] == 10 and row["total_ns"] == 10 * 20000


@pytest.mark.unmarked
def test_numbers_that_were_not_tested_are_in_none_of_these_tables(stepscope, kernel):
    recording = kernel("-k", "gemm", "--counters", "detailed")
    for by in ("speed-of-light", "step-roofline"):
        assert table(stepscope, recording, by) == []
    assert all(row["achieved_percent"] is None for row in table(stepscope, recording, "occupancy"))
    text = stepscope("report", "--by", "speed-of-light", recording.path, status=None).stdout
    assert "measured and are not shown" in " ".join(text.split())
