/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/doctor/doctor_gpu_work.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "cli/doctor/doctor_gpu_kernels.h"
#include "platform/cuda_driver.h"

enum {
    MIB = 1 << 20,
    FMA_THREADS = 256,
    FMA_ITERATIONS = 16384,
    FMA_CHAINS = 8,
    COPY_THREADS = 256,
    LAUNCHES_OF_A_WAIT = 256, /* while launches are timed: no queue fills */
    PAUSE_MS = 300
};

const uint64_t ss_gpu_copy_bytes[SS_GPU_COPIES] = {3 * MIB, 2 * MIB + 4096, MIB + 8192,
                                                   4 * MIB + 12288, 5 * MIB};

static struct {
    struct ss_cuda_driver driver;
    struct ss_gpu_sheet *sheet;
    void *stream, *empty, *sleep, *copy, *fma;
    uint64_t from, to, out; /* memory of the device */
    uint64_t buffer_bytes;  /* of from and to */
    void *pinned, *pageable;
} work;

static uint64_t now_ns(void)
{
    return ss_clock_now_ns(NULL);
}

/* false once a call has failed: the sheet names it. */
static bool is_ok(int result, const char *call)
{
    if (result == SS_CUDA_OK) {
        return true;
    }
    snprintf(work.sheet->problem, sizeof work.sheet->problem, "%s: %s (%d)", call,
             ss_cuda_driver_error(&work.driver, result), result);
    return false;
}

/* --- begin ------------------------------------------------------------------------------------ */

static int attribute(enum ss_cuda_attribute which)
{
    int value = 0;
    return work.driver.attribute(&value, (int)which, 0) == SS_CUDA_OK ? value : 0;
}

static bool find_device(void)
{
    struct ss_gpu_sheet *sheet = work.sheet;
    int count = 0, version = 0, device = 0;
    if (!is_ok(work.driver.init(0), "cuInit") ||
        !is_ok(work.driver.version(&version), "cuDriverGetVersion") ||
        !is_ok(work.driver.count(&count), "cuDeviceGetCount") ||
        !is_ok(count > 0 ? SS_CUDA_OK : SS_CUDA_NO_DEVICE, "cuDeviceGetCount") ||
        !is_ok(work.driver.device(&device, 0), "cuDeviceGet") ||
        !is_ok(work.driver.name(sheet->device, sizeof sheet->device, device), "cuDeviceGetName")) {
        return false;
    }
    sheet->driver_version = version;
    sheet->capability =
        10 * attribute(SS_CUDA_CAPABILITY_MAJOR) + attribute(SS_CUDA_CAPABILITY_MINOR);
    sheet->multiprocessors = attribute(SS_CUDA_MULTIPROCESSORS);
    sheet->clock_khz = attribute(SS_CUDA_CLOCK_KHZ);
    sheet->memory_clock_khz = attribute(SS_CUDA_MEMORY_CLOCK_KHZ);
    sheet->memory_bus_bits = attribute(SS_CUDA_MEMORY_BUS_BITS);
    sheet->has_device = sheet->multiprocessors > 0;
    return is_ok(sheet->has_device ? SS_CUDA_OK : SS_CUDA_NO_DEVICE, "cuDeviceGetAttribute");
}

static bool find_kernels(void)
{
    static const struct {
        const char *name;
        void **function;
    } kernels[] = {{"stepscope_empty", &work.empty},
                   {"stepscope_sleep", &work.sleep},
                   {"stepscope_copy", &work.copy},
                   {"stepscope_fma", &work.fma}};
    void *module = NULL;
    if (!is_ok(work.driver.load_module(&module, ss_gpu_kernels), "cuModuleLoadData")) {
        return false;
    }
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++) {
        if (!is_ok(work.driver.find_function(kernels[i].function, module, kernels[i].name),
                   "cuModuleGetFunction")) {
            return false;
        }
    }
    return true;
}

/* Two buffers that the second-level cache does not hold, as far as there is one. */
static bool allocate(void)
{
    const struct ss_cuda_driver *driver = &work.driver;
    uint64_t wanted = 2 * (uint64_t)attribute(SS_CUDA_L2_BYTES);
    uint64_t bytes = wanted < 32 * MIB ? 32 * MIB : wanted > 256 * MIB ? 256 * MIB : wanted;
    work.buffer_bytes = bytes / (2 * 16) * (2 * 16);
    work.pageable = ss_alloc_zero(1, 8 * MIB);
    return is_ok(driver->allocate(&work.from, bytes), "cuMemAlloc") &&
           is_ok(driver->allocate(&work.to, bytes), "cuMemAlloc") &&
           is_ok(driver->allocate(&work.out, 4096), "cuMemAlloc") &&
           is_ok(driver->allocate_pinned(&work.pinned, 8 * MIB, 0), "cuMemHostAlloc") &&
           is_ok(driver->make_stream(&work.stream, 0), "cuStreamCreate");
}

