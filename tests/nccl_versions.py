# SPDX-License-Identifier: Apache-2.0
"""What is known of versions of NCCL, of which no package holds the sources: tests/golden/nccl/layout.json has the
offsets and sizes in the headers of its profiler interface, and the recordings beside it those of a program that
calls NCCL's own functions up to where they queue an operation. tests/e2e/test_nccl_layout.py makes both anew from
a source tree, with $STEPSCOPE_MAKE_GOLDEN=1."""

import json
import pathlib

GOLDEN = pathlib.Path(__file__).resolve().parent / "golden" / "nccl"
TAGS = "v2.19.3-1", "v2.21.5-1", "v2.24.3-1", "v2.25.1-1", "v2.27.7-1", "v2.30.7-1"
EVENTS = [("nccl:AllReduce", 4000, "max"), ("nccl:AllGather", 40, None), ("nccl:Broadcast", 80, None),
          ("nccl:Reduce", 120, "avg"), ("nccl:ReduceScatter", 160, "sum"), ("nccl:Send", 16, None)]


def check_nvtx(stepscope, path, tag):
    """The ranges of the program's six calls; from 2.25 on they name their communicator."""
    done = stepscope("export", "--to", "chrome", "-o", "-", path, status=None)
    events = [one for one in json.loads(done.stdout)["traceEvents"] if one.get("cat") == "nccl"]
    assert [(one["name"], one["args"]["payload"], one["args"].get("reduction")) for one in events] == EVENTS
    facts = json.loads(stepscope("info", path, "--format", "json").stdout)["files"][0]
    names_communicator = int(tag.split(".")[1]) >= 25
    assert [one["name"] for one in facts["groups"]] == (["NCCL 000000000000feed"] if names_communicator else [])
    numbers = [one["args"].get("sequence") for one in events]
    assert numbers == ([0, 1, 2, 3, 4, None] if names_communicator else [None] * 6)
