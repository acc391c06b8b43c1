# SPDX-License-Identifier: Apache-2.0
"""Kineto's format: what a conversion keeps, and that its readers accept it."""

import gzip
import json
import os
import re
import tarfile

import kineto_files as kineto
import pytest
from foreign import KINETO, each
from kineto_readers import analysis_of, plugin  # noqa: F401 (a fixture)

TABLES = ["gpu", "stream", "kernel", "api", "op", "module", "step", "range", "memcpy", "memset"]
# The peers of these take a minute.
LONG = ("a100_graphs", "v100_graphs", "2020_list", "v100_two_ranks", "v100_absolute", "a100_stacks", "draw_images")
SAME = [name for name in KINETO if not any(part in name for part in (
    "two_ranks", "absolute", "a100_stacks", "compiled", "decode", "draw"))]


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    return kineto.File(rank=1).write(tmp_path_factory.mktemp("kineto") / "rank1.pt.trace.json")


@pytest.fixture(scope="module")
def exported(stepscope, original, tmp_path_factory):
    path = tmp_path_factory.mktemp("export") / "a.pt.trace.json"
    stepscope("export", "--to", "kineto", "-o", path, original)
    return path


def tables(stepscope, path):
    found = {}
    for by in TABLES:
        done = stepscope("report", path, "--by", by, "--format", "json", "--num-rows", "all",
                         status=None)
        rows = json.loads(done.stdout)["tables"][0]["rows"] if done.returncode == 0 else done.stderr
        found[by] = sorted(json.dumps(row, sort_keys=True) for row in rows)
    return found


# ---- what is kept ------------------------------------------------------------------------


def test_calls_are_no_samples(stepscope, original, tmp_path):
    done = stepscope("export", "--to", "kineto", "-o", tmp_path / "a.json", original)
    assert "left out" not in done.stderr


def test_every_event_is_kept(original, exported):
    before, after = kineto.rows(kineto.loose(original)), kineto.rows(kineto.strict(exported))
    assert sum(before.values()) > 60
    assert after == before


def test_an_import_of_the_export_has_the_same_rows(stepscope, original, exported):
    before = tables(stepscope, original)
    assert [by for by in TABLES if before[by]] == TABLES
    assert tables(stepscope, exported) == before


def test_an_export_of_the_export_is_the_same_file(stepscope, exported, tmp_path):
    stepscope("export", "--to", "kineto", "-o", tmp_path / "again.json", exported)
    assert (tmp_path / "again.json").read_bytes() == exported.read_bytes()


@pytest.mark.parametrize("trace", each(KINETO, LONG))
def test_recordings_of_devices_are_kept(stepscope, tmp_path, trace):
    """Every event with every argument, but for those that are listed."""
    stepscope("export", "--to", "kineto", "-o", tmp_path / "a.json", trace)
    before, after = kineto.loose(trace), kineto.strict(tmp_path / "a.json")
    assert kineto.rows(after) == kineto.rows(before)
    assert kineto.overlaps(after) == []
    written = kineto.arguments(after)
    for category, names in kineto.arguments(before).items():
        lost = kineto.NOT_HELD | kineto.NOT_HELD_OF.get(category, set())
        kept = {*kineto.KEPT.get(category, ()), *kineto.REMADE, "Input dims"}
        assert names <= kept | lost, (category, names - kept - lost)
        assert not written[category] & lost - kept, "it is held: compare it"


@pytest.mark.parametrize("trace", each(SAME))
def test_exports_of_recordings_of_devices_are_the_same(stepscope, tmp_path, trace):
    first, second = tmp_path / "1.json", tmp_path / "2.json"
    stepscope("export", "--to", "kineto", "-o", first, trace)
    stepscope("export", "--to", "kineto", "-o", second, first)
    assert second.read_bytes() == first.read_bytes()


# ---- the form ----------------------------------------------------------------------------


