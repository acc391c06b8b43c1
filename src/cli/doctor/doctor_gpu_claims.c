/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/doctor/doctor_gpu_claims_inside.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Tolerances. */
enum {
    ORDER_NS = 5000,         /* of the device's clock against the host's */
    SHORTER_NS = 2000,       /* a kernel against what it measured: the timer's resolution */
    LONGER_NS = 10000,       /* and its own start and end */
    DURATION_PERCENT = 2,    /* of long kernels */
    TIMER_NS = 20000,        /* between the device's timer and the recorded times */
    LAUNCH_NS = 1000,        /* a call against its caller's own times */
    SIGNALS = 128,           /* added to the number of a signal in an exit status */
    EDGES_OF_A_BIT_CLOCK = 2 /* memory transfers on both edges */
};
static const double above_peak = 1.05, least_ratio = 1.5, most_ratio = 3, fma_ratio = 0.1;

void ss_gpu_say(struct ss_gpu_claim *claim, enum ss_gpu_state state, const char *format, ...)
{
    va_list arguments;
    claim->state = state;
    va_start(arguments, format);
    vsnprintf(claim->text, sizeof claim->text, format, arguments);
    va_end(arguments);
}

void ss_gpu_fix(struct ss_gpu_claim *claim, const char *text)
{
    snprintf(claim->fix, sizeof claim->fix, "%s", text);
}

/* --- the device and the program --------------------------------------------------------------- */

static void claim_driver(const struct ss_gpu_facts *facts, struct ss_gpu_claim *claim)
{
    const struct ss_gpu_sheet *sheet = &facts->runs[SS_GPU_RUN_ALONE].sheet;
    if (sheet->has_device == 0) {
        ss_gpu_say(claim, SS_GPU_FAILS, "%s",
                   sheet->problem[0] != '\0' ? sheet->problem : "no device could be used");
        ss_gpu_fix(claim, "install NVIDIA's driver, and give a container its devices (docker run "
                          "--gpus all): nvidia-smi has to list one");
        return;
    }
    ss_gpu_say(claim, SS_GPU_HOLDS,
               "CUDA %d.%d; device 0: %s, %d multiprocessors, compute capability %d.%d",
               sheet->driver_version / 1000, sheet->driver_version % 1000 / 10, sheet->device,
               sheet->multiprocessors, sheet->capability / 10, sheet->capability % 10);
}

void ss_gpu_describe_end(const struct ss_gpu_run *run, char *text, size_t size)
{
    if (run->has_timed_out) {
        snprintf(text, size, "the program did not end within two minutes");
    } else if (run->status > SIGNALS) {
        snprintf(text, size, "the program was killed (%s)", strsignal(run->status - SIGNALS));
    } else {
        snprintf(text, size, "the program ended with status %d", run->status);
    }
}

/* Why a run did not end as it should. */
static void say_broken(const struct ss_gpu_run *run, struct ss_gpu_claim *claim)
{
    char end[96];
    ss_gpu_describe_end(run, end, sizeof end);
    bool is_named = run->sheet.problem[0] != '\0' || run->message[0] != '\0';
    ss_gpu_say(claim, SS_GPU_FAILS, "%s%s%s", end, is_named ? ": " : "",
               run->sheet.problem[0] != '\0' ? run->sheet.problem : run->message);
    ss_gpu_fix(claim, "see whether other programs can use the device; with compute-sanitizer or a "
                      "newer driver if they cannot");
}

static void claim_kernels(const struct ss_gpu_facts *facts, struct ss_gpu_claim *claim)
{
    static const char *const what[] = {"sleeps", "copies", "multiplies"};
    const struct ss_gpu_run *run = &facts->runs[SS_GPU_RUN_ALONE];
    if (!run->sheet.has_ended) {
        say_broken(run, claim);
        return;
    }
    for (size_t i = 0; i < sizeof what / sizeof *what; i++) {
        if (!run->sheet.is_right[i]) {
            ss_gpu_say(claim, SS_GPU_FAILS, "the result of the kernel that %s is wrong", what[i]);
            ss_gpu_fix(claim, "the device or its driver is at fault: nvidia-smi -q -d ECC");
            return;
        }
    }
    ss_gpu_say(claim, SS_GPU_HOLDS,
               "kernels that sleep, copy and multiply give the results that they should");
}

