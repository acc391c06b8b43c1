# SPDX-License-Identifier: Apache-2.0
"""Collectives of DistributedDataParallel, FullyShardedDataParallel and fully_shard: the bucket of
gradients, or the module, that each belongs to."""

import collections
import csv
import io
import json

import pytest

STEPS = 4
COLUMNS = ("module", "bucket", "buckets", "bytes", "first_parameter", "last_parameter")


@pytest.fixture(scope="module")
def trace(recordings):
    return recordings("sharded_shapes").trace


@pytest.fixture(scope="module")
def said(recordings):
    """What torch's own logger says of the buckets, by the shape."""
    lines = [json.loads(line) for line in recordings("sharded_shapes").said.splitlines()]
    return {line["shape"]: line for line in lines}


@pytest.fixture(scope="module")
def rows(rows_of, trace):
    return rows_of(trace, "collective")


def sizes(text):
    return [int(size) for size in text.split(",")]


def of_shape(rows, name):
    """How often each bucket of a model was all-reduced."""
    found = [row for row in rows if (row["first_parameter"] or "").startswith(name + ".")]
    assert {row["name"] for row in found} <= {"all_reduce"}
    return collections.Counter(tuple(row[key] for key in COLUMNS) for row in found)


def expected_of(said, name):
    """The buckets that torch's logger has of a model, without their modules."""
    names = [one[len("module."):] for one in said["names"]]
    for number, (size, indices) in enumerate(zip(sizes(said["sizes"]), said["indices"].split(","))):
        members = [names[int(index)] for index in indices.split()]
        yield number, len(said["sizes"].split(",")), size, members[0], members[-1]


# The first backward has the buckets of the construction. In the second one (of a static graph the
# third) the new ones are not known yet, unless gradients accumulate: torch then has them by its end.
@pytest.mark.parametrize("name, firsts, times", [
    ("plain", 1, 2), ("views", 1, 2), ("static", 2, 1), ("toggled", 1, 3), ("accumulated", 1, 3),
    ("hooked", 1, 2)])
def test_each_bucket_of_gradients_is_named(rows, said, name, firsts, times):
    found = of_shape(rows, name)
    last = f"{name}.head.bias"
    assert found.pop((name, 0, 1, int(said[name]["first"]), f"{name}.embed.weight", last)) == firsts
    assert {key[1:]: count for key, count in found.items()} == {
        bucket: times for bucket in expected_of(said[name], name)}
    modules = {key[1]: key[0] for key in found}
    assert modules == {0: f"{name}.head … {name}.layers.2.fc", 1: f"{name}.layers.1",
                       2: f"{name}.layers.0", 3: f"{name}.embed"}


def test_buckets_that_are_not_rebuilt_keep_their_names(rows, said):
    found = of_shape(rows, "unused")
    # After the last bucket the reducer sends which parameters were used. Gloo's two threads may begin
    # both in the other order on one rank: then two rows have the bucket, each of one rank.
    assert STEPS in found.values() and set(found.values()) <= {STEPS, STEPS + 1}
    assert sorted(key[1:4] for key in found) == [
        (number, 4, size) for number, size in enumerate(sizes(said["unused"]["first"]))]


def test_a_compiled_model_has_its_buckets(rows, said):
    found = of_shape(rows, "compiled")
    size = int(said["compiled"]["sizes"])
    assert found == {
        ("compiled", 0, 1, size, "compiled.embed.weight", "compiled.head.bias"): 1,
        ("compiled", 0, 1, size, "compiled.head.bias", "compiled.embed.weight"): 2}


def test_the_size_of_compressed_gradients_is_not_that_of_the_bucket(rows, said):
    found = of_shape(rows, "compressed")
    assert {key[3] for key in found} == {None}
    buckets = list(expected_of(said["compressed"], "compressed"))
    assert {(*key[1:3], *key[4:]): count for key, count in found.items() if key[2] > 1} == {
        (number, count, first, last): 2 for number, count, _, first, last in buckets}


