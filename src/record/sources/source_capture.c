/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The source "capture": opens and closes windows by the time, or at signals. Ranges and calls open
 * windows in the program (base/capture.h). After the last window, it ends the program where that is
 * asked for.
 */
#include <signal.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/capture.h"
#include "base/clock.h"
#include "base/log.h"
#include "record/annotations/annotation_captures.h"
#include "record/run/options.h"
#include "record/run/shared.h"
#include "record/sources/recorder.h"
#include "record/sources/source_registry.h"

static const char what[] = "windows by time and signal";
static const uint64_t period_ns = UINT64_C(20000000);
/* After the last window of one process, others may be about to open theirs. */
static const uint64_t settled_ns = UINT64_C(500000000);

struct capture {
    struct ss_recorder *recorder;
    const struct ss_capture *options;
    uint64_t begin_ns; /* of the recording; 0: not yet */
    uint64_t all_ns;   /* since when all windows are over; 0: they are not */
    uint32_t signals;  /* followed so far */
    uint32_t windows;  /* opened so far */
    bool is_open, has_ended_program;
};

/* By the time: whether a window is to be open, and when that changes. */
static bool is_due(const struct capture *capture, uint64_t now_ns, uint64_t *change_ns)
{
    const struct ss_capture *options = capture->options;
    uint64_t open_ns = capture->begin_ns + options->delay_ns;
    uint64_t close_ns = options->duration_ns > 0 && !options->stays_open
                            ? open_ns + options->duration_ns
                            : UINT64_MAX;
    *change_ns = now_ns < open_ns ? open_ns : now_ns < close_ns ? close_ns : UINT64_MAX;
    return now_ns >= open_ns && now_ns < close_ns;
}

/* By signals: each opens a window, or closes the open one. One a tick, so that no window is empty.
 */
static bool is_switched_on(struct capture *capture)
{
    const struct ss_capture *options = capture->options;
    if (capture->signals == capture->recorder->capture_signals) {
        return capture->is_open;
    }
    capture->signals++;
    bool may_open = options->most == 0 || capture->windows < options->most;
    capture->windows += !capture->is_open && may_open;
    return capture->is_open ? options->stays_open : may_open;
}

/* Processes may have opened no window of a time: they started later, or do not mark anything. */
static bool is_over(const struct capture *capture, uint64_t now_ns)
{
    const struct ss_capture *options = capture->options;
    uint64_t change_ns;
    bool is_ours = options->by == SS_CAPTURE_BY_TIME || options->by == SS_CAPTURE_BY_SIGNAL;
    bool has_closed = options->by == SS_CAPTURE_BY_TIME
                          ? !is_due(capture, now_ns, &change_ns) && change_ns == UINT64_MAX
                          : !capture->is_open && capture->windows >= options->most;
    return (!is_ours || has_closed) &&
           ss_annotations_captured_all(capture->recorder->annotations, is_ours ? 0 : options->most);
}

static void end_program_when_over(struct capture *capture, uint64_t now_ns)
{
    struct ss_recorder *recorder = capture->recorder;
    if (!is_over(capture, now_ns)) {
        capture->all_ns = 0;
    } else if (capture->all_ns == 0) {
        capture->all_ns = now_ns;
    } else if (now_ns - capture->all_ns >= settled_ns && recorder->program > 0 &&
               !capture->has_ended_program) {
        capture->has_ended_program = true;
        recorder->figures->has_ended_program = kill(recorder->program, SIGTERM) == 0;
    }
}

static uint64_t on_tick(void *source, uint64_t now_ns)
{
    struct capture *capture = source;
    struct ss_record_annotations *annotations = capture->recorder->annotations;
    const enum ss_capture_by by = capture->options->by;
    uint64_t change_ns = UINT64_MAX;
    if (annotations == NULL || capture->recorder->processes == NULL) {
        return now_ns + period_ns;
    }
    capture->begin_ns = capture->begin_ns != 0 ? capture->begin_ns : now_ns;
    if (by == SS_CAPTURE_BY_TIME || by == SS_CAPTURE_BY_SIGNAL) {
        capture->is_open = by == SS_CAPTURE_BY_TIME ? is_due(capture, now_ns, &change_ns)
                                                    : is_switched_on(capture);
        ss_annotations_capture(annotations, capture->is_open, now_ns);
    }
    if (capture->options->ends_program) {
        end_program_when_over(capture, now_ns);
    }
    return change_ns < now_ns + period_ns ? change_ns : now_ns + period_ns;
}

static enum ss_source_state start(const struct ss_source_setup *setup, void **source, char *reason)
{
    struct ss_recorder *recorder = setup->recorder;
    const struct ss_record_options *options = recorder->options;
    if (options->capture == NULL) {
        snprintf(reason, SS_SOURCE_REASON_BYTES, "not requested (--capture)");
        return SS_SOURCE_NOT_REQUESTED;
    }
    struct capture *capture = ss_alloc_zero(1, sizeof *capture);
    capture->recorder = recorder;
    capture->options = options->capture;
    *source = capture;
    snprintf(reason, SS_SOURCE_REASON_BYTES, "%s", options->schedule_words);
    return SS_SOURCE_RUNS;
}

static void release(void *source)
{
    ss_free(source);
}

const struct ss_source_ops ss_source_capture = {
    .name = "capture", .summary = what, .start = start, .tick = on_tick, .release = release};
