# SPDX-License-Identifier: Apache-2.0
"""Recordings of other tools: own ones in tests/recordings/foreign/, which described runs stand behind, and
recordings of real devices that are not part of the repository. $STEPSCOPE_TRACES, or shared/data/traces
beside the repository, holds those; where they are, tests read them too, with the mark `outside`."""

import dataclasses
import functools
import json
import os
import pathlib

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[1]
OWN = ROOT / "tests/recordings/foreign"
OUTSIDE = pathlib.Path(os.environ.get("STEPSCOPE_TRACES") or ROOT.parent / "shared/data/traces")
# own file: the recording of a real device that has its shape
KINETO = {
    "pytorch/v100_two_ranks_rank1.json.gz": "02_hta/df_index_resolver_rank1.json.gz",
    "pytorch/a100_process_groups_rank0.json.gz": "02_hta/nccl_data.json.gz",
    "pytorch/a100_graphs_rank0.json.gz": "02_hta/negative_queue_rank0.json.gz",
    "pytorch/v100_absolute_ns_rank0.json.gz": "02_hta/ns_resolution_rank-0.pt.trace.json.gz",
    "pytorch/a100_stacks_rank3.json.gz": "02_hta/trace_diff_control.json.gz",
    "pytorch/v100_graphs_stacks_rank1.json.gz": "02_hta/trace_diff_test.json.gz",
    "pytorch/b200_generate.json.gz": "03_tracelens/b200_eager_trace.json.gz",
    "pytorch/mi300x_checkpoint_rank0.json.gz": "03_tracelens/mi300x_resnet_act_checkpoint.json.gz",
    "pytorch/mi300x_compiled.json.gz": "03_tracelens/mi300x_torch_compile_triton.json.gz",
    "pytorch/mi300x_decode_graph.json.gz": "03_tracelens/mi300x_vllm_decode_hipgraph.json.gz",
    "pytorch/mi300x_draw_images_rank0.json.gz": "03_tracelens/mi300x_xdit_sd3.5_rank0.json.gz",
    "pytorch/v100_2021_resnet.json.gz":
        "04_kineto_samples/resnet50_num_workers_0.worker0.1623143566756.pt.trace.json.gz",
    "pytorch/v100_2020_list.json.gz":
        "04_kineto_samples/resnet50_num_workers_0.worker0.2020-list.pt.trace.json.gz"}
NSYS = {"nsys/two_gpus_after.sqlite": "05_nsys_ai/mfu_2gpu_after.sqlite",
        "nsys/two_gpus_before.sqlite": "05_nsys_ai/mfu_2gpu_before.sqlite",
        "nsys/power_iteration.sqlite": "07_nsightful/power_iteration__baseline.sqlite"}
PEERS = {**KINETO, **NSYS, "pytorch/dlrm_8_ranks.tar.gz": "01_param_dlrm_8rank/dlrm_kineto.tar.gz",
         "ncu/scale_rows.csv": "07_nsightful/copy_blocked.csv",
         "py-spy/train_bpe.speedscope.json": "09_pyspy/profile.speedscope.json"}
# What facts.json of the recordings outside leaves out, from their own text.
ALSO_KNOWN = {"07_nsightful/copy_blocked.csv": {
    "compute_pct": 1.30, "l1_pct": 18.29, "l2_pct": 8.38, "theoretical_pct": 100, "registers": 32,
    "block_threads": 256, "grid": 1024, "waves": 6.4}}


@functools.cache
def _facts(folder):
    file = folder / "facts.json"
    return json.loads(file.read_text()) if file.exists() else {}


@dataclasses.dataclass(frozen=True)
class Trace:
    """A recording, and what is known of it without stepscope."""

    folder: pathlib.Path
    name: str

    @property
    def path(self):
        return self.folder / self.name

    @property
    def facts(self):
        return _facts(self.folder)[self.name]["facts"] | ALSO_KNOWN.get(self.name, {})

    @property
    def is_own(self):
        return self.folder == OWN

    def __fspath__(self):
        return str(self.path)

    def __str__(self):
        return str(self.path)


def own(name):
    """The own file with this name, which may lack its folder and its ending."""
    (found,) = [one for one in _facts(OWN) if name in one]
    return Trace(OWN, found)


def each(names, long=()):
    """Parameters for pytest: the own files, and their peers where these are. The peers of own files in `long`
    are for `make check-long`."""
    names = [own(name).name for name in ([names] if isinstance(names, str) else names)]
    found = [pytest.param(Trace(OWN, name), id=pathlib.PurePath(name).name.partition(".")[0]) for name in names]
    for name in names:
        peer = Trace(OUTSIDE, PEERS[name])
        if peer.path.exists():
            marks = [pytest.mark.outside] + [pytest.mark.long] * any(one in name for one in long)
            found.append(pytest.param(peer, marks=marks, id=peer.name))
    return found


def folders():
    """The own folder, and the one outside where it is."""
    return [pytest.param(OWN, id="own")] + [
        pytest.param(OUTSIDE, marks=pytest.mark.outside, id="outside")] * (OUTSIDE / "facts.json").exists()


@functools.cache
def report(stepscope, path, *options):
    """The document of a report; each is made once in a process of the tests."""
    return json.loads(stepscope("report", path, "--format", "json", "--num-rows", "all", *options).stdout)


def rows(stepscope, path, by, *options):
    return report(stepscope, path, "--by", by, *options)["tables"][0]["rows"]
