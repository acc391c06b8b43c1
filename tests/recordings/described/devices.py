# SPDX-License-Identifier: Apache-2.0
"""Devices of described runs, and what an operator does on one: the kernels that it launches, how long each
takes, and what PyTorch's profiler says about its occupancy."""

import dataclasses
import math

GIB = 1 << 30


@dataclasses.dataclass(frozen=True)
class Device:
    """per_ns: what it computes and moves at most, in operations of 32 bits and in bytes."""

    name: str
    memory_bytes: int
    major: int
    minor: int
    sms: int
    flops_per_ns: float
    bytes_per_ns: float
    shared_bytes: int = 98304
    registers: int = 65536
    warp: int = 32
    reserved_shared_bytes: int = 0

    @property
    def is_amd(self):
        return self.warp == 64

    def active_blocks(self, threads, registers, shared_bytes):
        """The blocks that one multiprocessor holds at once, by CUDA's rules for compute capability 7 to 10."""
        warps = -(-threads // self.warp)
        by_registers = self.registers // (256 * -(-registers * 32 // 256)) // 4 * 4 // warps
        needed = shared_bytes + self.reserved_shared_bytes
        unit = 128 if self.reserved_shared_bytes else 256
        by_shared = self.shared_bytes // (unit * -(-needed // unit)) if needed else 32
        return min(32, 64 // warps, by_registers, by_shared)


V100 = Device("Tesla V100-SXM2-32GB", 34089730048, 7, 0, 80, 15700, 900)
V100_16 = Device("Tesla V100-SXM2-16GB", 16945512448, 7, 0, 80, 15700, 900)
A100 = Device("NVIDIA A100-SXM4-80GB", 84990623744, 8, 0, 108, 19500, 2039, 167936,
              reserved_shared_bytes=1024)
A100_40 = Device("NVIDIA A100-SXM4-40GB", 42297524224, 8, 0, 108, 19500, 1555, 167936,
                 reserved_shared_bytes=1024)
B200 = Device("NVIDIA B200", 191503138816, 10, 0, 148, 80000, 8000, 233472, reserved_shared_bytes=1024)
MI300X = Device("AMD Instinct MI300X", 206141652992, 9, 4, 304, 163400, 5300, 65536, warp=64)


@dataclasses.dataclass
class Launch:
    """What one call starts on a device. flops and moved_bytes: what it computes and moves."""

    name: str
    kind: str = "kernel"
    flops: float = 0
    moved_bytes: float = 0
    grid: tuple = (1, 1, 1)
    block: tuple = (128, 1, 1)
    registers: int = 32
    shared_bytes: int = 0
    call: str = ""

    def length_ns(self, device, random, tick_ns=1):
        """About half of what the device is capable of, and 1 to 3 µs more."""
        busy = self.flops / device.flops_per_ns / .45 + self.moved_bytes / device.bytes_per_ns / .6
        length = int(busy + random.randrange(1100, 2900))
        return length // tick_ns * tick_ns

    def occupancy(self, device):
        """As PyTorch estimates it: (blocks and warps for each multiprocessor, percent)."""
        threads = math.prod(self.block)
        warps = threads / device.warp
        blocks = math.prod(self.grid) / device.sms
        held = device.active_blocks(threads, self.registers, self.shared_bytes)
        return blocks, blocks * warps, int(100 * min(held, blocks) * math.ceil(warps) / 64)


def size(dims):
    return math.prod(dims) if dims and not isinstance(dims[0], list) else 0


def _numbers(text):
    return [int(part) for part in text.strip("[]").split(",") if part.strip()]


def flops_of(name, args):
    """Of matrix products and convolutions, from shapes: two for each multiplication that is added up."""
    dims = args.get("Input Dims") or []
    if name in ("aten::mm", "aten::bmm", "aten::addmm"):
        first, second = dims[1:3] if name == "aten::addmm" else dims[:2]
        return 2 * math.prod(first) * second[-1]
    if name in ("aten::mkldnn_convolution", "aten::convolution_backward"):
        backward = name.endswith("backward")
        weight = dims[2 if backward else 1]
        if backward:
            out = dims[0]
        else:
            padding, stride = (_numbers(args["Concrete Inputs"][i]) for i in (3, 4))
            out = [dims[0][0], weight[0], *((edge + 2 * pad - kernel) // step + 1 for edge, kernel, pad, step in
                                            zip(dims[0][2:], weight[2:], padding, stride, strict=True))]
        return 2 * math.prod(out) * math.prod(weight[1:])
    return 0


ARRAY = "at::detail::Array<char*, {}>"
ELEMENTWISE = ("void at::native::vectorized_elementwise_kernel<4, {0}, {1} >(int, {0}, {1})", 256, 32)
REDUCE = ("void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, {0}, unsigned int, float, 4> >"
          "(at::native::ReduceOp<float, {0}, unsigned int, float, 4>)", 512, 32)
FUNCTORS = {
    "fill_": ("at::native::FillFunctor<float>", 1), "add_": ("at::native::CUDAFunctor_add<float>", 3),
    "add": ("at::native::CUDAFunctor_add<float>", 3), "sub": ("at::native::CUDAFunctor_sub<float>", 3),
    "mul": ("at::native::BinaryFunctor<float, float, float, at::native::binary_internal::MulFunctor<float> >", 3),
    "mul_": ("at::native::AUnaryFunctor<float, float, float, at::native::binary_internal::MulFunctor<float> >", 2),
    "div": ("at::native::BinaryFunctor<float, float, float, at::native::binary_internal::DivFunctor<float> >", 3),
    "div_": ("at::native::BUnaryFunctor<float, float, float, at::native::binary_internal::DivFunctor<float> >", 2),
    "clamp_min": ("at::native::(anonymous namespace)::launch_clamp_scalar(at::TensorIteratorBase&, c10::Scalar, "
                  "c10::Scalar, at::native::detail::ClampLimits)::{lambda()#1}::operator()() const::"
                  "{lambda()#7}::operator()() const::{lambda(float)#1}", 2),
    "threshold_backward": ("at::native::(anonymous namespace)::threshold_kernel_impl<float>"
                           "(at::TensorIteratorBase&, float, float)::{lambda(float, float)#1}", 3),
    "copy_": ("at::native::direct_copy_kernel_cuda(at::TensorIteratorBase&)::{lambda()#3}::operator()() const::"
              "{lambda()#7}::operator()() const::{lambda(float)#1}", 2),
    "pow": ("at::native::(anonymous namespace)::pow_tensor_scalar_kernel_impl<float, float>"
            "(at::TensorIteratorBase&, float)::{lambda(float)#1}", 2),
    "rsqrt": ("at::native::rsqrt_kernel_cuda(at::TensorIteratorBase&)::{lambda()#2}::operator()() const::"
              "{lambda(float)#1}", 2),
    "sqrt": ("at::native::sqrt_kernel_cuda(at::TensorIteratorBase&)::{lambda()#2}::operator()() const::"
             "{lambda(float)#1}", 2),
    "silu": ("at::native::(anonymous namespace)::silu_kernel(at::TensorIteratorBase&)::{lambda()#1}::operator()() "
             "const::{lambda(float)#1}", 2),
    "sigmoid": ("at::native::sigmoid_kernel_cuda(at::TensorIteratorBase&)::{lambda(float)#1}", 2),
    "addcmul_": ("at::native::addcmul_cuda_kernel(at::TensorIteratorBase&, c10::Scalar const&)::"
                 "{lambda(float, float, float)#1}", 4),
    "addcdiv_": ("at::native::addcdiv_cuda_kernel(at::TensorIteratorBase&, c10::Scalar const&)::"
                 "{lambda(float, float, float)#1}", 4)}
SUM = ("at::native::func_wrapper_t<float, at::native::sum_functor<float, float, float>::operator()"
       "(at::TensorIterator&)::{lambda(float, float)#1}>")
# name of the operator: (kernel, threads of a block, registers of a thread)
OTHERS = {
    "sum": (REDUCE[0].replace("{0}", SUM), *REDUCE[1:]),
    "argmax": (REDUCE[0].replace("{0}", "at::native::ArgMaxOps<float>"), *REDUCE[1:]),
    "cat": ("void at::native::(anonymous namespace)::CatArrayBatchedCopy<float, unsigned int, 3, 128, 1>(float*, "
            "at::native::(anonymous namespace)::CatArrInputTensorMetadata<float, unsigned int, 128, 1>, int, "
            "unsigned int)", 512, 48),
    "native_batch_norm": ("void cudnn::bn_fw_tr_1C11_kernel_NCHW<float, float, 512, true, 1, true>"
                          "(cudnnTensorStruct, float const*, cudnnTensorStruct, float*, float const*)", 512, 40),
    "native_batch_norm_backward": ("void cudnn::bn_bw_1C11_kernel_new<float, float, float2, 512, true, 1>(float, "
                                   "float, cudnnTensorStruct, float const*, float*)", 512, 40),
    "max_pool2d_with_indices": ("void at::native::(anonymous namespace)::max_pool_forward_nchw<float, float>(int, "
                                "float const*, int, int, float*, long*)", 256, 38),
    "max_pool2d_with_indices_backward": ("void at::native::(anonymous namespace)::max_pool_backward_nchw<float, "
                                         "float>(float const*, long const*, int, int, float*)", 256, 34),
    "_softmax": ("void (anonymous namespace)::softmax_warp_forward<float, float, float, 6, false>(float*, float "
                 "const*, int, int, int)", 128, 26),
    "_log_softmax": ("void (anonymous namespace)::softmax_warp_forward<float, float, float, 4, true>(float*, float "
                     "const*, int, int, int)", 128, 25),
    "_log_softmax_backward_data": ("void (anonymous namespace)::softmax_warp_backward<float, float, float, 4, true>"
                                   "(float*, float const*, float const*, int, int, int)", 128, 26),
    "nll_loss_forward": ("void at::native::(anonymous namespace)::nll_loss_forward_reduce_cuda_kernel_2d<float, "
                         "float, long>(float*, float*, float*, long*)", 32, 28),
    "nll_loss_backward": ("void at::native::(anonymous namespace)::nll_loss_backward_reduce_cuda_kernel_2d<float, "
                          "long>(float*, float*, long*)", 32, 24),
    "log_sigmoid_forward": ("void at::native::vectorized_elementwise_kernel<4, at::native::log_sigmoid_forward_"
                            "kernel(at::TensorIteratorBase&)::{lambda(float)#1}>(int)", 128, 30),
    "index_select": ("void at::native::(anonymous namespace)::indexSelectLargeIndex<float, long, unsigned int, 2, 2, "
                     "-2, true>(at::cuda::detail::TensorInfo<float, unsigned int>, long)", 128, 36),
    "_embedding_bag": ("void at::native::(anonymous namespace)::EmbeddingBag_updateOutputKernel_sum_mean<float, "
                       "long>(long*, long*, float*, float*, long)", 256, 40),
    "_embedding_bag_dense_backward": ("void at::native::(anonymous namespace)::compute_grad_weight<float, long>"
                                      "(long*, float*, long, long)", 256, 42),
    "index": ("void at::native::index_elementwise_kernel<128, 4, at::native::gpu_index_kernel<at::native::"
              "index_kernel_impl<at::native::OpaqueType<4> > > >(int)", 128, 56),
    "_index_put_impl_": ("void at::native::(anonymous namespace)::indexing_backward_kernel<float, 4>(long const*, "
                         "float const*, float*, long)", 128, 40),
    "native_group_norm": ("void at::native::(anonymous namespace)::RowwiseMomentsCUDAKernel<float>(long, float, float "
                          "const*, float*, float*)", 512, 24),
    "upsample_nearest2d": ("void at::native::(anonymous namespace)::upsample_nearest2d_out_frame<float>(float const*, "
                           "float*, unsigned long)", 1024, 26)}
GEMMS = {"H100": ("nvjet_tst_192x192_64x4_2x1_v_bz_coopB_{}", 384, 168, 198656),
         "V100": ("volta_sgemm_128x64_{}", 256, 122, 24576),
         "A100": ("ampere_sgemm_64x64_{}", 128, 110, 17408),
         "B200": ("nvjet_tst_128x64_64x6_2x1_v_bz_{}", 384, 168, 198656)}
GEMM_OF_AMD = "Cijk_{}_SB_MT64x64x16_MI16x16x4x1_SN_1LDSB0_APM1_ABV0_AF0EM1_WSGRA0_WSGRB0_WS64_WG64_4_1"
CONVOLUTIONS = {
    "forward": "void cudnn::cnn::implicit_convolve_sgemm<float, float, 128, 5, 5, 3, 3, 3, 1, false, false, true>"
               "(int, int, int, float const*, int, float*, cudnn::cnn::kernel_conv_params)",
    "data": "void cudnn::cnn::dgrad2d_grouped_direct_kernel<float, float, float, int, float, 8, 2, 0, 0, 0>"
            "(cudnnTensorStruct, float const*, cudnnFilterStruct, float const*)",
    "weight": "void cudnn::cnn::wgrad2d_grouped_direct_kernel<float, float, int, float, float, 8, 2, 0>"
              "(cudnnTensorStruct, float const*, cudnnTensorStruct, float const*)"}
CONVOLUTIONS_OF_AMD = {"forward": "miopenSp3AsmConv_v30_3_1_gfx94x_fp32_f3x2_stride2",
                       "data": "miopenGcnAsmConv1x1U", "weight": "gcnAsmConv3x3WrW"}


def _grid(elements, threads, each=4):
    return (max(1, -(-elements // (threads * each))), 1, 1)


def _convolution(device, way, flops, moved):
    names = CONVOLUTIONS_OF_AMD if device.is_amd else CONVOLUTIONS
    return Launch(names[way], flops=flops, moved_bytes=moved, grid=(16 * device.sms, 2, 1),
                  registers=86, shared_bytes=6400)


def _gemm(device, name, flops, moved, dims):
    if device.is_amd:
        layout = "Ailk_Bljk" if name == "aten::bmm" else "Alik_Bljk"
        return Launch(GEMM_OF_AMD.format(layout), flops=flops, moved_bytes=moved, block=(256, 1, 1),
                      grid=_grid(dims[0][0] * dims[-1][-1], 64))
    family = next(family for family in GEMMS if family in device.name)
    kernel, threads, registers, shared = GEMMS[family]
    layout = "tn" if name == "aten::addmm" else "nn"
    return Launch(kernel.format(layout), flops=flops, moved_bytes=moved, block=(threads, 1, 1),
                  registers=registers, shared_bytes=shared, grid=(max(1, dims[0][0] // 16), dims[-1][-1] // 32 + 1, 1))


def launches_of(name, args, device):
    """What an operator itself launches, without those within it."""
    if "_launches" in args:
        return args["_launches"]
    dims = [one for one in args.get("Input Dims") or [] if isinstance(one, list)]
    elements = max([size(one) for one in dims], default=0) or 1
    moved = 4 * sum(size(one) for one in dims)
    flops = flops_of(name, args)
    if "_triton" in args:
        return [Launch(name, moved_bytes=moved, block=(512, 1, 1), grid=args["_args"]["_grid"],
                       call="hipModuleLaunchKernel" if device.is_amd else "cuLaunchKernel")]
    short = name.removeprefix("aten::")
    if "_flops" in args:
        return [_convolution(device, "weight" if name.endswith("weight") else "data", args["_flops"], moved)]
    if name == "aten::mkldnn_convolution":
        return [_convolution(device, "forward", flops, moved)]
    if name == "aten::convolution_backward":
        ways = ["data", "weight"] if args["Concrete Inputs"][-1].startswith("[True") else ["weight"]
        return [_convolution(device, way, flops, moved) for way in ways]
    if flops:
        launch = _gemm(device, name, flops, moved, [one for one in dims if size(one)][-2:])
        return [dataclasses.replace(launch, call=args.get("_call", "hipExtModuleLaunchKernel" * device.is_amd))]
    if short == "zero_":
        return [Launch("Memset (Device)", "memset", moved_bytes=moved)]
    if short in FUNCTORS:
        functor, arrays = FUNCTORS[short]
        text, threads, registers = ELEMENTWISE
        kernel = text.replace("{0}", functor).replace("{1}", ARRAY.format(arrays))
        return [Launch(kernel, moved_bytes=4 * arrays * elements, block=(threads, 1, 1), registers=registers,
                       grid=_grid(elements, threads))]
    if short in OTHERS:
        kernel, threads, registers = OTHERS[short]
        return [Launch(kernel, moved_bytes=moved, block=(threads, 1, 1), registers=registers,
                       shared_bytes=16 if "reduce" in kernel else 0, grid=_grid(elements, threads))]
    return []
