/* SPDX-License-Identifier: Apache-2.0 */
/* The export for older viewers is a trace as well: its samples are read, a tick each. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "sample_recording.h"
#include "trace/rewrite.h"

struct seen {
    int32_t tids[RECORDING_THREADS + 1];     /* by ref */
    uint64_t ticks[RECORDING_THREADS + 1];   /* by thread of the recording */
    uint64_t stacked[RECORDING_THREADS + 1]; /* those with a stack */
};

static enum ss_status on_thread(void *context, const struct ss_trace_thread *thread)
{
    struct seen *seen = context;
    assert_in_range(thread->ref, 1, RECORDING_THREADS);
    seen->tids[thread->ref] = thread->tid;
    return SS_OK;
}

static enum ss_status on_sample(void *context, const struct ss_trace_sample *sample)
{
    struct seen *seen = context;
    assert_in_range(sample->thread_ref, 1, RECORDING_THREADS);
    int32_t number = seen->tids[sample->thread_ref] - 2000;
    assert_in_range(number, 1, RECORDING_THREADS);
    assert_int_equal(sample->weight, 1);
    seen->ticks[number]++;
    seen->stacked[number] += sample->stack_ref != 0;
    return SS_OK;
}

static void test_every_tick_is_read(void **state)
{
    (void)state;
    static const struct ss_trace_visitor visitor = {.thread = on_thread, .sample = on_sample};
    const struct recording recording = {.seconds = 2, .rate_hz = 50};
    struct seen seen = {0};
    char in[512], out[512];
    snprintf(in, sizeof in, "%s", recording_path("whole"));
    snprintf(out, sizeof out, "%s", recording_path("whole-compat"));
    recording_write(&recording, in);
    MUST(ss_trace_export_compat(in, out, 0, must_err));
    struct ss_trace_summary summary;
    MUST(ss_trace_read(out, &visitor, &seen, &summary, must_err));
    uint64_t ticks[RECORDING_THREADS + 1] = {0}, stacked[RECORDING_THREADS + 1] = {0}, all = 0;
    for (uint32_t i = 0; i < recording.seconds * recording.rate_hz; i++) {
        struct ss_trace_sample sample = recording_sample(&recording, i);
        ticks[sample.thread_ref] += sample.weight;
        stacked[sample.thread_ref] += sample.stack_ref != 0 ? sample.weight : 0;
        all += sample.weight;
    }
    for (int i = 1; i <= RECORDING_THREADS; i++) {
        assert_int_equal(seen.ticks[i], ticks[i]);
        assert_int_equal(seen.stacked[i], stacked[i]);
    }
    assert_int_equal(summary.samples, all);
    assert_int_equal(summary.lost_samples, 0);
    unlink(in);
    unlink(out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_every_tick_is_read)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
