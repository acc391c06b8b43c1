# SPDX-License-Identifier: Apache-2.0
"""`stepscope kernel`: metrics and sets of chips, from the real CUPTI of this machine, which needs no
device for them."""

import csv
import functools
import io
import json

import pytest


@pytest.fixture(scope="module")
def kernel(stepscope):
    """`stepscope kernel`, where there is a CUPTI that knows metrics. It takes long to load: each answer is
    made once."""
    @functools.lru_cache(None)
    def answer(*arguments):
        return stepscope("kernel", *arguments, status=None)

    def run(*arguments, status=0):
        done = answer(*arguments)
        assert done.returncode == status, done.stderr
        return done

    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("STEPSCOPE_CUPTI", raising=False)
        done = answer("--sets", "--chip", "GH100")
        if done.returncode == 4 and "no CUPTI was found" in done.stderr:
            pytest.skip(done.stderr.strip())
        yield run


def sets_of(kernel, chip):
    answer = json.loads(kernel("--sets", "--chip", chip, "--format", "json").stdout)
    assert (answer["schema"], answer["chip"]) == (1, chip)
    return {one["set"]: one for one in answer["sets"]}


@pytest.mark.parametrize("chip", ["GH100", "GA100", "GB100", "AD102"])
def test_passes_of_sets(kernel, chip):
    sets = sets_of(kernel, chip)
    assert list(sets) == ["memory", "roofline", "detailed"]
    assert sets["memory"]["passes"] == 1, "a step of a training suffices"
    assert 1 < sets["roofline"]["passes"] < sets["detailed"]["passes"] < 25
    names = {name: {one["metric"] for one in one_set["metrics"]} for name, one_set in sets.items()}
    assert names["memory"] | names["roofline"] <= names["detailed"]
    assert {"gpu__time_duration.sum", "dram__bytes_read.sum", "lts__t_bytes.sum"} <= names["memory"]
    assert "sm__ops_path_tensor_src_bf16_dst_fp32.sum" in names["roofline"]


def test_names_that_differ_between_chips(kernel):
    metrics = {chip: {one["metric"]: one["counter"] for one in sets_of(kernel, chip)["roofline"]["metrics"]}
               for chip in ("GA100", "GH100", "GB202", "TU102")}
    assert metrics["GH100"]["sm__ops_path_tensor_src_fp16.sum"] == "fp16 matrix"
    assert "sm__ops_path_tensor_src_fp16.sum" not in metrics["GA100"]
    assert metrics["GA100"]["sm__ops_path_tensor_src_fp16_dst_fp32.sum"] == "fp16 matrix"
    assert metrics["GB202"]["dram__bytes_op_read.sum"] == metrics["GH100"]["dram__bytes_read.sum"] == "DRAM read"
    assert "dram__bytes_read.sum" not in metrics["GB202"]


def test_what_a_chip_lacks(kernel):
    sets = sets_of(kernel, "TU102")
    assert sets["memory"]["missing"] == ""
    assert "bf16 matrix" in sets["roofline"]["missing"]
    assert "bf16 matrix" not in sets_of(kernel, "GH100")["roofline"]["missing"]


def test_list_of_metrics(kernel):
    rows = list(csv.DictReader(io.StringIO(kernel("--list-metrics", "--chip", "GH100", "--format", "csv").stdout)))
    by_name = {row["metric"]: row for row in rows}
    assert len(by_name) > 2000 and {row["type"] for row in rows} == {"counter", "ratio", "throughput"}
    assert by_name["dram__bytes_read"]["type"] == "counter"
    assert "DRAM" in by_name["dram__bytes_read"]["meaning"]
    sets = list(csv.DictReader(io.StringIO(kernel("--sets", "--chip", "GH100", "--format", "csv").stdout)))
    assert {row["metric"] for row in sets} >= {"dram__bytes_read.sum", "lts__t_bytes.sum"}
    listed = json.loads(kernel("--list-metrics", "--chip", "GH100", "--format", "json").stdout)["metrics"]
    assert [one["metric"] for one in listed] == [row["metric"] for row in rows]
    text = kernel("--list-metrics", "--chip", "GH100").stdout
    assert text.count("\n") == len(rows) + 1 and "dram__bytes_read" in text


def test_the_sets_as_text(kernel):
    text = kernel("--sets", "--chip", "GH100").stdout
    assert "passes" in text and "dram__bytes_read.sum" in text
    assert any(line.split()[:3] == ["memory", "12", "1"] for line in text.splitlines()), text


def test_an_unknown_chip_names_the_known_ones(kernel):
    for arguments in (["--sets", "--chip", "H100"], ["--list-metrics"]):
        done = kernel(*arguments, status=4)
        assert "GH100" in done.stderr and "GA100" in done.stderr and done.stdout == ""


def test_without_a_library(stepscope, tmp_path):
    done = stepscope("kernel", "--sets", "--chip", "GH100", status=4,
                     env={"STEPSCOPE_CUPTI": str(tmp_path / "libcupti.so.13")})
    assert "CUPTI cannot be loaded" in done.stderr and "libcupti.so.13" in done.stderr


def test_usage(stepscope):
    for arguments in ([], ["--sets", "--list-metrics"], ["--sets", "GH100"]):
        assert "--list-metrics and --sets" in stepscope("kernel", *arguments, status=2).stderr