def test_models_whose_backwards_overlap_are_distinguished_by_sizes(rows, said):
    found = of_shape(rows, "one")
    assert {key[1:]: count for key, count in found.items() if key[2] > 1} == {
        bucket: 2 for bucket in expected_of(said["two"], "one")}
    other = of_shape(rows, "other")
    assert sorted(key[1:3] for key in other) == [(0, 1), (0, 2), (1, 2)]


def test_what_is_not_certain_has_no_name(rows):
    assert not any("twin_" in (row["module"] or "") for row in rows)


@pytest.mark.parametrize("name, gathers", [("fsdp1", 2), ("checkpointed", 2), ("fsdp2", 2)])
def test_shards_have_the_module(rows, name, gathers):
    """Gloo has no reduce-scatter: torch all-reduces instead."""
    found = collections.Counter((row["name"], row["module"], row["bytes"]) for row in rows
                                if (row["module"] or "").startswith(name + "."))
    block = 4 * (2 * 64 * 128 + 128 + 64)
    expected = {}
    for layer in range(3):
        expected["all_gather", f"{name}.layers.{layer}", block // 2] = gathers * STEPS
        expected["all_reduce", f"{name}.layers.{layer}", block] = STEPS
    assert found == expected


def test_the_outermost_shard_has_the_name_of_its_class(rows):
    names = collections.Counter(row["name"] for row in rows if row["module"] == "Model")
    assert names == {"all_gather": 3 * STEPS, "all_reduce": 3 * STEPS}


# --- by the place in memory -----------------------------------------------------------------------

def names_of(rows, name):
    """How often each range of parameters of a model was transferred: (how, module, first, last)."""
    return collections.Counter(
        (row["name"], row["module"], row["first_parameter"], row["last_parameter"]) for row in rows
        if (row["first_parameter"] or "").startswith(name + "."))


def parameters_of(said, name):
    return [one for one in said[name]["names"] if one.startswith(name + ".")]


def test_updated_parameters_have_names(rows, said):
    assert names_of(rows, "zero") == {
        ("broadcast", one.rpartition(".")[0], one, one): STEPS for one in parameters_of(said, "zero")}


def test_ranges_of_updated_parameters_have_names(rows, said):
    """A buffer for the parameters that each rank updates, which are not in the order of the model."""
    found = names_of(rows, "zero_views")
    assert list(found.values()) == 2 * [STEPS]
    ends = [name for one in found for name in one[2:]]
    assert len(set(ends)) == 4 and set(ends) <= set(parameters_of(said, "zero_views"))
    assert all("…" in module for _, module, _, _ in found)


def test_gradients_that_a_program_averages_have_names(rows, said):
    names = parameters_of(said, "own")
    assert names_of(rows, "own") == {
        ("all_reduce", one.rpartition(".")[0], one, one): STEPS for one in names}


def test_gradients_in_one_buffer_have_names(rows, said):
    names = parameters_of(said, "own_flat")
    assert names_of(rows, "own_flat") == {("all_reduce", "own_flat", names[0], names[-1]): STEPS}


def test_no_hook_fails(stepscope, trace):
    assert "torch.hooks" not in stepscope("info", trace).stdout


def test_other_formats_have_the_columns(stepscope, trace, tmp_path):
    text = stepscope("report", trace, "--by", "collective", "--num-rows", "all", "--format",
                     "csv").stdout
    rows = list(csv.DictReader(io.StringIO(text)))
    assert {"layers.1" in row["module"] for row in rows} == {True, False}
    exported = tmp_path / "run.json"
    assert stepscope("export", trace, "-o", exported).returncode == 0
    events = [event["args"] for event in json.loads(exported.read_text())["traceEvents"]
              if event.get("name") == "gloo:all_reduce" and "bucket" in event.get("args", {})]
    assert {"module": "plain.layers.1", "bucket": 1, "buckets": 4,
            "first_parameter": "plain.layers.1.proj.bias",
            "last_parameter": "plain.layers.1.fc.weight"}.items() <= next(
                args.items() for args in events if args["module"] == "plain.layers.1")
