/* SPDX-License-Identifier: Apache-2.0 */
/* One sample for each tick of a record: their times, by thread. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "sample_recording.h"
#include "trace/ticks.h"

enum { MOST = 16 };

static struct {
    uint64_t times_ns[MOST]; /* since RECORDING_START */
    uint32_t threads[MOST], weights[MOST];
    size_t count;
} seen;

static enum ss_status on_sample(void *context, const struct ss_trace_sample *sample)
{
    (void)context;
    assert_true(seen.count < MOST);
    seen.times_ns[seen.count] = sample->time_ns - RECORDING_START;
    seen.threads[seen.count] = sample->thread_ref;
    seen.weights[seen.count++] = sample->weight;
    return SS_OK;
}

static void put(struct ss_trace_writer *writer, struct ss_newest_samples *newest, uint64_t time_ns,
                uint32_t thread, uint32_t weight)
{
    struct ss_trace_sample sample = {.time_ns = RECORDING_START + time_ns,
                                     .thread_ref = thread,
                                     .stack_ref = 1,
                                     .weight = weight,
                                     .step = -1};
    MUST(ss_ticks_write(writer, newest, &sample, must_err));
}

static void ticks_are_spread_over_the_time_since_the_last_sample_of_the_thread(void **state)
{
    (void)state;
    static const uint64_t times_ns[] = {1000, 1250, 1400, 1400, 1500, 1750, 2000};
    static const uint32_t threads[] = {1, 1, 2, 2, 1, 1, 1};
    const char *path = recording_path("ticks");
    struct ss_trace_writer *writer = recording_open(path);
    struct ss_newest_samples newest = {0};
    put(writer, &newest, 1000, 1, 1);
    put(writer, &newest, 1400, 2, 1);
    put(writer, &newest, 2000, 1, 4);
    put(writer, &newest, 1400, 2, 1); /* no time has passed */
    MUST(ss_trace_writer_close(writer, must_err));
    ss_vec_fini(&newest);
    struct ss_trace_visitor visitor = {.sample = on_sample};
    struct ss_trace_summary summary;
    memset(&seen, 0, sizeof seen);
    MUST(ss_trace_read(path, &visitor, NULL, &summary, must_err));
    unlink(path);
    assert_int_equal(seen.count, sizeof times_ns / sizeof *times_ns);
    for (size_t i = 0; i < seen.count; i++) {
        assert_int_equal(seen.times_ns[i], times_ns[i]);
        assert_int_equal(seen.threads[i], threads[i]);
        assert_int_equal(seen.weights[i], 1);
    }
}

static void a_record_of_too_many_is_refused(void **state)
{
    (void)state;
    const char *path = recording_path("ticks");
    struct ss_trace_writer *writer = recording_open(path);
    struct ss_newest_samples newest = {0};
    struct ss_trace_sample sample = {
        .time_ns = RECORDING_START, .thread_ref = 1, .weight = 1000001, .step = -1};
    struct ss_error err = {0};
    assert_int_equal(ss_ticks_write(writer, &newest, &sample, &err), SS_E_LIMIT);
    assert_string_equal(err.message, "a record stands for 1000001 samples, more than 1000000");
    MUST(ss_trace_writer_close(writer, must_err));
    ss_vec_fini(&newest);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ticks_are_spread_over_the_time_since_the_last_sample_of_the_thread),
        cmocka_unit_test(a_record_of_too_many_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
