/* SPDX-License-Identifier: Apache-2.0 */
/* The source "torch-profiler": the outcome of the files that record/tracks/torch_profiles.c reads.
 */
#include <inttypes.h>
#include <stdio.h>

#include "record/sources/recorder.h"
#include "record/sources/source_registry.h"

static enum ss_source_state describe_windows(const struct ss_torch_profiles *profiles, char *reason)
{
    const size_t size = SS_SOURCE_REASON_BYTES;
    int used = snprintf(reason, size,
                        "%" PRIu64 " events of %" PRIu64 " %s in %" PRIu64
                        " %s; the program waited up to %.1f ms for each",
                        profiles->events, profiles->steps, profiles->steps == 1 ? "step" : "steps",
                        profiles->windows, profiles->windows == 1 ? "window" : "windows",
                        (double)profiles->longest_pause_ns / 1e6);
    if (profiles->left_out > 0) {
        used +=
            snprintf(reason + used, size - (size_t)used,
                     "; %" PRIu64 " more exceeded the limit and were left out", profiles->left_out);
    }
    if (profiles->problem[0] != '\0') {
        snprintf(reason + used, size - (size_t)used, "; %s", profiles->problem);
    }
    return SS_SOURCE_RUNS;
}

/* A program may write windows that were not requested: where its operators cannot be recorded. */
static enum ss_source_state describe(const struct ss_torch_profiles *profiles, char *reason)
{
    if (profiles->windows > 0) {
        return describe_windows(profiles, reason);
    }
    if (profiles->is_wanted || profiles->problem[0] != '\0') {
        snprintf(reason, SS_SOURCE_REASON_BYTES, "%s",
                 profiles->problem[0] != '\0'
                     ? profiles->problem
                     : "no window was finished: no program reached its steps "
                       "(\"stepscope report --by step\" "
                       "lists those that ran), or it ended within them");
        return SS_SOURCE_NOT_AVAILABLE;
    }
    snprintf(reason, SS_SOURCE_REASON_BYTES, "%s",
             profiles->is_refused ? "--no-torch" : "not requested (--torch-profiler)");
    return SS_SOURCE_NOT_REQUESTED;
}

/* The file of a window is complete before the source stops. */
static void write_outcome(struct ss_torch_profiles *profiles)
{
    char reason[SS_SOURCE_REASON_BYTES];
    struct ss_error err = {0};
    if (describe(profiles, reason) == SS_SOURCE_RUNS) {
        struct ss_trace_source record = {.ref = profiles->source_ref,
                                         .name = ss_strview_of(ss_source_torch_profiler.name),
                                         .status = SS_SOURCE_RAN,
                                         .reason = ss_strview_of(reason)};
        ss_record_context_check(profiles->context,
                                ss_recording_source(profiles->context->recording, &record, &err),
                                &err);
    }
}

static enum ss_source_state start(const struct ss_source_setup *setup, void **source, char *reason)
{
    struct ss_recorder *recorder = setup->recorder;
    const struct ss_record_options *options = recorder->options;
    struct ss_torch_profiles *profiles = &recorder->torch_profiles;
    *profiles =
        (struct ss_torch_profiles){.context = &recorder->context, .is_refused = options->no_torch};
    profiles->source_ref = setup->source_ref;
    profiles->changed = write_outcome;
    profiles->is_wanted = options->torch_profiler && !options->no_torch;
    *source = profiles;
    return describe(profiles, reason);
}

static enum ss_source_state stop(void *source, uint64_t now_ns, char *reason)
{
    (void)now_ns;
    return describe(source, reason);
}

const struct ss_source_ops ss_source_torch_profiler = {
    .name = "torch-profiler",
    .summary = "files of torch.profiler that programs write in their steps",
    .starts_first = true,
    .start = start,
    .stop = stop,
};
