/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/doctor/doctor_gpu_claims_inside.h"

#include <inttypes.h>
#include <string.h>

/* Limits. */
enum {
    FLUSH_MS = 200, /* beside what the program's own end takes */
    LOOP_PERCENT = 2,
    LOOP_NS = 500000, /* less is the host's scheduling */
    LAUNCH_NS = 5000
};

/* --- losses ----------------------------------------------------------------------------------- */

/* Kernels that were launched and have no record with times. */
struct missing {
    uint64_t launched, early, last; /* early: launched before the pause; last: after it */
};

static struct missing count_missing(const struct ss_gpu_facts *facts)
{
    uint64_t launched = facts->runs[SS_GPU_RUN_RECORDED].sheet.launched;
    uint64_t kernels = ss_gpu_recorded_kernels(&facts->recorded);
    uint64_t last = ss_gpu_recorded_count(&facts->recorded, SS_GPU_KERNEL_EMPTY, SS_GPU_LAST_GRID);
    struct missing missing = {.launched = launched,
                              .last = last < SS_GPU_LAST ? SS_GPU_LAST - last : 0};
    uint64_t all = kernels < launched ? launched - kernels : 0;
    missing.early = all > missing.last ? all - missing.last : 0;
    return missing;
}

void ss_gpu_claim_times(const struct ss_gpu_facts *facts, struct ss_gpu_claim *claim)
{
    const struct ss_gpu_recorded *recorded = &facts->recorded;
    if (!ss_gpu_needs_works(facts, claim)) {
        return;
    }
    if (recorded->untimed == 0) {
        ss_gpu_say(claim, SS_GPU_HOLDS, "all %" PRIu64 " kernels that were recorded have times",
                   ss_gpu_recorded_kernels(recorded));
        return;
    }
    ss_gpu_say(claim, SS_GPU_FAILS,
               "%" PRIu64 " works have no times: the device had no buffer left for them",
               recorded->untimed);
    ss_gpu_fix(claim, "leave more memory of the device free, or record fewer works at a time "
                      "(--schedule)");
}

void ss_gpu_claim_loss(const struct ss_gpu_facts *facts, struct ss_gpu_claim *claim)
{
    const struct ss_gpu_recorded *recorded = &facts->recorded;
    struct missing missing = count_missing(facts);
    if (!ss_gpu_needs_works(facts, claim)) {
        return;
    }
    uint64_t counted = recorded->dropped + recorded->refused + recorded->lost_messages +
                       recorded->unlaunched + recorded->lost_launches;
    if (recorded->untimed > 0) {
        ss_gpu_say(claim, SS_GPU_NOT_MEASURABLE, "kernels have no times: see \"times\"");
    } else if (missing.early == 0 && recorded->dropped + recorded->refused == 0) {
        ss_gpu_say(claim, SS_GPU_HOLDS,
                   "each of %" PRIu64 " kernels was recorded once, %d of them launched in a burst",
                   missing.launched - missing.last, SS_GPU_BURST);
    } else if (counted >= missing.early) {
        ss_gpu_say(claim, SS_GPU_FAILS,
                   "%" PRIu64 " of %" PRIu64 " kernels were not recorded; counted: %" PRIu64
                   " launches without a kernel, %" PRIu64 " records dropped by CUPTI, %" PRIu64
                   " buffers refused, %" PRIu64 " records lost at the end",
                   missing.early + missing.last, missing.launched, recorded->unlaunched,
                   recorded->dropped, recorded->refused, recorded->lost_messages);
        ss_gpu_fix(claim, "record fewer works at a time: --schedule, or --gpu light");
    } else {
        ss_gpu_say(claim, SS_GPU_FAILS,
                   "%" PRIu64 " of %" PRIu64 " kernels were not recorded, and only %" PRIu64
                   " are counted as lost",
                   missing.early + missing.last, missing.launched, counted);
        ss_gpu_fix(claim, "sums of kernels are too small on this machine: try another CUPTI "
                          "(STEPSCOPE_CUPTI)");
    }
}

void ss_gpu_claim_end(const struct ss_gpu_facts *facts, struct ss_gpu_claim *claim)
{
    struct missing missing = count_missing(facts);
    if (!ss_gpu_needs_works(facts, claim)) {
        return;
    }
    if (missing.last == 0) {
        ss_gpu_say(claim, SS_GPU_HOLDS,
                   "the %d kernels that were launched just before the program ended are recorded",
                   SS_GPU_LAST);
    } else if (missing.early > 0) {
        ss_gpu_say(claim, SS_GPU_NOT_MEASURABLE,
                   "records are missing of the whole program: see \"loss\" and \"times\"");
    } else {
        ss_gpu_say(claim, SS_GPU_FAILS,
                   "%" PRIu64 " of the %d kernels that were launched just before the program ended "
                   "are missing, and all earlier ones are there: CUPTI returns records late",
                   missing.last, SS_GPU_LAST);
        ss_gpu_fix(claim, "let the program live a second longer than its work, or end the "
                          "recording's window before (--schedule)");
    }
}

