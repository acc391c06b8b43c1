# SPDX-License-Identifier: Apache-2.0
"""DeepSpeed's ZeRO with partitioned parameters: which of them an all-gather completes, and of which a
reduction has the gradients. What its other stages transfer is found by its place in memory
(parameters.py)."""

from .guard import replace
from .late import when_imported
from .parameters import within_parameters


@when_imported("deepspeed.runtime.zero.partitioned_param_coordinator")
def hook_gathers(module):
    coordinator = module.PartitionedParameterCoordinator
    replace(coordinator, f"_{coordinator.__name__}__all_gather_params_", within_parameters(1))


@when_imported("deepspeed.runtime.zero.stage3")
def hook_scatters(module):
    optimizer = module.DeepSpeedZeroOptimizer_Stage3
    replace(optimizer, f"_{optimizer.__name__}__avg_scatter_grads", within_parameters(1))