static void claim_collector(const struct ss_gpu_facts *facts, struct ss_gpu_claim *claim)
{
    const struct ss_gpu_recorded *recorded = &facts->recorded;
    if (!recorded->is_there) {
        say_broken(&facts->runs[SS_GPU_RUN_RECORDED], claim);
        return;
    }
    if (recorded->problem[0] != '\0') {
        ss_gpu_say(claim, SS_GPU_FAILS, "%s", recorded->problem);
        ss_gpu_fix(claim, "the section \"Problems\" of docs/gpu.md has each cause");
    } else if (recorded->collector[0] == '\0') {
        ss_gpu_say(claim, SS_GPU_FAILS, "the driver did not load libstepscope: %s",
                   recorded->reason);
        ss_gpu_fix(claim, "unset CUDA_INJECTION64_PATH if it is set; else the driver ignores it");
    } else if (ss_gpu_recorded_kernels(recorded) == 0 && recorded->untimed == 0) {
        ss_gpu_say(claim, SS_GPU_FAILS, "nothing was recorded with %s: %s", recorded->collector,
                   recorded->reason);
        ss_gpu_fix(claim, "the reason names the cause; without one try another CUPTI "
                          "(STEPSCOPE_CUPTI)");
    } else if (!facts->runs[SS_GPU_RUN_RECORDED].sheet.has_ended) {
        say_broken(&facts->runs[SS_GPU_RUN_RECORDED], claim);
    } else {
        ss_gpu_say(claim, SS_GPU_HOLDS, "%s", recorded->collector);
    }
}

bool ss_gpu_needs_works(const struct ss_gpu_facts *facts, struct ss_gpu_claim *claim)
{
    bool has_works = facts->recorded.is_there && facts->runs[SS_GPU_RUN_RECORDED].sheet.has_ended &&
                     (ss_gpu_recorded_kernels(&facts->recorded) > 0 || facts->recorded.untimed > 0);
    if (!has_works) {
        ss_gpu_say(claim, SS_GPU_NOT_MEASURABLE, "no work of the device was recorded");
    }
    return has_works;
}

/* --- clocks ----------------------------------------------------------------------------------- */

static void claim_clock(const struct ss_gpu_facts *facts, struct ss_gpu_claim *claim)
{
    if (!ss_gpu_needs_works(facts, claim)) {
        return;
    }
    if (strstr(facts->recorded.collector, "its own clock") == NULL) {
        ss_gpu_say(claim, SS_GPU_HOLDS,
                   "CUPTI takes its times from CLOCK_MONOTONIC, the clock of all other records");
        return;
    }
    ss_gpu_say(claim, SS_GPU_FAILS,
               "CUPTI refused CLOCK_MONOTONIC for its times: its own clock is converted, by "
               "readings of both once a second");
    ss_gpu_fix(claim, "the lines \"order\" and \"timer\" say what the conversion is worth; another "
                      "CUPTI may accept the clock (STEPSCOPE_CUPTI)");
}

/* The kernel of this kind and grid; NULL: none, or several. */
static const struct ss_gpu_kernel_work *find_kernel(const struct ss_gpu_recorded *recorded,
                                                    enum ss_gpu_kernel kind, uint64_t blocks)
{
    const struct ss_gpu_kernel_work *found = NULL;
    size_t count = 0;
    for (size_t i = 0; i < recorded->kernels[kind].count; i++) {
        if (recorded->kernels[kind].data[i].blocks == blocks) {
            found = &recorded->kernels[kind].data[i];
            count++;
        }
    }
    return count == 1 ? found : NULL;
}

