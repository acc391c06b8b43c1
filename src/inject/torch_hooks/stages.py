# SPDX-License-Identifier: Apache-2.0
"""torch.distributed.pipelining: between which stages a message goes, and whether it has activations or
gradients, and of which micro-batch.

A stage makes its sends and receives before the schedule starts them: they are recognised by their
tensors."""

from .guard import around_untraced, replace
from .late import when_imported
from .libstepscope import define_name

_MOST_WAITING = 4096
_waiting = {}  # names, in their order, by id of the tensor of a message that has not been started


def _ranks_of(stage):
    """The rank of each stage in the group."""
    return getattr(stage, "stage_index_to_group_rank", None) or {}


def _partner(stage, operation, is_next):
    """The nearest stage in this direction on the rank of the partner."""
    own, ranks = stage.stage_index, _ranks_of(stage)
    peer = getattr(operation, "group_peer", None)
    peer = operation.peer if peer is None else peer
    others = range(own + 1, stage.num_stages) if is_next else range(own - 1, -1, -1)
    return next((one for one in others if ranks.get(one) == peer), own + 1 if is_next else own - 1)


def _observe(is_next, is_send, what):
    def observe(args, operations):
        stage, micro_batch = args[0], args[1]
        if len(_waiting) >= _MOST_WAITING:
            _waiting.clear()
        for operation in operations:
            ends = stage.stage_index, _partner(stage, operation, is_next)
            first, last = ends if is_send else reversed(ends)
            name = define_name(f"stage {first} → {last}: {what} of micro-batch {micro_batch}")
            _waiting.setdefault(id(operation.tensor), []).append(name)
    return around_untraced(lambda args, kwargs: True, lambda token: None, observe)


def name_of_message(tensors):
    """0: it has none. Called once for each message."""
    if not _waiting or len(tensors) != 1:
        return 0
    names = _waiting.get(id(tensors[0]))
    if not names:
        return 0
    name = names.pop(0)
    if not names:
        _waiting.pop(id(tensors[0]), None)
    return name


@when_imported("torch.distributed.pipelining.stage")
def hook_stages(module):
    stage = module._PipelineStageBase
    replace(stage, "get_fwd_send_ops", _observe(True, True, "activations"))
    replace(stage, "get_fwd_recv_ops", _observe(False, False, "activations"))
    replace(stage, "get_bwd_send_ops", _observe(False, True, "gradients"))
    replace(stage, "get_bwd_recv_ops", _observe(True, False, "gradients"))