def test_members_and_times_are_as_readers_expect(original, exported):
    text = exported.read_text()
    content = kineto.strict(exported)
    assert re.match(r'\{\n"distributedInfo": \{"backend": "nccl", "rank": 1, "world_size": 2', text)
    assert re.search(r'"rank":\s+(\d+)', text).group(1) == "1"
    before = kineto.loose(original)
    for key in ("deviceProperties", "distributedInfo", "with_stack", "baseTimeNanoseconds",
                "traceName", "schemaVersion", "displayTimeUnit"):
        assert content[key] == before[key]
    stamps = re.findall(r'"(?:ts|dur)":([^,}]+)', text)
    assert len(stamps) > 200
    assert all(re.fullmatch(r"\d+\.\d{3}", stamp) for stamp in stamps)
    assert all("cat" in event and "name" in event for event in kineto.ranges(content))
    assert content["traceEvents"][-1]["name"] == "Record Window End"


def test_ranges_of_a_tid_nest(exported):
    content = kineto.strict(exported)
    assert kineto.overlaps(content) == []
    work = {event["tid"] for event in kineto.ranges(content)
            if event["cat"] == "kernel" and event["args"]["stream"] == 7}
    assert 7 in work and len(work) == 2
    lanes = [event for event in content["traceEvents"] if "lane_of" in event.get("args", {})]
    assert {event["args"]["lane_of"] for event in lanes} == {4711}


def test_steps_stay_in_the_main_row(exported):
    steps = [event for event in kineto.ranges(kineto.strict(exported))
             if event["name"].startswith("ProfilerStep#")]
    assert [(event["tid"], event["name"], event["cat"]) for event in steps] == [
        (4711, f"ProfilerStep#{number}", "user_annotation") for number in (5, 6, 7)]


def test_external_ids_name_the_innermost_operator(exported):
    events = kineto.ranges(kineto.strict(exported))
    names = {event["args"]["External id"]: event["name"] for event in events
             if event["cat"] in ("cpu_op", "user_annotation")}
    assert len(names) == sum(event["cat"] in ("cpu_op", "user_annotation") for event in events)
    around = {(event["cat"], names[event["args"]["External id"]]) for event in events
              if event["cat"] in kineto.OF_DEVICES | {"cuda_runtime", "cuda_driver"}
              and "External id" in event.get("args", {})}
    assert around == {("kernel", "aten::addmm"), ("gpu_memcpy", "aten::addmm"),
                      ("kernel", "AddmmBackward0"), ("cuda_runtime", "aten::addmm"),
                      ("cuda_driver", "aten::addmm"), ("cuda_runtime", "AddmmBackward0"),
                      ("gpu_user_annotation", "forward pass")}


def flows(content, category):
    """{id: [the event at each end]}"""
    at = {}
    for event in kineto.ranges(content):
        at.setdefault((event["pid"], event["tid"], event["ts"]), []).append(event)
    ends = {}
    for event in content["traceEvents"]:
        if event.get("cat") == category:
            assert event["ph"] == "s" or event["bp"] == "e"
            ends.setdefault(event["id"], []).append(at[event["pid"], event["tid"], event["ts"]][-1])
    return ends


def test_flows_are_made_anew(exported):
    content = kineto.strict(exported)
    launches = flows(content, "ac2g")
    assert len(launches) == 15
    for call, *work in launches.values():
        assert call["cat"] in ("cuda_runtime", "cuda_driver") and len(work) == 1
        assert work[0]["args"]["correlation"] == call["args"]["correlation"]
    passes = flows(content, "fwdbwd")
    assert [[end["name"] for end in ends] for ends in passes.values()] == [
        ["aten::addmm", "AddmmBackward0"]] * 3
    for forward, backward in passes.values():
        assert forward["args"]["Sequence number"] == backward["args"]["Sequence number"]


def test_python_calls_have_parents(exported):
    calls = [event for event in kineto.ranges(kineto.strict(exported))
             if event["cat"] == "python_function"]
    names = {event["args"]["Python id"]: event["name"] for event in calls}
    assert len(names) == len(calls) == 12
    parents = {event["name"]: names.get(event["args"]["Python parent id"]) for event in calls}
    assert parents == {"train.py(12): main": None, "nn.Module: Linear_0": "train.py(12): main",
                       "<built-in function linear>": "nn.Module: Linear_0",
                       "torch/utils.py(7): late": "<built-in function linear>"}
    assert [event["args"]["Python module id"] for event in calls
            if event["name"].startswith("nn.Module")] == [0, 0, 0]


