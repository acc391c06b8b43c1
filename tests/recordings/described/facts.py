# SPDX-License-Identifier: Apache-2.0
"""What is true of a described run: sums over what the description holds, without a file and without
stepscope. Times are µs, as in the facts of recordings outside the repository."""

import collections

from .devices import flops_of

PRODUCTS = ("aten::mm", "aten::bmm", "aten::addmm")


def union_ns(spans):
    """The time that (begin, end) cover."""
    covered, until = 0, None
    for begin, end in sorted(spans):
        begin = begin if until is None else max(begin, until)
        covered += max(0, end - begin)
        until = end if until is None else max(until, end)
    return covered


def us(ns):
    return ns / 1000


def streams_of(run):
    found = collections.defaultdict(lambda: {"kernels": 0, "kernel_ns": 0})
    for work in run.works:
        if work.kind == "kernel":
            row = found[f"dev{run.number}/stream{work.stream}"]
            row["kernels"] += 1
            row["kernel_ns"] += work.end - work.begin
    return {name: {"kernels": row["kernels"], "kernel_us": us(row["kernel_ns"])} for name, row in found.items()}


def kineto(run, style):
    works, kernels = run.works, [work for work in run.works if work.kind == "kernel"]
    nccl = [work for work in kernels if "nccl" in work.launch.name]
    base, decimals = style.base_ns or 0, 3 if style.year >= 2024 else 0
    begins = [(work.begin - base) / 1000 for work in works]
    category = "Operator" if style.year < 2022 else "user_annotation"
    return {
        "kernels": len(kernels), "kernel_us": us(sum(work.end - work.begin for work in kernels)),
        "gpu_events": len(works), "gpu_busy_union_us": us(union_ns((work.begin, work.end) for work in works)),
        "gpu_span_us": us(max(work.end for work in works) - min(work.begin for work in works)),
        "streams": streams_of(run),
        "steps": [[f"ProfilerStep#{number}", category, us(end - begin)] for number, begin, end in run.steps],
        "launch_api_of_kernels": dict(collections.Counter(work.call.name if work.call else "None"
                                                          for work in kernels)),
        "ts_decimals": [[decimals, len(works)]], "ts_range": [min(begins), max(begins)],
        "nccl": {"n": len(nccl), "us": us(sum(work.end - work.begin for work in nccl))},
        "memory_events": len(run.allocations) if style.memory else 0,
        "overlap_us": us(sum(work.end - work.begin for work in works) - union_ns(
            (work.begin, work.end) for work in works)),
        "calls": dict(collections.Counter(call.name for call in run.calls)),
        "product_flops": products_of(run), "training_flops": training_flops(run),
        "first_layer_flops": first_layer_flops(run)}


def products_of(run):
    """Of matrix products, by operator."""
    found = collections.Counter()
    for span in run.spans:
        if span.name in PRODUCTS:
            found[span.name] += flops_of(span.name, span.node.args)
    return dict(found)


def training_flops(run):
    """Of a step: what its products and convolutions compute, as launched."""
    steps = max(1, len(run.steps))
    return sum(work.launch.flops for work in run.works) / steps


def first_layer_flops(run):
    """Of the forward pass of the first convolution, whose backward pass has no gradient of the image."""
    return next((flops_of(span.name, span.node.args) for span in run.spans
                 if span.name == "aten::mkldnn_convolution"), 0)


def alignment(runs):
    """Of the k-th collective of each rank: which rank reached it last, and by how much their begins and
    their ends differ."""
    by_rank = [[work for work in run.works if work.collective] for run in runs]
    found = []
    for number, works in enumerate(zip(*by_rank, strict=True)):
        begins, ends = [work.begin for work in works], [work.end for work in works]
        found.append({
            "k": number, "name": works[0].launch.name, "last_arriver": begins.index(max(begins)),
            "start_offset_us": {str(rank): us(begin - min(begins)) for rank, begin in enumerate(begins)},
            "end_offset_us": {str(rank): us(end - min(begins)) for rank, end in enumerate(ends)}})
    return found
