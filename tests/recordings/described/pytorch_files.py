# SPDX-License-Identifier: Apache-2.0
"""The stand-ins for files of PyTorch's profiler: which program runs on which device, by which version of
the profiler, and what is odd about it. Each function returns (files, facts)."""

import dataclasses
import io
import gzip
import tarfile

from . import facts, trees
from .devices import A100, A100_40, B200, MI300X, V100, V100_16, Launch
from .halves import ANNOTATION, FRAME, OPERATOR, Node, step_of
from .kineto import Kineto, Style, packed
from .kineto_old import Kineto2020, Kineto2021
from .run import Run, drive

US, S = 1000, 1_000_000_000
BASE_NS = 1_767_189_312 * S
FIRST_ADDRESS = 139_926_520_725_504


def plain_launches(count, names):
    """Kernels that a graph or an earlier step launches, in turn."""
    return [Launch(names[i % len(names)], moved_bytes=200_000 * (1 + i % 7), grid=(1200, 1, 1),
                   block=(256, 1, 1)) for i in range(count)]


def group_members(world, rank, version="2.17.1", backend="cuda:nccl"):
    return {"distributedInfo": {
        "backend": "nccl", "rank": rank, "world_size": world, "pg_count": 1,
        "pg_config": [{"pg_name": "0", "pg_desc": "default_pg", "backend_config": backend, "pg_size": world,
                       "ranks": list(range(world))}], "nccl_version": version}}


def without(tree, *names):
    """The tree without events of these names."""
    for node in tree.walk():
        node.children = [child for child in node.children if child.name not in names]
    return tree


def thinned(tree):
    """The tree without operators that neither launch nor contain anything: views and empty tensors."""
    idle = ("empty", "strided", "conj", "view", "::t", "transpose", "detach", "expand", "resize_", "select", "like")
    for node in tree.walk():
        node.children = [child for child in node.children if child.kind != OPERATOR or
                         not child.name.endswith(idle)]
    return tree


def play(run, tree, numbers, before=()):
    """The generator of a run: kernels from before the recording, then its steps."""
    run.backlog(before)
    run.take(20 * US, 40 * US)
    for number in numbers:
        yield from run.step(tree, number)
    run.take(2 * US, 9 * US)