static int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Each numbered kernel has to lie between the start of its call and the end of the wait. */
static void claim_order(const struct ss_gpu_facts *facts, struct ss_gpu_claim *claim)
{
    const struct ss_gpu_sheet *sheet = &facts->runs[SS_GPU_RUN_RECORDED].sheet;
    int64_t worst_ns = INT64_MIN;
    unsigned found = 0, outside = 0;
    for (unsigned i = 0; i < SS_GPU_NUMBERED; i++) {
        const struct ss_gpu_kernel_work *kernel =
            find_kernel(&facts->recorded, SS_GPU_KERNEL_EMPTY, i + 1);
        if (kernel != NULL) {
            int64_t early_ns = (int64_t)(sheet->numbered[i].begin_ns - kernel->span.begin_ns);
            int64_t late_ns = (int64_t)(kernel->span.end_ns - sheet->numbered_until.end_ns);
            worst_ns = later(worst_ns, later(early_ns, late_ns));
            outside += later(early_ns, late_ns) > ORDER_NS;
            found++;
        }
    }
    if (!ss_gpu_needs_works(facts, claim)) {
        return;
    }
    if (found == 0) {
        ss_gpu_say(claim, SS_GPU_NOT_MEASURABLE, "no numbered kernel was recorded with times");
    } else if (outside == 0) {
        ss_gpu_say(claim, SS_GPU_HOLDS,
                   "%u of %u kernels began after their launch and ended before the wait for them, "
                   "by the host's clock",
                   found, found);
    } else {
        ss_gpu_say(claim, SS_GPU_FAILS,
                   "%u of %u kernels lie outside of the time between their launch and the wait "
                   "for them, by up to %.1f us: the device's times do not fit the host's",
                   outside, found, ss_gpu_us(worst_ns));
        ss_gpu_fix(claim,
                   "do not compare times of the device with times of the host in recordings of "
                   "this machine, only durations; try another CUPTI (STEPSCOPE_CUPTI)");
    }
}

/* The largest difference between the distances of recorded and measured begins. */
static void claim_timer(const struct ss_gpu_facts *facts, struct ss_gpu_claim *claim)
{
    const struct ss_gpu_sheet *sheet = &facts->runs[SS_GPU_RUN_RECORDED].sheet;
    int64_t least_ns = INT64_MAX, most_ns = INT64_MIN;
    uint64_t first_ns = UINT64_MAX, last_ns = 0;
    unsigned found = 0;
    for (unsigned i = 0; i < SS_GPU_SLEEPS; i++) {
        const struct ss_gpu_kernel_work *kernel =
            find_kernel(&facts->recorded, SS_GPU_KERNEL_SLEEP, i + 1);
        if (kernel != NULL && sheet->sleeps[i].begin_ns != 0) {
            int64_t distance_ns = (int64_t)(sheet->sleeps[i].begin_ns - kernel->span.begin_ns);
            least_ns = distance_ns < least_ns ? distance_ns : least_ns;
            most_ns = distance_ns > most_ns ? distance_ns : most_ns;
            first_ns = kernel->span.begin_ns < first_ns ? kernel->span.begin_ns : first_ns;
            last_ns = kernel->span.begin_ns > last_ns ? kernel->span.begin_ns : last_ns;
            found++;
        }
    }
    if (!ss_gpu_needs_works(facts, claim)) {
        return;
    }
    if (found < 2) {
        ss_gpu_say(claim, SS_GPU_NOT_MEASURABLE,
                   "fewer than two kernels that sleep were recorded with times");
        return;
    }
    bool is_steady = most_ns - least_ns <= TIMER_NS;
    ss_gpu_say(claim, is_steady ? SS_GPU_HOLDS : SS_GPU_FAILS,
               "recorded begins and the device's own timer keep their distance within %.1f us over "
               "%.1f ms",
               ss_gpu_us(most_ns - least_ns), ss_gpu_us((int64_t)(last_ns - first_ns)) / 1e3);
    if (!is_steady) {
        ss_gpu_fix(claim, "times of this device jump or drift: compare only durations");
    }
}

/* --- what is recorded of a work --------------------------------------------------------------- */

