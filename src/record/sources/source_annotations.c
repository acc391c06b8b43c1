/* SPDX-License-Identifier: Apache-2.0 */
/* The source "annotations": the rings of programs with libstepscope
 * (record/annotations/annotations.h). */
#include <stdio.h>

#include "base/alloc.h"
#include "base/log.h"
#include "record/annotations/annotations.h"
#include "record/sources/recorder.h"
#include "record/sources/source_registry.h"

static const char what[] = "rings of programs with libstepscope";

struct rings {
    struct ss_recorder *recorder;
    struct ss_record_annotations *annotations;
    char reason[SS_SOURCE_REASON_BYTES];
};

static bool follows_schedule(const struct ss_record_options *options)
{
    return options->schedule != NULL || options->window_name != NULL;
}

/* A recording by a schedule needs the steps that programs mark: its error. */
static void refuse_schedule(struct ss_record_context *context, const char *reason)
{
    struct ss_error err;
    enum ss_status status =
        ss_fail(&err, SS_E_UNSUPPORTED, "no schedule can be followed here: %s", reason);
    ss_record_context_check(context, status, &err);
}

static enum ss_source_state describe(struct rings *rings, const char *problem)
{
    const char *elsewhere = ss_record_annotations_skipped_roots(rings->annotations);
    if (problem[0] != '\0') {
        snprintf(rings->reason, sizeof rings->reason, "%s", problem);
        if (follows_schedule(rings->recorder->options)) {
            refuse_schedule(&rings->recorder->context, problem);
        } else {
            ss_log(SS_WARN, "record", "no annotations, nor steps of PyTorch: %s", problem);
        }
        return SS_SOURCE_NOT_AVAILABLE;
    }
    snprintf(rings->reason, sizeof rings->reason, "%s%s%s", what,
             elsewhere[0] != '\0' ? ", in a fallback directory: " : "", elsewhere);
    return SS_SOURCE_RUNS;
}

static enum ss_source_state start(const struct ss_source_setup *setup, void **source, char *reason)
{
    struct ss_recorder *recorder = setup->recorder;
    const struct ss_record_options *options = recorder->options;
    char problem[SS_ANNOTATIONS_REASON_BYTES];
    recorder->context.annotations_source_ref = setup->source_ref;
    recorder->ring_directory = "";
    if (options->attach_pid == 0 && !options->inject) {
        snprintf(reason, SS_SOURCE_REASON_BYTES, "--no-inject");
        return SS_SOURCE_NOT_REQUESTED;
    }
    struct rings *rings = ss_alloc_zero(1, sizeof *rings);
    rings->recorder = recorder;
    rings->annotations = ss_record_annotations_open(
        &recorder->context, options, &recorder->torch_profiles, &recorder->device_totals, problem);
    recorder->annotations = rings->annotations;
    recorder->ring_directory = ss_record_annotations_ring_directory(rings->annotations);
    *source = rings;
    enum ss_source_state state = describe(rings, problem);
    snprintf(reason, SS_SOURCE_REASON_BYTES, "%s", rings->reason);
    return state;
}

static int fd(const void *source)
{
    const struct rings *rings = source;
    return ss_record_annotations_fd(rings->annotations);
}

static void program_created(void *source, uint64_t now_ns)
{
    struct rings *rings = source;
    ss_record_annotations_begin(rings->annotations, rings->recorder->processes, now_ns);
}

static void ready(void *source, uint64_t now_ns)
{
    struct rings *rings = source;
    ss_record_annotations_poll(rings->annotations, now_ns);
}

static uint64_t drain(void *source, uint64_t now_ns, uint64_t until_ns)
{
    struct rings *rings = source;
    uint64_t due_ns = ss_record_annotations_drain(rings->annotations, now_ns, until_ns);
    if (ss_record_annotations_wants_flush(rings->annotations)) {
        rings->recorder->flush_requested = true;
    }
    return due_ns;
}

static void publish(const struct rings *rings)
{
    struct ss_record_figures *figures = rings->recorder->figures;
    struct ss_record_windows windows;
    ss_record_annotations_get_windows(rings->annotations, &windows);
    figures->windows = windows.windows;
    figures->partial_windows = windows.partial;
    figures->marked_steps = windows.steps;
    figures->most_steps = windows.most_steps;
}

static void flush(void *source, uint64_t now_ns, bool whole)
{
    struct rings *rings = source;
    (void)whole;
    ss_record_annotations_flush(rings->annotations, now_ns);
    publish(rings);
}

static void written(void *source)
{
    struct rings *rings = source;
    if (ss_record_annotations_wants_flush(rings->annotations)) {
        ss_record_annotations_flushed(rings->annotations);
    }
}

/* Processes that started since the last poll may have rings. */
static enum ss_source_state stop(void *source, uint64_t now_ns, char *reason)
{
    struct rings *rings = source;
    if (rings->recorder->processes != NULL) { /* else the program was never created */
        ss_process_table_poll(rings->recorder->processes, now_ns);
        ss_record_annotations_end(rings->annotations, now_ns);
    }
    publish(rings);
    snprintf(reason, SS_SOURCE_REASON_BYTES, "%s", rings->reason);
    return ss_record_annotations_fd(rings->annotations) >= 0 ? SS_SOURCE_RUNS
                                                             : SS_SOURCE_NOT_AVAILABLE;
}

/* Live processes get notices of the files that are finished last. */
static void release(void *source)
{
    struct rings *rings = source;
    rings->recorder->annotations = NULL;
    ss_record_annotations_close(rings->annotations);
    ss_free(rings);
}

const struct ss_source_ops ss_source_annotations = {
    .name = "annotations",
    .summary = what,
    .starts_first = true,
    .start = start,
    .program_created = program_created,
    .fd = fd,
    .ready = ready,
    .drain = drain,
    .flush = flush,
    .written = written,
    .stop = stop,
    .release = release,
};
