# SPDX-License-Identifier: Apache-2.0
"""Pages of reports, and what the tests of them share."""

import json
import re

import pytest
from kineto import Kineto

MOST_BYTES = 5_000_000
RAW = "".join(f"main (a.py:1);work_{i:02} (b.py:{i + 1}) {1000 - 10 * i}\n" for i in range(30))


def training(path, steps=8, slow=4):
    """A training on a device, whose step `slow` takes three times as long."""
    trace, at = Kineto(), 1000
    for number in range(steps):
        length = 3000 if number == slow else 1000
        trace.step(number, at, length)
        trace.operator("aten::linear", at + 100, 300)
        trace.launch("gemm_kernel(float*)", at + 150, at + 300, 400)
        trace.launch("relu_kernel(float*)", at + 420, at + 720, 100)
        at += length + 20
    return trace.write(path)


@pytest.fixture
def page_of(stepscope, tmp_path):
    """page_of(input, *options): the path of its page."""
    def make(source, *options, status=0):
        target = tmp_path / f"{source.stem}.html"
        stepscope("report", source, "--html", target, *options, status=status)
        assert target.stat().st_size <= MOST_BYTES
        return target
    return make


@pytest.fixture
def raw(tmp_path):
    path = tmp_path / "run.txt"
    path.write_text(RAW)
    return path


def data_of(path):
    text = path.read_text("utf-8")
    found = re.search(r'<script type="application/json" id="report-data">(.*?)</script>', text, re.S)
    return json.loads(found[1])


def tables_of(path):
    return {block["name"]: block for block in data_of(path)["blocks"] if "name" in block}