static void claim_durations(const struct ss_gpu_facts *facts, struct ss_gpu_claim *claim)
{
    const struct ss_gpu_sheet *sheet = &facts->runs[SS_GPU_RUN_RECORDED].sheet;
    int64_t least_ns = INT64_MAX, most_ns = INT64_MIN;
    unsigned found = 0, wrong = 0;
    for (unsigned i = 0; i < SS_GPU_SLEEPS; i++) {
        const struct ss_gpu_kernel_work *kernel =
            find_kernel(&facts->recorded, SS_GPU_KERNEL_SLEEP, i + 1);
        if (kernel != NULL) {
            int64_t slept_ns = (int64_t)(sheet->sleeps[i].end_ns - sheet->sleeps[i].begin_ns);
            int64_t beside_ns = (int64_t)(kernel->span.end_ns - kernel->span.begin_ns) - slept_ns;
            least_ns = beside_ns < least_ns ? beside_ns : least_ns;
            most_ns = later(most_ns, beside_ns);
            wrong += beside_ns < -SHORTER_NS ||
                     beside_ns > LONGER_NS + slept_ns * DURATION_PERCENT / 100;
            found++;
        }
    }
    if (!ss_gpu_needs_works(facts, claim)) {
        return;
    }
    if (found == 0) {
        ss_gpu_say(claim, SS_GPU_NOT_MEASURABLE, "no kernel that sleeps was recorded with times");
        return;
    }
    ss_gpu_say(claim, wrong == 0 ? SS_GPU_HOLDS : SS_GPU_FAILS,
               "%u of %u kernels that sleep 20 us, 200 us and 2 ms are recorded with what they "
               "measured themselves, %+.1f to %+.1f us",
               found - wrong, found, ss_gpu_us(least_ns), ss_gpu_us(most_ns));
    if (wrong > 0) {
        ss_gpu_fix(claim, "durations are wrong on this machine: compare with Nsight Systems, and "
                          "try another CUPTI (STEPSCOPE_CUPTI)");
    }
}

static void claim_correlation(const struct ss_gpu_facts *facts, struct ss_gpu_claim *claim)
{
    const struct ss_gpu_sheet *sheet = &facts->runs[SS_GPU_RUN_RECORDED].sheet;
    unsigned found = 0, right = 0;
    for (unsigned i = 0; i < SS_GPU_NUMBERED; i++) {
        const struct ss_gpu_kernel_work *kernel =
            find_kernel(&facts->recorded, SS_GPU_KERNEL_EMPTY, i + 1);
        const struct ss_gpu_span *call = &sheet->numbered[i];
        if (kernel != NULL) {
            right += kernel->launch.begin_ns + LAUNCH_NS >= call->begin_ns &&
                     kernel->launch.end_ns <= call->end_ns + LAUNCH_NS;
            found++;
        }
    }
    if (!ss_gpu_needs_works(facts, claim)) {
        return;
    }
    if (found == 0) {
        ss_gpu_say(claim, SS_GPU_NOT_MEASURABLE, "no numbered kernel was recorded with times");
        return;
    }
    ss_gpu_say(claim, right == found ? SS_GPU_HOLDS : SS_GPU_FAILS,
               "%u of %u kernels belong to the call that launched them", right, found);
    if (right < found) {
        ss_gpu_fix(claim, "lines of Python and operators of kernels are wrong on this machine: "
                          "record with --gpu full, and try another CUPTI (STEPSCOPE_CUPTI)");
    }
}

/* --- bytes ------------------------------------------------------------------------------------ */

static const struct {
    const char *name, *from, *to;
} copies[SS_GPU_COPIES] = {
    [SS_GPU_COPY_PINNED_TO_DEVICE] = {"from pinned memory", "pinned", "device"},
    [SS_GPU_COPY_DEVICE_TO_PINNED] = {"to pinned memory", "device", "pinned"},
    [SS_GPU_COPY_PAGEABLE_TO_DEVICE] = {"from pageable memory", "pageable", "device"},
    [SS_GPU_COPY_ON_DEVICE] = {"within the device", "device", "device"},
    [SS_GPU_MEMSET] = {"of a memset", "", ""},
};

static bool has_copy(const struct ss_gpu_recorded *recorded, size_t which)
{
    for (size_t i = 0; i < recorded->copies.count; i++) {
        const struct ss_gpu_copy_work *copy = &recorded->copies.data[i];
        bool is_set = which == SS_GPU_MEMSET;
        bool is_of_memories =
            strcmp(copy->from, copies[which].from) == 0 && strcmp(copy->to, copies[which].to) == 0;
        if (copy->bytes == ss_gpu_copy_bytes[which] && copy->is_set == is_set &&
            (is_set || is_of_memories)) {
            return true;
        }
    }
    return false;
}

