/* SPDX-License-Identifier: Apache-2.0 */
/* Steps as the passes of measurements. */
#include "annot/process.h"
#include "annot/stamp.h"
#include "inject/cupti/counters_inside.h"

/* Of the thread that holds is_busy. */
static struct {
    bool is_open;    /* a pass runs */
    bool is_spoiled; /* and has more than one step, since a capture was open at its end */
    struct ss_device_metrics_message message;
} measured = {.message.step = -1};

static void end_pass(int64_t step)
{
    struct ss_error err = {0};
    bool is_complete = false;
    enum ss_status status = ss_counters_end_range(&is_complete, &err);
    measured.is_open = false;
    measured.message.end_ns = ss_stamp_monotonic_ns();
    measured.message.step = measured.message.step < 0 ? step : measured.message.step;
    if (status != SS_OK) {
        ss_counters_refuse(&err);
    } else if (measured.is_spoiled) {
        ss_range_profiler_restart(&ss_counters.ranges, SS_RANGES_BY_CALLER);
        measured.message = (struct ss_device_metrics_message){.step = -1};
    } else if (is_complete) {
        ss_counters_write(&measured.message);
        measured.message = (struct ss_device_metrics_message){.step = -1};
    }
    measured.is_spoiled = false;
}

static void begin_pass(void)
{
    struct ss_error err = {0};
    ss_counters_synchronise();
    ss_counters.hooks->measures(true);
    if (ss_range_profiler_begin(&ss_counters.ranges, &err) != SS_OK) {
        ss_counters_refuse(&err);
        ss_counters.hooks->measures(false);
        return;
    }
    measured.is_open = true;
    if (measured.message.begin_ns == 0) {
        measured.message.begin_ns = ss_stamp_monotonic_ns();
    }
}

/* The current step ends, the next begins. */
void ss_counters_on_step(int64_t step)
{
    if (ss_counters.has_ended || ss_counters.owner != (int)ss_process_pid() ||
        atomic_flag_test_and_set(&ss_counters.is_busy)) {
        return;
    }
    bool was_open = measured.is_open;
    if (!ss_captures_hold_off()) { /* a wait for the device would break the capture */
        measured.is_spoiled = was_open;
        ss_counters.seen++;
        atomic_flag_clear(&ss_counters.is_busy);
        return;
    }
    if (was_open) {
        end_pass(step);
    }
    ss_counters.seen++;
    bool may = !ss_counters.has_ended && ss_counters.seen > ss_counters.request.skip &&
               ss_counters.hooks->may_measure() && ss_counters_ready(SS_RANGES_BY_CALLER);
    if (may) {
        begin_pass();
    } else if (was_open) {
        ss_counters.hooks->measures(false);
    }
    ss_captures_allow();
    atomic_flag_clear(&ss_counters.is_busy);
}