static bool begin(void)
{
    void *context = NULL;
    return find_device() &&
           is_ok(work.driver.retain_context(&context, 0), "cuDevicePrimaryCtxRetain") &&
           is_ok(work.driver.set_context(context), "cuCtxSetCurrent") && find_kernels() &&
           allocate();
}

/* --- works ------------------------------------------------------------------------------------ */

static bool launch(void *function, unsigned blocks, unsigned threads, uint64_t first,
                   uint64_t second, uint64_t third)
{
    uint64_t arguments[3] = {first, second, third};
    void *pointers[3] = {&arguments[0], &arguments[1], &arguments[2]};
    work.sheet->launched++;
    return is_ok(
        work.driver.launch(function, blocks, 1, 1, threads, 1, 1, 0, work.stream, pointers, NULL),
        "cuLaunchKernel");
}

static bool launch_empty(unsigned blocks)
{
    return launch(work.empty, blocks, 32, 0, 0, 0);
}

static bool wait_for_all(void)
{
    return is_ok(work.driver.wait(work.stream), "cuStreamSynchronize");
}

/* Of the device to `host`. It counts as no copy of the sheet: it has a size of its own. */
static bool read_back(void *host, uint64_t from, size_t bytes)
{
    return is_ok(work.driver.copy_to_host(host, from, bytes, work.stream), "cuMemcpyDtoHAsync") &&
           wait_for_all();
}

/* The first launch of a kernel loads it. */
static bool warm_up(void)
{
    return launch(work.sleep, 100, 1, work.out, 1000, 0) &&
           launch(work.copy, 1, 1, work.to, work.from, 1) &&
           launch(work.fma, 1, 1, work.out, 1, 1) && launch_empty(SS_GPU_BURST_GRID) &&
           wait_for_all();
}

static bool sleep_on_device(void)
{
    static const uint64_t lengths_ns[] = {20000, 200000, 2000000};
    struct ss_gpu_sheet *sheet = work.sheet;
    bool is_right = true;
    for (unsigned i = 0; i < SS_GPU_SLEEPS; i++) {
        uint64_t asked_ns = lengths_ns[i % 3];
        if (!launch(work.sleep, i + 1, 1, work.out + i * sizeof *sheet->sleeps, asked_ns, 0)) {
            return false;
        }
        sheet->sleep_ns[i] = asked_ns;
    }
    if (!wait_for_all() || !read_back(sheet->sleeps, work.out, sizeof sheet->sleeps)) {
        return false;
    }
    for (unsigned i = 0; i < SS_GPU_SLEEPS; i++) {
        is_right = is_right && sheet->sleeps[i].begin_ns != 0 &&
                   sheet->sleeps[i].end_ns - sheet->sleeps[i].begin_ns >= sheet->sleep_ns[i];
    }
    sheet->is_right[0] = is_right;
    return true;
}

static bool launch_numbered(void)
{
    struct ss_gpu_sheet *sheet = work.sheet;
    sheet->numbered_until.begin_ns = now_ns();
    for (unsigned i = 0; i < SS_GPU_NUMBERED; i++) {
        sheet->numbered[i].begin_ns = now_ns();
        if (!launch_empty(i + 1)) {
            return false;
        }
        sheet->numbered[i].end_ns = now_ns();
    }
    bool has_waited = wait_for_all();
    sheet->numbered_until.end_ns = now_ns();
    return has_waited;
}

static bool copy_and_set(void)
{
    const struct ss_cuda_driver *driver = &work.driver;
    const uint64_t *bytes = ss_gpu_copy_bytes;
    void *stream = work.stream;
    return is_ok(driver->copy_to_device(work.from, work.pinned, bytes[SS_GPU_COPY_PINNED_TO_DEVICE],
                                        stream),
                 "cuMemcpyHtoDAsync") &&
           is_ok(driver->copy_to_host(work.pinned, work.from, bytes[SS_GPU_COPY_DEVICE_TO_PINNED],
                                      stream),
                 "cuMemcpyDtoHAsync") &&
           is_ok(driver->copy_to_device(work.from, work.pageable,
                                        bytes[SS_GPU_COPY_PAGEABLE_TO_DEVICE], stream),
                 "cuMemcpyHtoDAsync") &&
           is_ok(driver->copy_on_device(work.to, work.from, bytes[SS_GPU_COPY_ON_DEVICE], stream),
                 "cuMemcpyDtoDAsync") &&
           is_ok(driver->set_memory(work.from, 0x5a5a5a5a, bytes[SS_GPU_MEMSET] / 4, stream),
                 "cuMemsetD32Async") &&
           wait_for_all();
}

/* From `from`, which copy_and_set has filled at its start. */
static bool copy_by_kernel(void)
{
    struct ss_gpu_sheet *sheet = work.sheet;
    unsigned blocks = SS_GPU_COPY_BLOCKS * (unsigned)sheet->multiprocessors;
    uint32_t copied[16] = {0};
    for (unsigned i = 0; i < SS_GPU_PAIR; i++) {
        uint64_t bytes = work.buffer_bytes / (SS_GPU_PAIR - i);
        if (!launch(work.copy, blocks, COPY_THREADS, work.to, work.from, bytes / 16)) {
            return false;
        }
        sheet->copy_bytes[i] = 2 * bytes;
    }
    if (!wait_for_all() || !read_back(copied, work.to, sizeof copied)) {
        return false;
    }
    sheet->is_right[1] = copied[0] == 0x5a5a5a5a && copied[15] == 0x5a5a5a5a;
    return true;
}