void ss_gpu_claim_refused(const struct ss_gpu_facts *facts, struct ss_gpu_claim *claim)
{
    const struct ss_gpu_run *run = &facts->runs[SS_GPU_RUN_ONE_BUFFER];
    const struct ss_gpu_recorded *recorded = &facts->one_buffer;
    if (!ss_gpu_needs_works(facts, claim)) {
        return;
    }
    if (!run->sheet.has_ended) {
        char end[96];
        ss_gpu_describe_end(run, end, sizeof end);
        ss_gpu_say(claim, SS_GPU_FAILS, "%s when a buffer was refused to CUPTI%s%s%s", end,
                   run->message[0] != '\0' ? " (" : "", run->message,
                   run->message[0] != '\0' ? ")" : "");
        ss_gpu_fix(claim,
                   "use another CUPTI (STEPSCOPE_CUPTI); with this one record few works at a "
                   "time (--schedule), so that its buffers suffice");
        return;
    }
    uint64_t kernels = ss_gpu_recorded_kernels(recorded) + recorded->untimed;
    uint64_t missing = kernels < run->sheet.launched ? run->sheet.launched - kernels : 0;
    uint64_t counted = recorded->unlaunched + recorded->lost_launches;
    if (recorded->refused == 0) {
        ss_gpu_say(claim, SS_GPU_NOT_MEASURABLE, "CUPTI asked for no second buffer in %d launches",
                   SS_GPU_LONG_BURST);
    } else if (missing > counted) {
        ss_gpu_say(claim, SS_GPU_FAILS,
                   "with one buffer, %" PRIu64 " of %" PRIu64 " kernels are missing, and only "
                   "%" PRIu64 " of them are counted",
                   missing, run->sheet.launched, counted);
        ss_gpu_fix(claim, "do not rely on the counts of losses on this machine");
    } else {
        ss_gpu_say(claim, SS_GPU_HOLDS,
                   "with one buffer, %" PRIu64 " buffers were refused, and each of the %" PRIu64
                   " missing kernels is counted",
                   recorded->refused, missing);
    }
}

/* --- costs ------------------------------------------------------------------------------------ */

static int64_t end_ns(const struct ss_gpu_sheet *sheet)
{
    return (int64_t)(sheet->exit_ns - sheet->works_end_ns);
}

void ss_gpu_claim_flush(const struct ss_gpu_facts *facts, struct ss_gpu_claim *claim)
{
    const struct ss_gpu_sheet *alone = &facts->runs[SS_GPU_RUN_ALONE].sheet;
    const struct ss_gpu_sheet *recorded = &facts->runs[SS_GPU_RUN_RECORDED].sheet;
    double took_ms = (double)(end_ns(recorded) - end_ns(alone)) / 1e6;
    if (!ss_gpu_needs_works(facts, claim)) {
        return;
    }
    bool is_quick = took_ms <= FLUSH_MS;
    ss_gpu_say(claim, is_quick ? SS_GPU_HOLDS : SS_GPU_FAILS,
               "the end of the program waits %.0f ms for the last records%s", took_ms,
               is_quick ? "" : ": CUPTI is slow to return its buffers");
    if (!is_quick) {
        ss_gpu_fix(claim, "none for the program's end; its steps do not wait, as buffers are "
                          "returned on a thread of stepscope's");
    }
}

void ss_gpu_claim_overhead(const struct ss_gpu_facts *facts, struct ss_gpu_claim *claim)
{
    double alone_ns = (double)facts->runs[SS_GPU_RUN_ALONE].sheet.loop_ns;
    double recorded_ns = (double)facts->runs[SS_GPU_RUN_RECORDED].sheet.loop_ns;
    if (!ss_gpu_needs_works(facts, claim)) {
        return;
    }
    double percent = alone_ns > 0 ? (recorded_ns - alone_ns) * 100 / alone_ns : 0;
    bool is_small = percent <= LOOP_PERCENT || recorded_ns - alone_ns <= LOOP_NS;
    ss_gpu_say(claim, is_small ? SS_GPU_HOLDS : SS_GPU_FAILS,
               "a loop of kernels of %d us takes %+.2f %% time when it is recorded",
               SS_GPU_LOOP_NS / 1000, percent);
    if (!is_small) {
        ss_gpu_fix(claim, "run it again on an idle machine; if it stays, record with --gpu light, "
                          "or in windows (--schedule)");
    }
}

void ss_gpu_claim_launch(const struct ss_gpu_facts *facts, struct ss_gpu_claim *claim)
{
    int64_t alone_ns = (int64_t)facts->runs[SS_GPU_RUN_ALONE].sheet.launch_ns;
    int64_t recorded_ns = (int64_t)facts->runs[SS_GPU_RUN_RECORDED].sheet.launch_ns;
    if (!ss_gpu_needs_works(facts, claim)) {
        return;
    }
    bool is_small = recorded_ns - alone_ns <= LAUNCH_NS;
    ss_gpu_say(claim, is_small ? SS_GPU_HOLDS : SS_GPU_FAILS,
               "a launch takes %.2f us, and %+.2f us more when it is recorded (medians of %d)",
               ss_gpu_us(alone_ns), ss_gpu_us(recorded_ns - alone_ns), SS_GPU_TIMED);
    if (!is_small) {
        ss_gpu_fix(claim, "run it again on an idle machine; if it stays, programs with many short "
                          "kernels are slowed down: record them in windows (--schedule)");
    }
}
