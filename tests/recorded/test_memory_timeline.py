# SPDX-License-Identifier: Apache-2.0
"""Memory in files of PyTorch's own profiler, beside the categories that PyTorch computes."""

import json

import pytest

CATEGORIES = ["parameters", "optimizer state", "input", "temporaries", "activations", "gradients",
              "autograd", "unknown"]


@pytest.fixture
def profile(recordings):
    return recordings("memory_timeline_profile").trace


@pytest.fixture
def sizes(profile):
    """Bytes of each category at PyTorch's own peak."""
    _, rows = json.loads((profile / "sizes.json").read_text())
    return dict(zip(CATEGORIES, max(rows, key=sum)[1:]))


@pytest.fixture
def allocations(report_of):
    """allocations(PATH): the tables of `--by memory`, and the bytes of each category at the peak."""
    def of(path):
        tables = {table["by"]: table["rows"] for table in report_of(path, "--by", "memory", "--num-rows",
                                                                    "all")["tables"]}
        return tables, {row["category"]: row["peak_bytes"] for row in tables["allocation"] if row["peak_bytes"]}
    return of


@pytest.mark.parametrize("name", ["sizes.json", "events.raw.json.gz"])
def test_memory_timeline(allocations, profile, sizes, name):
    tables, rows = allocations(profile / name)
    assert tables["allocator"][0]["peak_bytes"] == sum(sizes.values())
    assert rows == {category: size for category, size in sizes.items() if size > 0}


def test_categories_beside_those_of_pytorch(allocations, profile, sizes):
    """PyTorch knows its tensors, this knows phases and lifetimes: of what outlives a step, both say
    the same. Of parameters, which the trace does not contain, only PyTorch knows."""
    _, rows = allocations(profile / "trace.json.gz")
    assert rows["optimizer state"] == sizes["optimizer state"]
    assert rows["gradients"] == sizes["gradients"]
