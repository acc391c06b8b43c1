/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The activity of a sample's code (copying, sleeping, decoding images…) and what makes it cheaper:
 * rows of activities.def. Of the frames between the innermost line of user code and the leaf, the
 * outermost with a row decides: json.dump stays serialisation while it writes a file. Without such
 * frames the source line decides, since functions in C have no frames, and for a sleeping thread
 * its kernel wait. Borrows the model and the source; owned by one thread.
 */
#ifndef SS_ANALYSIS_SAMPLES_ACTIVITIES_H
#define SS_ANALYSIS_SAMPLES_ACTIVITIES_H

#include "analysis/samples/line_times.h"

#define SS_ACTIVITY(id, is_wait, text, cure) SS_ACTIVITY_##id,
enum ss_activity {
    SS_ACTIVITY_NOTHING, /* not in the table */
#include "analysis/samples/activities.def"
    SS_ACTIVITY_COUNT
};

struct ss_activities {
    const struct ss_model *model;
    const struct ss_source_lines *source;
    /* Caches by frame; 0: unknown, else 1 + the activity. Library frames are in `computing`; lines
     * of user code in `computing` or `sleeping`, by the state of their thread. */
    uint8_t *computing, *sleeping;
};

/* `source`, or its function, may be NULL: then source lines are unknown. */
void ss_activities_init(struct ss_activities *activities, const struct ss_model *model,
                        const struct ss_source_lines *source);
void ss_activities_fini(struct ss_activities *activities);

/* `state` and `gil` are those of the sample; UNKNOWN where they are not recorded. */
enum ss_activity ss_activity_of_stack(struct ss_activities *activities, uint32_t stack,
                                      enum ss_thread_state state, enum ss_gil_state gil);
/* The same, refined by the kernel wait of a sleeping thread. */
enum ss_activity ss_activity_of_total(struct ss_activities *activities,
                                      const struct ss_model_total *total);
/* Whether a module is being imported, by whatever is on the stack: it is, once. */
bool ss_activity_imports(struct ss_activities *activities, uint32_t stack);

/* Completes "goes into …"; "" for NOTHING. */
const char *ss_activity_text(enum ss_activity activity);
/* NULL: there is no general fix. */
const char *ss_activity_fix(enum ss_activity activity);
/* A thread in this activity mostly waits: it needs no core meanwhile. */
bool ss_activity_is_wait(enum ss_activity activity);

/* Samples of a line or a phase by activity. */
struct ss_activity_counts {
    uint64_t samples[SS_ACTIVITY_COUNT];
    uint64_t all;
};
void ss_activity_count(struct ss_activity_counts *counts, enum ss_activity activity,
                       uint64_t samples);
/* The activity of at least half of the samples; NOTHING: there is none. */
enum ss_activity ss_activity_majority(const struct ss_activity_counts *counts);

#endif