static void claim_bytes(const struct ss_gpu_facts *facts, struct ss_gpu_claim *claim)
{
    const struct ss_gpu_recorded *recorded = &facts->recorded;
    unsigned right = 0;
    const char *missing = "";
    for (size_t i = 0; i < SS_GPU_COPIES; i++) {
        bool is_there = has_copy(recorded, i);
        right += is_there;
        missing = is_there || missing[0] != '\0' ? missing : copies[i].name;
    }
    if (!ss_gpu_needs_works(facts, claim)) {
        return;
    }
    if (right == SS_GPU_COPIES) {
        ss_gpu_say(claim, SS_GPU_HOLDS,
                   "copies to, from and within the device and a memset have the bytes and the "
                   "kinds of memory that were asked for");
    } else if (recorded->dropped + recorded->refused > 0) {
        ss_gpu_say(claim, SS_GPU_NOT_MEASURABLE,
                   "%u of %d copies and memsets have their bytes; records were lost", right,
                   SS_GPU_COPIES);
    } else {
        ss_gpu_say(claim, SS_GPU_FAILS,
                   "%u of %d copies and memsets have their bytes and kinds of memory: the one %s "
                   "does not",
                   right, SS_GPU_COPIES, missing);
        ss_gpu_fix(claim, "tables of copies are wrong on this machine: try another CUPTI "
                          "(STEPSCOPE_CUPTI)");
    }
}

/* --- rates ------------------------------------------------------------------------------------ */

/* The durations of the two kernels with this grid, in their order. false: they are not there. */
static bool find_pair(const struct ss_gpu_facts *facts, enum ss_gpu_kernel kind, uint64_t blocks,
                      double seconds[SS_GPU_PAIR], struct ss_gpu_claim *claim)
{
    size_t count = 0;
    for (size_t i = 0; i < facts->recorded.kernels[kind].count; i++) {
        const struct ss_gpu_kernel_work *kernel = &facts->recorded.kernels[kind].data[i];
        if (kernel->blocks == blocks && count < SS_GPU_PAIR) {
            seconds[count++] = (double)(kernel->span.end_ns - kernel->span.begin_ns) / 1e9;
        }
    }
    if (!ss_gpu_needs_works(facts, claim)) {
        return false;
    }
    bool is_there = count == SS_GPU_PAIR && seconds[0] > 0 && seconds[1] > 0;
    if (!is_there) {
        ss_gpu_say(claim, SS_GPU_NOT_MEASURABLE, "%zu of its %d kernels were recorded with times",
                   count, SS_GPU_PAIR);
    }
    return is_there;
}

static void claim_bandwidth(const struct ss_gpu_facts *facts, struct ss_gpu_claim *claim)
{
    const struct ss_gpu_sheet *sheet = &facts->runs[SS_GPU_RUN_RECORDED].sheet;
    double seconds[SS_GPU_PAIR];
    if (!find_pair(facts, SS_GPU_KERNEL_COPY, SS_GPU_COPY_BLOCKS * (uint64_t)sheet->multiprocessors,
                   seconds, claim)) {
        return;
    }
    double gb_s = (double)sheet->copy_bytes[1] / seconds[1] / 1e9;
    double peak_gb_s = EDGES_OF_A_BIT_CLOCK * (double)sheet->memory_clock_khz * 1e3 *
                       sheet->memory_bus_bits / 8 / 1e9;
    double ratio = seconds[1] / seconds[0];
    bool is_possible = peak_gb_s <= 0 || gb_s <= peak_gb_s * above_peak;
    bool is_even = ratio >= least_ratio && ratio <= most_ratio;
    char peak[64] = "whose peak the driver does not say";
    if (peak_gb_s > 0) {
        snprintf(peak, sizeof peak, "of at most %.0f GB/s", peak_gb_s);
    }
    ss_gpu_say(
        claim, is_possible && is_even ? SS_GPU_HOLDS : SS_GPU_FAILS,
        "a kernel that copies %.0f MB took %.1f us: %.0f GB/s, %s; half of it took 1/%.2f of "
        "the time",
        (double)sheet->copy_bytes[1] / 1e6, seconds[1] * 1e6, gb_s, peak, ratio);
    if (!is_possible || !is_even) {
        ss_gpu_fix(claim,
                   "no kernel can do that: durations are wrong; compare with Nsight Systems");
    }
}

