/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What all processes and sources of a recording share: where they write, the refs that they assign,
 * and the error that ends the recording. Owned by the recorder's thread.
 */
#ifndef SS_RECORD_PROCESSES_CONTEXT_H
#define SS_RECORD_PROCESSES_CONTEXT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "record/details/detail_budget.h"
#include "record/processes/process_observer.h"
#include "record/recording/event_names.h"
#include "record/recording/frame_table.h"
#include "record/recording/injection.h"
#include "record/recording/recording.h"
#include "source/python_sampler.h"

enum { SS_MOST_SAMPLED_DEVICES = 32 };

struct ss_record_context {
    const struct ss_clock *clock; /* NULL: the system's */
    struct ss_recording *recording;
    struct ss_frame_table *frames;
    struct ss_event_names names;
    struct ss_detail_budget detail;
    uint32_t python_source_ref, annotations_source_ref;
    uint32_t next_thread_ref;
    uint64_t forget_after_ns; /* no more records arrive for a process that ended so long ago */
    /* Assigned so far. */
    uint32_t track_refs, device_refs, stream_refs, context_refs, group_refs;
    char gpu_problem[256]; /* why a program's devices are not recorded; "": they are */
    char torch_route[64];  /* what loaded the hooks of PyTorch into a program; "": nothing */
    bool is_gpu_armed;     /* by a program that nothing was injected into */
    char gpu_samples_problem[320]; /* the same of the sampling of their counters */
    struct ss_sampled_device {
        char uuid[48];                  /* "": none */
        uint32_t series;                /* bits, by enum ss_sample_series */
    } sampled[SS_MOST_SAMPLED_DEVICES]; /* whose counters programs sample now */
    struct ss_process_observer observer;
    const struct ss_injection *injection;  /* what the program inherits; NULL: nothing */
    bool is_sampling;                      /* during a tick: no calls into samplers */
    bool keeps_secrets;                    /* command lines are not redacted */
    bool ticks_requested;                  /* all sources are to tick now */
    bool follows_schedule;                 /* every process is sampled only in windows */
    uint64_t samples;                      /* written: records, not ticks */
    struct ss_sampler_counts ended_counts; /* of ended processes */
    uint64_t python_processes;
    struct ss_error error; /* the writer's first; SS_OK: none */
};

/* Takes the outcome of a write: the first failure is the recording's error and ends it, later ones
 * have the same cause. `err` comes from the write; unused with SS_OK. */
void ss_record_context_check(struct ss_record_context *context, enum ss_status status,
                             const struct ss_error *err);

#endif
