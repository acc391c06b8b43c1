# SPDX-License-Identifier: Apache-2.0
"""Arrows that Perfetto draws in our own files: from launches to device operations, from forward
operators to backward ones. A file is written anew here, since old ones have no such flows."""

import collections
import json

import pytest
from perfetto_engine import BAD, query_old

ARROWS = ("select a.name, b.name, b.ts - a.ts from flow join slice a on slice_out = a.id "
          "join slice b on slice_in = b.id")


@pytest.fixture(scope="module")
def files(stepscope, recordings, tmp_path_factory):
    """{name: a recording as it is written now}"""
    folder, made = tmp_path_factory.mktemp("arrows"), {}
    torch = recordings("gpu_torch_profiled").trace / "ours.pftrace"
    for name, trace in (("device", recordings("perfetto_ui_device").trace), ("torch", torch)):
        made[name] = folder / f"{name}.pftrace"
        stepscope("merge", trace, "-o", made[name])
    return made


def test_launches(files):
    bad, arrows = query_old(files["device"], BAD, ARROWS)
    assert bad == []
    pairs = collections.Counter((call, work) for call, work, _ in arrows)
    assert pairs == {("cudaLaunchKernel", "add(float*, float*, int)"): 40,
                     ("cudaLaunchKernel", "gemm(float const*, float const*, float*, int)"): 40,
                     ("cudaLaunchKernel", "reduce(float*, int)"): 40,
                     ("cudaMemcpyAsync", "Memcpy HtoD (Pageable -> Device)"): 20,
                     ("cudaMemsetAsync", "Memset (Device)"): 20,
                     ("cudaDeviceSynchronize", "Context Sync"): 21}
    assert all(later_ns > 0 for *_, later_ns in arrows)


def test_gradients(stepscope, files, tmp_path):
    """The same as the Chrome export draws, except for an operator at the end of a unit; no other."""
    bad, arrows = query_old(files["torch"], BAD, ARROWS)
    assert bad == []
    drawn = collections.Counter((forward, backward) for forward, backward, _ in arrows
                                if forward.startswith("aten::"))
    stepscope("export", "--to", "chrome", "-o", tmp_path / "chrome.json", files["torch"])
    events = json.loads((tmp_path / "chrome.json").read_text())["traceEvents"]
    at = {(event["pid"], event["tid"], event["ts"]): event["name"] for event in events if event["ph"] == "X"}
    ends = collections.defaultdict(list)
    for event in events:
        if event["ph"] in ("s", "f") and event["cat"] == "fwdbwd":
            ends[event["id"]].append(at[event["pid"], event["tid"], event["ts"]])
    wanted = collections.Counter(map(tuple, ends.values()))
    assert set(drawn) == set(wanted) == {
        ("aten::addmm", "AddmmBackward0"), ("aten::relu", "ReluBackward0"), ("aten::sum", "SumBackward0"),
        ("aten::t", "TBackward0")}
    missing = wanted - drawn
    assert drawn - wanted == collections.Counter() and sum(missing.values()) <= 4