/* Lanes of a multiprocessor for float32, at most. */
static int lanes_of(int capability)
{
    bool has_half = capability == 60 || (capability >= 70 && capability <= 80);
    return has_half ? 64 : 128;
}

static void claim_flops(const struct ss_gpu_facts *facts, struct ss_gpu_claim *claim)
{
    const struct ss_gpu_sheet *sheet = &facts->runs[SS_GPU_RUN_RECORDED].sheet;
    double seconds[SS_GPU_PAIR];
    if (!find_pair(facts, SS_GPU_KERNEL_FMA, SS_GPU_FMA_BLOCKS * (uint64_t)sheet->multiprocessors,
                   seconds, claim)) {
        return;
    }
    double tflops = (double)sheet->fma_flops[1] / seconds[1] / 1e12;
    double peak = 2.0 * lanes_of(sheet->capability) * sheet->multiprocessors *
                  (double)sheet->clock_khz * 1e3 / 1e12;
    double ratio = seconds[1] / seconds[0];
    double timer_s = (double)(sheet->fmas[1].end_ns - sheet->fmas[1].begin_ns) / 1e9;
    double clock_mhz = timer_s > 0 ? (double)sheet->fma_cycles[1] / timer_s / 1e6 : 0;
    bool is_possible = (peak <= 0 || tflops <= peak * above_peak) &&
                       clock_mhz <= sheet->clock_khz / 1e3 * above_peak;
    bool is_even = fabs(ratio - 2) <= 2 * fma_ratio;
    ss_gpu_say(
        claim, is_possible && is_even ? SS_GPU_HOLDS : SS_GPU_FAILS,
        "a kernel of %.1f GFLOP took %.1f us: %.2f TFLOP/s, of at most %.2f at %.0f MHz; its "
        "clock ran at %.0f MHz; half of it took 1/%.2f of the time",
        (double)sheet->fma_flops[1] / 1e9, seconds[1] * 1e6, tflops, peak, sheet->clock_khz / 1e3,
        clock_mhz, ratio);
    if (!is_possible) {
        ss_gpu_fix(claim,
                   "no kernel can do that: durations are wrong; compare with Nsight Systems");
    } else if (!is_even) {
        ss_gpu_fix(claim, "the clock changed between the two, or another program uses the device: "
                          "run it again on an idle device");
    }
}

/* --- the list --------------------------------------------------------------------------------- */

size_t ss_gpu_claims(const struct ss_gpu_facts *facts, struct ss_gpu_claim *claims)
{
    static const struct {
        const char *name;
        void (*judge)(const struct ss_gpu_facts *facts, struct ss_gpu_claim *claim);
    } rows[] = {
        {"driver", claim_driver},
        {"kernels", claim_kernels},
        {"collector", claim_collector},
        {"clock", claim_clock},
        {"order", claim_order},
        {"timer", claim_timer},
        {"durations", claim_durations},
        {"correlation", claim_correlation},
        {"bytes", claim_bytes},
        {"bandwidth", claim_bandwidth},
        {"flops", claim_flops},
        {"times", ss_gpu_claim_times},
        {"loss", ss_gpu_claim_loss},
        {"end", ss_gpu_claim_end},
        {"refused buffers", ss_gpu_claim_refused},
        {"flush", ss_gpu_claim_flush},
        {"overhead", ss_gpu_claim_overhead},
        {"launch", ss_gpu_claim_launch},
    };
    enum { ROWS = sizeof rows / sizeof *rows };
    _Static_assert((size_t)ROWS <= (size_t)SS_GPU_MOST_CLAIMS, "claims has room");
    for (size_t i = 0; i < ROWS; i++) {
        claims[i] = (struct ss_gpu_claim){.name = rows[i].name};
        if (i > 0 && claims[0].state == SS_GPU_FAILS) {
            ss_gpu_say(&claims[i], SS_GPU_NOT_MEASURABLE, "there is no device to use");
        } else {
            rows[i].judge(facts, &claims[i]);
        }
    }
    return ROWS;
}
