# SPDX-License-Identifier: Apache-2.0
"""The figures of DeepSpeed's flops profiler. Both stepscope.integrations.deepspeed and the PyTorch
hooks use this module; libstepscope contains its text, so it must not import stepscope."""


def deepspeed_figures(profiler):
    """(name, value, unit) of each figure that it prints above its table of modules. It counts the
    operations of the forward pass and assumes twice as many for the backward pass."""
    engine = profiler.ds_engine
    flops, forward_s = profiler.get_total_flops(), profiler.get_total_duration()
    has_timers = engine is not None and engine.wall_clock_breakdown()
    if has_timers:
        from deepspeed.utils.timer import (BACKWARD_GLOBAL_TIMER, FORWARD_GLOBAL_TIMER,
                                           STEP_GLOBAL_TIMER)
        forward_s, backward_s, step_s = (
            engine.timers(name).elapsed(False) / 1000
            for name in (FORWARD_GLOBAL_TIMER, BACKWARD_GLOBAL_TIMER, STEP_GLOBAL_TIMER))
    yield "deepspeed params per GPU", profiler.get_total_params(), ""
    yield "deepspeed fwd MACs per GPU", profiler.get_total_macs(), ""
    yield "deepspeed fwd flops per GPU", flops, ""
    yield "deepspeed fwd latency", round(forward_s * 1e9), "ns"
    if forward_s > 0:
        yield "deepspeed fwd FLOPS per GPU", flops / forward_s, "FLOP/s"
    if engine is None:
        return
    yield "deepspeed batch size per GPU", engine.train_micro_batch_size_per_gpu(), ""
    if has_timers:
        iteration_s = forward_s + backward_s + step_s
        factor = 2 + getattr(profiler, "recompute_fwd_factor", 0)
        yield "deepspeed bwd latency", round(backward_s * 1e9), "ns"
        yield "deepspeed step latency", round(step_s * 1e9), "ns"
        yield "deepspeed iter latency", round(iteration_s * 1e9), "ns"
        if backward_s > 0:
            yield "deepspeed bwd FLOPS per GPU (assumed)", factor * flops / backward_s, "FLOP/s"
        if iteration_s > 0:
            yield ("deepspeed FLOPS per GPU (bwd assumed)", (factor + 1) * flops / iteration_s,
                   "FLOP/s")
            samples = engine.train_micro_batch_size_per_gpu() * engine.world_size
            yield "deepspeed samples/s", samples / iteration_s, "samples/s"