static bool multiply(void)
{
    struct ss_gpu_sheet *sheet = work.sheet;
    unsigned blocks = SS_GPU_FMA_BLOCKS * (unsigned)sheet->multiprocessors;
    sheet->is_right[2] = true;
    for (uint64_t i = 0; i < SS_GPU_PAIR; i++) {
        uint64_t out[4] = {0}, iterations = FMA_ITERATIONS << i;
        if (!launch(work.fma, blocks, FMA_THREADS, work.out, iterations, 1) || !wait_for_all() ||
            !read_back(out, work.out, sizeof out)) {
            return false;
        }
        sheet->fmas[i] = (struct ss_gpu_span){out[0], out[1]};
        sheet->fma_cycles[i] = out[2];
        sheet->fma_flops[i] = UINT64_C(2) * FMA_CHAINS * iterations * blocks * FMA_THREADS;
        sheet->is_right[2] = sheet->is_right[2] &&
                             out[3] == FMA_CHAINS * (FMA_CHAINS + 1) / 2 + FMA_CHAINS * iterations;
    }
    return true;
}

static int compare(const void *left, const void *right)
{
    const uint64_t *a = left, *b = right;
    return *a < *b ? -1 : *a > *b;
}

static bool time_launches(void)
{
    static uint64_t took_ns[SS_GPU_TIMED];
    for (unsigned i = 0; i < SS_GPU_TIMED; i++) {
        uint64_t before_ns = now_ns();
        if (!launch_empty(SS_GPU_TIMED_GRID)) {
            return false;
        }
        took_ns[i] = now_ns() - before_ns;
        if (i % LAUNCHES_OF_A_WAIT == LAUNCHES_OF_A_WAIT - 1 && !wait_for_all()) {
            return false;
        }
    }
    qsort(took_ns, SS_GPU_TIMED, sizeof *took_ns, compare);
    work.sheet->launch_ns = took_ns[SS_GPU_TIMED / 2];
    return wait_for_all();
}

static bool time_loops(void)
{
    for (unsigned i = 0; i < SS_GPU_LOOPS; i++) {
        uint64_t before_ns = now_ns();
        for (unsigned j = 0; j < SS_GPU_LOOP_WORKS; j++) {
            if (!launch(work.sleep, 100, 1, work.out, SS_GPU_LOOP_NS, 0)) {
                return false;
            }
        }
        if (!wait_for_all()) {
            return false;
        }
        uint64_t took_ns = now_ns() - before_ns;
        if (i == 0 || took_ns < work.sheet->loop_ns) {
            work.sheet->loop_ns = took_ns;
        }
    }
    return true;
}

static bool burst(unsigned count, unsigned blocks)
{
    for (unsigned i = 0; i < count; i++) {
        if (!launch_empty(blocks)) {
            return false;
        }
    }
    return wait_for_all();
}

static void pause_host(void)
{
    struct timespec left = {.tv_nsec = PAUSE_MS * 1000000L};
    while (nanosleep(&left, &left) != 0) {
    }
}

static bool run_all(void)
{
    bool is_done = warm_up() && sleep_on_device() && launch_numbered() && copy_and_set() &&
                   copy_by_kernel() && multiply() && time_launches() && time_loops() &&
                   burst(SS_GPU_BURST, SS_GPU_BURST_GRID);
    if (is_done) {
        pause_host();
        is_done = burst(SS_GPU_LAST, SS_GPU_LAST_GRID);
    }
    return is_done;
}

/* --- the program ------------------------------------------------------------------------------ */

/* Registered before CUDA is initialised, so that it runs after a collector's own end. */
static void on_exit_of_program(void)
{
    work.sheet->exit_ns = now_ns();
}

int ss_gpu_work_run(const char *path, bool is_burst)
{
    int fd = open(path, O_RDWR | O_CLOEXEC);
    void *memory = fd >= 0
                       ? mmap(NULL, sizeof *work.sheet, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)
                       : MAP_FAILED;
    if (fd >= 0) {
        close(fd);
    }
    if (memory == MAP_FAILED) {
        return ss_status_exit_code(SS_E_IO);
    }
    work.sheet = memory;
    struct ss_gpu_sheet *sheet = work.sheet;
    atexit(on_exit_of_program);
    if (!ss_cuda_driver_load(&work.driver, sheet->problem, sizeof sheet->problem) || !begin()) {
        return ss_status_exit_code(SS_E_UNSUPPORTED);
    }
    bool is_done = is_burst ? burst(SS_GPU_LONG_BURST, SS_GPU_BURST_GRID) : run_all();
    sheet->works_end_ns = now_ns();
    sheet->has_ended = is_done;
    return is_done ? 0 : ss_status_exit_code(SS_E_UNSUPPORTED);
}