def settle_memory(run, balanced):
    """What is allocated after each event. balanced: without what is freed or allocated only, and with an
    address of its own for each allocation, as long as it lives."""
    if balanced:
        open_ones, pairs = {}, []
        for one in run.allocations:
            if one.size > 0:
                open_ones.setdefault(one.address, []).append(one)
            elif open_ones.get(one.address):
                pairs.append((open_ones[one.address].pop(), one))
        free, fresh = {}, FIRST_ADDRESS
        for begin, end in sorted(pairs, key=lambda pair: pair[0].at):
            known = free.setdefault((begin.size, begin.on_device), [])
            reused = next((one for one in known if one[0] < begin.at), None)
            address = reused[1] if reused else fresh
            fresh += 0 if reused else -(-begin.size // 512) * 512
            known[:] = [one for one in known if one is not reused] + [(end.at, address)]
            begin.address = end.address = address
            end.on_device, end.size = begin.on_device, -begin.size
        run.allocations = sorted((one for pair in pairs for one in pair), key=lambda one: one.at)
    totals = {True: run.allocated, False: 0}
    for one in run.allocations:
        totals[one.on_device] += one.size
        one.allocated = totals[one.on_device]


def single(name, run, tree, numbers, style, before=(), writer=Kineto, balanced=True):
    """The file and the facts of one rank alone."""
    drive([(run, play(run, tree, numbers, before))])
    settle_memory(run, balanced)
    return {f"pytorch/{name}.json.gz": (packed(writer(run, style).text()), facts.kineto(run, style))}


# --- NVIDIA, 2022 to 2024 ------------------------------------------------------------------------

def v100_two_ranks():
    """The second of two ranks: gradients are reduced on a stream of their own; each allocation is recorded."""
    run = Run(V100, 11, rank=1, world=2, number=1, pid=783658, start_ns=1_669_783_687_352_244 * US, tick_ns=US,
              side={"allreduce": 14}, external_is_correlation=True, correlation=73689, allocated=5_435_638_784)
    tree = trees.after(step_of("train_images"), "torch::autograd::AccumulateGrad", 3, lambda i:
                       trees.collective_node("allreduce", 40_000 * (i + 1), "0", 2, 1, 60 * US))
    style = Style(2023, memory=True, devices=2, process="python3.8", members={
        "distributedInfo": {"backend": "nccl", "rank": 1, "world_size": 2}, "profile_memory": 1},
        foot={"traceName": "/tmp/trace_8_rank_1.json"})
    return single("v100_two_ranks_rank1", run, tree, (2, 3, 4), style)


def a100_process_groups():
    """Collectives with their group, type and size; annotations on the device; no shapes."""
    run = Run(A100_40, 12, world=2, pid=291024, start_ns=1_711_964_646 * S + 4_458_676_388_068_751,
              side={"allreduce": 40}, correlation=57532)
    tree = trees.after(step_of("train_images"), "torch::autograd::AccumulateGrad", 2, lambda i:
                       trees.collective_node("allreduce", 2_049_000 + 4_588_568 * i, "0", 2, 0, 150 * US))
    style = Style(2024, base_ns=1_711_964_646 * S, shapes=False, process="python3.10",
                  members=group_members(2, 0), foot={"INFO": [
                      "INFO:2024-05-22 17:15:22 291024:291024 CuptiActivityProfiler.cpp:976] Enabling GPU tracing",
                      "INFO:2024-05-22 17:15:23 291024:291024 CuptiActivityProfiler.cpp:1217] Traces Recorded:"],
                      "traceName": "/tmp/tmpu3g3sevh.json"})
    return single("a100_process_groups_rank0", run, tree, (4, 5, 6), style)


TRITON = ["triton_poi_fused_relu_0", "triton_per_fused_native_layer_norm_1", "ampere_sgemm_64x64_tn",
          "triton_red_fused_sum_2"]


def graphed(tree, name, launches):
    """The tree with an annotation in which one call starts several kernels."""
    step = tree.children[0]
    step.children.insert(2, Node(ANNOTATION, name, {"_graph": launches}))
    return tree


def a100_graphs():
    """Of 16 ranks, one: graphs of kernels without shapes, kernels whose launch lies before the recording, and
    exchanges on two streams, beside copies on another."""
    run = Run(A100, 13, world=16, pid=4515, start_ns=1_683_564_901_540_885 * US, tick_ns=US,
              side={"all_to_all": 84, "memcpy": 25}, external_is_correlation=True, correlation=863350, overlaps=.03)
    tree = graphed(step_of("train_ranker"), "## compiled_forward ##", plain_launches(8, TRITON))
    trees.after(tree, "aten::embedding_bag", 2, lambda i:
                trees.collective_node("all_to_all", 500_000, "0", 16, 0, 300 * US))
    style = Style(2023, process="trainer:0:0", members={"record_shapes": 1, "distributedInfo": {
        "backend": "nccl", "rank": 0, "world_size": 16}})
    return single("a100_graphs_rank0", run, tree, (550, 551, 552), style,
                  before=plain_launches(45, ["volta_sgemm_128x64_nn", *TRITON[:2]]))


def v100_absolute():
    """Nanoseconds since 1970 without a base, and a device that lags by more than a step."""
    run = Run(V100, 14, pid=1102, start_ns=1_712_195_495_406_752_797, correlation=135071, slow_device=9,
              side={"allreduce": 7})
    tree = trees.after(without(step_of("train_images"), "aten::item"), "torch::autograd::AccumulateGrad", 1,
                       lambda i: trees.collective_node("allreduce", 2_049_000, "0", 1))
    style = Style(2024, shapes=False, record_ids=False, process="python_3_10", members={
        **group_members(1, 0), "trace_id": "094DFF9CD7781F8ADDEAFBA6A8855CA7", "host_name": "node7",
        "job_name": "resnet-integration", "job_attempt": "0"},
        foot={"traceName": "/tmp/libkineto_activities_1102.json", "displayTimeUnit": "ns"})
    return single("v100_absolute_ns_rank0", run, tree, (101, 102, 103), style)


def stacks_style(world, rank, devices):
    return Style(2022, process="python3.8", devices=devices, backward_flows=False, members={
        "distributedInfo": {"backend": "nccl", "rank": rank, "world_size": world}})


class Kineto2022(Kineto):
    FLOW = ("async_cpu_to_gpu", "async_gpu")


def a100_stacks():
    """A stack of Python with each operator; four streams, of which one has copies only."""
    run = Run(A100_40, 15, rank=3, world=8, number=3, pid=311393, start_ns=1_661_203_462_584_767 * US, tick_ns=US,
              side={"all_to_all": 21, "allreduce": 20, "memcpy": 22}, external_is_correlation=True,
              correlation=1869554)
    return single("a100_stacks_rank3", run, ranker_of(8, 3), range(1009, 1014), stacks_style(8, 3, 8), writer=Kineto2022)


def ranker_of(world, rank):
    tree = thinned(without(step_of("train_ranker"), "aten::item", "aten::sub_"))
    trees.after(tree, "aten::embedding_bag", 2, lambda i:
                trees.collective_node("all_to_all", 500_000, "0", world, rank, 80 * US))
    return trees.after(tree, "torch::autograd::AccumulateGrad", 1, lambda i:
                       trees.collective_node("allreduce", 90_000, "0", world, rank, 40 * US))


def v100_graphs_stacks():
    """The same program on another device, where one call starts 60 kernels and some overlap."""
    run = Run(V100_16, 16, rank=1, world=2, number=1, pid=256850, start_ns=1_661_938_466_240_491 * US, tick_ns=US,
              side={"all_to_all": 15, "allreduce": 14, "memcpy": 16}, external_is_correlation=True,
              correlation=1930403, overlaps=.05)
    tree = graphed(ranker_of(2, 1), "## graph_replay ##", plain_launches(60, [*TRITON, "volta_sgemm_128x64_nn"]))
    return single("v100_graphs_stacks_rank1", run, tree, range(1009, 1014), stacks_style(2, 1, 2), writer=Kineto2022,
                  before=plain_launches(30, ["volta_sgemm_128x64_nn"]))


# --- NVIDIA and AMD, 2025 ------------------------------------------------------------------------

def b200_generate():
    """Inference with frames of Python: no steps, kernels of one stream that overlap, calls of the driver."""
    run = Run(B200, 17, world=8, pid=6583, start_ns=BASE_NS + 1_365_627_862_757_064, frames=True, overlaps=.1,
              correlation=16)
    tree = trees.after(without(step_of("generate_text"), "aten::empty"), "aten::silu", 1, lambda i:
                       trees.collective_node("_allgather_base", 131_072, "3", 8))
    for node in tree.walk():
        if node.name == "aten::mm":
            node.args["_call"] = "cuLaunchKernelEx"
    style = Style(2025, BASE_NS, layout="indented", names=False, members={
        "cupti_version": 28, "cuda_runtime_version": 12090, "cuda_driver_version": 13000,
        **group_members(8, 0, "2.27.5"), "record_shapes": 1, "with_stack": 1,
        "trace_id": "77C6C16CEF784657A94763DE3FE086C3"}, foot={"traceName": "/tmp/tmpx78selo7.json"})
    return single("b200_generate", run, tree, (None,), style)


def amd_members(devices_version="60443483", **more):
    return {"roctracer_version": 4.1, "hip_runtime_version": int(devices_version), **more, "record_shapes": 1,
            "hip_driver_version": int(devices_version), "with_stack": 1, "trace_id": "E2DD41CB5FBC4E7C9464E0B56B6B3E2B"}


def mi300x_checkpoint():
    """Training that computes its forward pass again; kernels from before the recording have no shape."""
    run = Run(MI300X, 18, world=8, number=2, pid=542, start_ns=BASE_NS + 3_743_411_222_487_063, frames=True, main=0,
              side={"allreduce": 4}, correlation=4066)
    tree = trees.after(step_of("checkpoint_images"), "torch::autograd::AccumulateGrad", 2, lambda i:
                       trees.collective_node("allreduce", 2_873_320, "0", 8, 0, 90 * US))
    style = Style(2025, BASE_NS, members=amd_members(**group_members(8, 0, "2.22.3")),
                  foot={"traceName": "./traces/rank0_iter16_18.json"})
    return single("mi300x_checkpoint_rank0", run, without(tree, "aten::empty"), (15, 16), style,
                  before=plain_launches(25, ["Cijk_Ailk_Bljk_SB_MT64x64x16_SN_1", "miopenGcnAsmConv1x1U"]))


def triton_args(name, grid):
    return {"num_warps": 8, "stream": 0, "kernel_backend": "triton", "kernel_name": name, "kernel_kwargs": "XBLOCK=1",
            "num_stages": 1, "kernel_file": f"/tmp/torchinductor_user/{name}.py", "kernel_hash": "c7a4mrxdz",
            "_grid": grid}


def compiled_region(kernels, products):
    """What torch.compile makes of a function: kernels of Triton, beside products of a library."""
    shapes = {"Concrete Inputs": ["", ""], "Input type": ["float", "float"],
              "Input Strides": [[512, 1], [512, 1]], "Input Dims": [[256, 512], [512, 512]]}
    inside = []
    for i in range(kernels):
        name = f"triton_red_fused_add_mean_mul_pow_rsqrt_{i % 4}"
        inside.append(Node(OPERATOR, name, {**shapes, "_args": triton_args(name, (256, 1, 1)), "_triton": True}))
        if i < products:
            inside.append(Node(OPERATOR, "aten::mm", dict(shapes)))
    graph = Node(ANNOTATION, "## Call CompiledFxGraph fal4xpiah2v6blbfmwwonu52dvevbsmlh743q5tkclrt4gcqpzea ##",
                 {}, inside)
    return Node(OPERATOR, "Torch-Compiled Region: 0/0", {}, [Node(OPERATOR, "Pregraph bytecode"), graph])


def mi300x_compiled():
    """A function that torch.compile compiled: few kernels, of which some are Triton's."""
    run = Run(MI300X, 19, number=2, pid=3182306, start_ns=1_775_078_550 * S + 3_603_029_046_038_437, main=0,
              correlation=1)
    top = Node(ANNOTATION, "", {}, [Node(OPERATOR, "TorchDynamo Cache Lookup"), compiled_region(5, 7)])
    style = Style(2025, 1_775_078_550 * S, devices=1, process="python", members={
        "trace_id": "88EC7BDF94C14DC2AA22F482F2FC289E", "hip_driver_version": 70226015, "record_shapes": 1,
        "hip_runtime_version": 70226015, "roctracer_version": 4.1}, foot={"traceName": "trace_tmp.json"})
    return single("mi300x_compiled", run, top, (None,), style)


def mi300x_decode_graph():
    """One step of vLLM: a graph of 180 kernels, copies, and devices without a name."""
    device = dataclasses.replace(MI300X, name="")
    run = Run(device, 20, number=2, pid=851, start_ns=BASE_NS + 6_520_618_853_487_683, main=0, frames=True,
              correlation=505100)
    tree = without(step_of("generate_text"), "aten::empty")
    inner = next(node for node in tree.walk() if node.name.startswith("execute_"))
    inner.name = "execute_32_context_0(sq0sk0sqsq0sqsk0)_generation_32(sq32sk55086sqsq32sqsk55086)"
    tail = inner.children[-3:]
    inner.children = [*inner.children[:2], Node(FRAME, "vllm/compilation/cuda_graph.py(121): __call__", {}, [
        Node(FRAME, "torch/cuda/graphs.py(88): replay", {}, [Node(OPERATOR, "hipGraph", {
            "_graph": plain_launches(180, ["Cijk_Alik_Bljk_BBS_BH_MT64x16x64_SN_1", "triton_poi_fused_mul_silu_1",
                                           "void vllm::reshape_and_cache_kernel<__hip_bfloat16>(long)",
                                           "paged_attention_ll4mi_QKV_kernel"])})])]), *tail]
    style = Style(2025, BASE_NS, layout="compact", names=False, device_annotations=False, members={
        "roctracer_version": 4.1, "with_flops": 1, **group_members(1, 0, "2.26.6"), "profile_memory": 1,
        "hip_runtime_version": 70051831, "hip_driver_version": 70051831, "record_shapes": 1, "with_stack": 1,
        "trace_id": "C1883E13EEE242C998FD033CD6EE9CC1"}, foot={"traceName": "/tmp/tmpd2l38s9b.json"})
    return single("mi300x_decode_graph", run, tree, (None,), style)


class Annotated(Kineto):
    """A tool has added an annotation behind the end of the file, without arguments."""

    def frame(self):
        super().frame()
        (_, begin, end), = self.run.steps
        self.add(ph="X", cat="user_annotation", name="execute_diffusion_1_256x256", pid=self.run.pid,
                 tid=self.run.pid, ts=self.at(begin + 100), dur=self.time(end - begin - 200))


def mi300x_draw():
    """A diffusion model: modules within modules, beside what torch.compile compiled."""
    run = Run(MI300X, 21, number=2, pid=416, start_ns=1_782_967_788 * S + 2_915_995_397_050_018, frames=True, main=0,
              correlation=60905, overlaps=.01)
    tree = without(step_of("draw_images"), "aten::empty")
    tree.children.append(compiled_region(30, 4))
    style = Style(2025, 1_782_967_788 * S, layout="compact", devices=1, members=amd_members(
        "71326183", **group_members(1, 0, "2.28.3")), foot={"traceName": "/tmp/tmpkzj_u5rk.json"})
    return single("mi300x_draw_images_rank0", run, tree, (3,), style, writer=Annotated)


# --- before 2022 ---------------------------------------------------------------------------------

def old_tree():
    return trees.old_convolutions(step_of("train_images"))


def v100_2021():
    """Operators with stacks, and allocations without totals; the shortest kernels last 0 µs."""
    run = Run(V100, 22, pid=25738, start_ns=1_623_143_093_496_439 * US, tick_ns=US, correlation=160658)
    return single("v100_2021_resnet", run, old_tree(), (16, 17, 18), Style(2021, memory=True, devices=4),
                  writer=Kineto2021, balanced=False)


def v100_2020():
    """An array; kernels of the step before, whose launches are not in the file."""
    run = Run(V100, 23, pid=67844, start_ns=1_606_910_596_288_053 * US, tick_ns=US, correlation=65460)
    return single("v100_2020_list", run, old_tree(), (5, 6, 7), Style(2020), writer=Kineto2020,
                  before=plain_launches(60, ["volta_sgemm_128x64_nn", "void cudnn::cnn::wgrad_alg0_engine<float, 128, "
                                             "6, 7, 3, 3, 5, false, 512>(int, int, int, float const*)"]))


# --- several ranks -------------------------------------------------------------------------------

PACES = {3: (1.15, 1.0), 5: (1.0, 1.7), 7: (1.5, 1.1)}


def dlrm_ranks():
    """Eight ranks of one host, in an archive: one step of a recommendation model, in which rank 7 is late, and
    then rank 5."""
    tree = thinned(without(step_of("train_ranker"), "aten::item", "aten::addcmul_", "aten::sqrt", "aten::add_",
                           "aten::to", "aten::contiguous", "aten::fill_", "aten::sub_", "detach"))
    trees.after(tree, "aten::embedding_bag", 3, lambda i: trees.collective_node("all_to_all", 400_000, "0", 8))
    trees.after(tree, "torch::autograd::AccumulateGrad", 5, lambda i:
                trees.collective_node("allreduce", 394_241, "0", 8))
    runs = [Run(V100_16, 30 + rank, rank=rank, world=8, number=rank, pid=59811 + rank, tick_ns=US,
                start_ns=(1_694_128_201_427_928 + 7 * rank) * US, pace=PACES.get(rank, (1, 1))[0],
                backward_pace=PACES.get(rank, (1, 1))[1],
                side={"all_to_all": 23, "allreduce": 20, "memcpy": 22}, external_is_correlation=True,
                correlation=41205) for rank in range(8)]
    drive([(run, play(run, tree, (10,))) for run in runs])
    archive, known = io.BytesIO(), {}
    with tarfile.open(fileobj=archive, mode="w") as tar:
        folder = tarfile.TarInfo("dlrm_kineto")
        folder.type, folder.mode = tarfile.DIRTYPE, 0o755
        tar.addfile(folder)
        for run in (runs[rank] for rank in (2, 4, 7, 0, 5, 3, 6, 1)):
            style = Style(2023, backward_flows=False, members={"record_shapes": 1, "distributedInfo": {
                "backend": "nccl", "rank": run.rank, "world_size": 8}})
            data = Kineto(run, style).text().encode()
            name = f"worker{run.rank}_step_12.{1694128201545 + run.rank}.pt.trace.json"
            entry = tarfile.TarInfo(f"dlrm_kineto/{name}")
            entry.size, entry.mode = len(data), 0o644
            tar.addfile(entry, io.BytesIO(data))
            known[name] = facts.kineto(run, style)
    return {"pytorch/dlrm_8_ranks.tar.gz": (gzip.compress(archive.getvalue(), 9, mtime=0), {
        "ranks": known, "collective_alignment": facts.alignment(runs)})}


FILES = (v100_two_ranks, a100_process_groups, a100_graphs, v100_absolute, a100_stacks, v100_graphs_stacks,
         b200_generate, mi300x_checkpoint, mi300x_compiled, mi300x_decode_graph, mi300x_draw, v100_2021, v100_2020,
         dlrm_ranks)
