# SPDX-License-Identifier: Apache-2.0
"""What PyTorch's ranks transfer is recorded with what it belongs to, and every public collective of the
installed torch.distributed is hooked, or is in the table of those that are left out, with the reason. What
reports make of ranks is tested on recordings: tests/recorded/."""

import collections
import json
import pathlib
import types

import pytest

WORKLOADS = pathlib.Path(__file__).resolve().parents[1] / "workloads"
RANKS, CHUNKS, STEPS, MICRO_BATCHES, ELEMENTS = 2, 2, 2, 2, 24
PIPELINE = ("torch_pipeline.py", "--schedule", "interleaved", "--chunks", CHUNKS, "--steps", STEPS,
            "--micro-batches", MICRO_BATCHES)

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
    """Two trainings of two forked ranks each, in one recording."""
    trace = tmp_path_factory.mktemp("ranks") / "run.pftrace"
    done = stepscope("record", "-q", "-o", trace, "--", torch_python, WORKLOADS / "torch_forked.py",
                     "--ranks", RANKS, *PIPELINE, "--", "--ranks", RANKS, "torch_functional.py",
                     env={"OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo"})
    programs = list(map(json.loads, done.stdout.splitlines()))
    has_pipelines = not any("torch.distributed.pipelining" in one["err"] for one in programs)
    assert not [one["err"] for one in programs[0 if has_pipelines else RANKS:] if one["status"] != 0]
    hooked, called = map(json.loads, programs[RANKS]["out"].splitlines())
    return types.SimpleNamespace(trace=trace, has_pipelines=has_pipelines, hooked=hooked, called=called)


def test_messages_of_a_pipeline_have_their_stages(run, rows_of):
    if not run.has_pipelines:
        pytest.skip("this PyTorch has no torch.distributed.pipelining")
    found = collections.Counter(
        (row["module"], row["from_rank"], row["to_rank"]) for row in rows_of(run.trace, "collective")
        if row["name"] == "send" and row["module"] is not None)
    messages = [(sender, sender + way, what) for way, what in ((1, "activations"), (-1, "gradients"))
                for sender in range(RANKS * CHUNKS) if 0 <= sender + way < RANKS * CHUNKS]
    assert found == {(f"stage {sender} → {receiver}: {what} of micro-batch {batch}",
                      sender % RANKS, receiver % RANKS): STEPS
                     for sender, receiver, what in messages for batch in range(MICRO_BATCHES)}


@pytest.mark.parametrize("module", list(LEFT_OUT))
def test_every_collective_is_hooked_or_left_out_for_a_reason(run, module):
    found = run.hooked[module]
    assert len(found) > 20 and sum(found.values()) > 10
    unknown = {name for name, is_hooked in found.items()
               if not is_hooked and name not in LEFT_OUT[module]}
    assert not unknown, "hook these functions, or say in the table why not"
    assert not {name for name in LEFT_OUT[module] if found.get(name)}, "these are hooked"


def test_functional_collectives_have_their_group_and_bytes(run, rows_of):
    rows = [row for row in rows_of(run.trace, "collective") if row["group"] == run.called["group"]]
    assert len(rows) == len(run.called["called"]) >= 5
    for row in rows:
        assert (row["ranks"], row["bytes"]) == (RANKS, 4 * ELEMENTS), row


def test_no_hook_of_ranks_failed(run, text_of_info):
    assert "torch.hooks" not in text_of_info(run.trace)
