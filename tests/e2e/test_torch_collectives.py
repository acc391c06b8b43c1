# SPDX-License-Identifier: Apache-2.0
"""Every public collective of the installed torch.distributed is hooked, or is in the table of those that are
left out, with the reason."""

import json
import pathlib
import sys

import pytest
from conftest import record_ranks

WORKLOAD = pathlib.Path(__file__).resolve().parents[1] / "workloads" / "torch_functional.py"
ELEMENTS, RANKS = 24, 2

GROUPS = "it makes, names, or ends groups"
ASKS = "it asks, and transfers nothing"
OF_CALLS = "it calls a function that is hooked"
MESSAGES = "the methods of ProcessGroup that it calls are hooked"
COMPILED = "of compiled programs only: the compiler calls it in place of a hooked one"
AUTOGRAD = "it is registered with autograd, and calls operators"

LEFT_OUT = {
    "torch.distributed": {
        **dict.fromkeys((
            "abort", "breakpoint", "destroy_process_group", "init_device_mesh",
            "init_process_group", "new_group", "new_subgroups", "new_subgroups_by_enumeration",
            "register_rendezvous_handler", "rendezvous", "shrink_group", "split_group"), GROUPS),
        **dict.fromkeys((
            "get_backend", "get_backend_config", "get_debug_level", "get_default_backend_for_device",
            "get_global_rank", "get_group_rank", "get_node_local_rank", "get_pg_count",
            "get_process_group_ranks", "get_rank", "get_world_size", "is_available",
            "is_backend_available", "is_gloo_available", "is_initialized", "is_mpi_available",
            "is_nccl_available", "is_torchelastic_launched", "is_ucc_available",
            "is_xccl_available", "record_comm", "set_debug_level", "set_debug_level_from_env",
            "supports_complex"), ASKS),
        **dict.fromkeys(("batch_isend_irecv", "irecv", "isend"), MESSAGES),
        **dict.fromkeys(("recv_object_list", "send_object_list"), OF_CALLS)},
    "functional": {
        **dict.fromkeys(("batch_p2p_ops_inplace", "irecv_inplace", "isend_inplace"), COMPILED),
        "allow_inflight_collective_as_graph_input_ctx": COMPILED,
        **dict.fromkeys((
            f"{name}_{part}" for part in ("backward", "setup_context") for name in (
                "all_gather_into_tensor", "all_gather_into_tensor_coalesced", "all_reduce",
                "all_reduce_coalesced", "all_to_all_single", "reduce_scatter_tensor",
                "reduce_scatter_tensor_coalesced", "wait_tensor")), AUTOGRAD)}}


@pytest.fixture(scope="module")
def run(stepscope, torch_python, tmp_path_factory):
    pytest.importorskip("torch.distributed")
    path = tmp_path_factory.mktemp("functional") / "run.pftrace"
    done = record_ranks(stepscope, path, [torch_python, "-m", "torch.distributed.run",
                                          "--nproc-per-node", str(RANKS), WORKLOAD], timeout=300)
    hooked, called = (json.loads(line) for line in done.stdout.splitlines() if line[:1] == "{")
    return path, hooked, called


@pytest.mark.parametrize("module", list(LEFT_OUT))
def test_every_collective_is_hooked_or_left_out_for_a_reason(run, module):
    _, hooked, _ = run
    found = hooked[module]
    assert len(found) > 20 and sum(found.values()) > 10
    unknown = {name for name, is_hooked in found.items()
               if not is_hooked and name not in LEFT_OUT[module]}
    assert not unknown, "hook these functions, or say in the table why not"
    assert not {name for name in LEFT_OUT[module] if found.get(name)}, "these are hooked"


def test_functional_collectives_have_their_group_and_bytes(stepscope, run):
    path, _, called = run
    report = stepscope("report", path, "--by", "collective", "--num-rows", "all", "--format", "json")
    rows = [row for row in json.loads(report.stdout)["tables"][0]["rows"]
            if row["group"] == called["group"]]
    assert len(rows) == len(called["called"]) >= 5
    for row in rows:
        assert (row["ranks"], row["bytes"]) == (RANKS, 4 * ELEMENTS), row
    assert "torch.hooks" not in stepscope("info", path).stdout