def test_damaged_values_become_strings(stepscope, tmp_path):
    """An import keeps lists as they are written; a damaged one must not damage the file."""
    text = ('{"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "a\x02"}], "traceEvents": ['
            '{"ph": "X", "cat": "cpu_op", "name": "f", "pid": 1, "tid": 1, "ts": 5, "dur": 2,'
            ' "args": {"Input Dims": [N/A, 1], "Input type": ["a\x03"], "Call stack": "a\x04;b"}}]}')
    (tmp_path / "in.json").write_text(text)
    stepscope("export", "--to", "kineto", "-o", tmp_path / "out.json", tmp_path / "in.json")
    event = kineto.ranges(kineto.strict(tmp_path / "out.json"))[0]
    assert event["args"]["Input Dims"] == "[N/A, 1]"
    assert "a\x03" in event["args"]["Input type"]


# ---- files and folders -------------------------------------------------------------------


@pytest.fixture(scope="module")
def ranks(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ranks")
    for rank in range(12):
        kineto.File(rank=rank, world_size=12).write(folder / f"worker{rank}.json.gz")
    (folder / "notes.txt").write_text("no trace\n")
    return folder


def test_a_folder_of_ranks_becomes_a_folder_of_files(stepscope, ranks, tmp_path):
    done = stepscope("export", "--to", "kineto", "-o", tmp_path / "out", ranks)
    assert "wrote 12 files into" in done.stderr and "skipped" in done.stderr
    names = sorted(os.listdir(tmp_path / "out"))
    begin_ms = (kineto.BASE_NS + kineto.START_NS) // 1_000_000
    assert names == [f"rank{rank:02}.{begin_ms}.pt.trace.json.gz" for rank in range(12)]
    for rank, name in enumerate(names):
        content = kineto.strict(tmp_path / "out" / name)
        assert content["distributedInfo"]["rank"] == rank
        assert kineto.rows(content) == kineto.rows(kineto.loose(ranks / f"worker{rank}.json.gz"))


def test_ranks_of_an_archive_become_files(stepscope, ranks, tmp_path):
    with tarfile.open(tmp_path / "all.tar", "w") as archive:
        for rank in (0, 3):
            archive.add(kineto.File(rank).write(tmp_path / "one.json"), f"worker{rank}.json")
    done = stepscope("export", tmp_path / "all.tar", "--to", "kineto", "-o", tmp_path / "one.json",
                     status=2)
    assert "holds 2 ranks and a kineto file one: name a folder" in done.stderr
    stepscope("export", tmp_path / "all.tar", "--to", "kineto", "-o", f"{tmp_path}/out/")
    assert [name[:6] for name in sorted(os.listdir(tmp_path / "out"))] == ["rank0.", "rank3."]


def test_names_of_files(stepscope, original, tmp_path):
    copy = tmp_path / "run.json"
    copy.write_bytes(original.read_bytes())
    stepscope("export", "--to", "kineto", copy)
    stepscope("export", "--to", "hta", copy, "-o", tmp_path / "b.gz")
    stepscope("export", copy, "-o", tmp_path / "c.pt.trace.json.gz")
    stepscope("export", "--to", "tensorboard", copy)
    assert sorted(os.listdir(tmp_path)) == ["b.gz", "c.pt.trace.json.gz", "run.json",
                                            "run.json.pt.trace.json", "run.json.tensorboard"]
    plain = (tmp_path / "run.json.pt.trace.json").read_bytes()
    for name in ("b.gz", "c.pt.trace.json.gz"):
        assert gzip.decompress((tmp_path / name).read_bytes()) == plain
    done = stepscope("export", "--to", "kineto", "-o", copy, copy, status=2)
    assert "is the input" in done.stderr


def test_wrong_usage(stepscope, original, ranks, tmp_path):
    done = stepscope("export", ranks, "--to", "kineto", "-o", tmp_path / "a.json", status=2)
    assert "several inputs become several files" in done.stderr
    stepscope("export", original, "--to", "tensorboard", "-o", "-", status=2)
    stepscope("export", original, "--to", "kineto", "--split-above", "3", status=2)
    done = stepscope("record", "-o", tmp_path / "a.pt.trace.json", "--", "true", status=2)
    assert "stepscope export -o" in done.stderr
    (tmp_path / "raw.txt").write_text("f (a.py:1) 2\n")
    done = stepscope("export", tmp_path / "raw.txt", "--to", "kineto", status=None)
    assert done.returncode != 0 and "samples" in done.stderr
    assert os.listdir(tmp_path) == ["raw.txt"]


def test_large_ranks_become_a_file_for_each_step(stepscope, original, tmp_path):
    done = stepscope("export", "--to", "tensorboard", "--split-above", "0.01", "-o", tmp_path / "out",
                     original)
    assert "hold one step each" in done.stderr
    whole, parts = kineto.strict(original), sorted(os.listdir(tmp_path / "out"))
    contents = [kineto.strict(tmp_path / "out" / name) for name in parts]
    steps = [[event["name"] for event in kineto.ranges(content)
              if event["name"].startswith("ProfilerStep#")] for content in contents]
    assert steps == [["ProfilerStep#5"], ["ProfilerStep#6"], ["ProfilerStep#7"]]
    kernels = [sum(event["cat"] == "kernel" for event in kineto.ranges(content))
               for content in contents]
    assert kernels == [4, 4, 4]
    kept = sum(len(kineto.ranges(content)) for content in contents)
    left_out = sum(event["cat"] == "gpu_user_annotation" for event in kineto.ranges(whole))
    assert kept == len(kineto.ranges(whole)) - left_out


# ---- readers -----------------------------------------------------------------------------


def check_same_analysis(before, after):
    for name, table in before.items():
        assert len(table) > 0, name
        one, other = table.reset_index(drop=True), after[name].reset_index(drop=True)
        assert list(one.columns) == list(other.columns) and len(one) == len(other)
        numbers = one.select_dtypes("number").columns
        assert (one[numbers] - other[numbers]).abs().max().max() <= 1, name
        assert one.drop(columns=numbers).equals(other.drop(columns=numbers))


def test_hta_says_the_same(stepscope, ranks, tmp_path):
    files = sorted(ranks.glob("*.json.gz"))[:3]
    before = analysis_of(files, tmp_path / "before")
    stepscope("export", "--to", "kineto", "-o", tmp_path / "out", *files)
    after = analysis_of(sorted((tmp_path / "out").iterdir()), tmp_path / "after")
    assert len(before["time"]) == 3
    check_same_analysis(before, after)


@pytest.mark.parametrize("trace", each("a100_process_groups_rank0"))
def test_hta_says_the_same_of_devices(stepscope, tmp_path, trace):
    before = analysis_of([trace], tmp_path / "before")
    stepscope("export", "--to", "kineto", "-o", tmp_path / "a.json", trace)
    check_same_analysis(before, analysis_of([tmp_path / "a.json"], tmp_path / "after"))


def test_tensorboard_joins_kernels_and_operators(stepscope, plugin, original, tmp_path):  # noqa: F811
    stepscope("export", "--to", "tensorboard", "-o", tmp_path / "out", original)
    run = plugin(next((tmp_path / "out").iterdir()))
    assert run.steps_names == ["5", "6", "7"]
    device_us = {row.name: row.self_device_duration for row in run.op_list_groupby_name}
    assert device_us["aten::addmm"] > 0 and device_us["AddmmBackward0"] > 0
    costs = run.avg_costs.costs
    kernel, communication, runtime = costs[0], costs[3], costs[4]
    assert min(kernel, communication, runtime) > 0
    assert [row.name for row in run.comm_node_list] == ["nccl:all_reduce"] * 3


@pytest.mark.parametrize("trace", each("v100_2021_resnet"))
def test_tensorboard_says_the_same_of_its_samples(stepscope, plugin, tmp_path, trace):  # noqa: F811
    stepscope("export", "--to", "tensorboard", "-o", tmp_path / "out", trace)
    sample = tmp_path / "sample.worker0.1623143566756.pt.trace.json.gz"  # a name that the plugin knows
    sample.write_bytes(trace.path.read_bytes())
    before, after = plugin(sample), plugin(next((tmp_path / "out").iterdir()))
    assert after.avg_costs.costs == before.avg_costs.costs
    assert after.steps_names == before.steps_names
    for one, other in zip(before.op_list_groupby_name, after.op_list_groupby_name, strict=True):
        assert (one.name, one.calls, one.self_device_duration, one.self_host_duration) == (
            other.name, other.calls, other.self_device_duration, other.self_host_duration)
