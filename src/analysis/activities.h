/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the code of a sample does (copying, sleeping, decoding images…), and what makes it cheaper:
 * rows of activities.def. The frames between the line of your own code next to the leaf and the
 * leaf decide, the outermost that has a row first: json.dump stays serialisation while it writes a
 * file. Where there are none, the line itself: functions in C have no frames, but its source names
 * them, and the call of the kernel that a sleeping thread is in. Borrows the model and the source;
 * owned by one thread.
 */
#ifndef SS_ANALYSIS_ACTIVITIES_H
#define SS_ANALYSIS_ACTIVITIES_H

#include "analysis/line_times.h"

#define SS_ACTIVITY(id, is_wait, text, cure) SS_ACTIVITY_##id,
enum ss_activity {
    SS_ACTIVITY_NOTHING, /* nothing that the table knows */
#include "analysis/activities.def"
    SS_ACTIVITY_COUNT
};

struct ss_activities {
    const struct ss_model *model;
    const struct ss_source_lines *source;
    /* By frame, 0 until asked for, then 1 + the activity: of a library's frame; of a line of your
     * own code, while it computes and while it sleeps. */
    uint8_t *computing, *sleeping;
};

/* `source`, or its function, may be NULL: then lines are unknown. */
void ss_activities_init(struct ss_activities *activities, const struct ss_model *model,
                        const struct ss_source_lines *source);
void ss_activities_fini(struct ss_activities *activities);

/* The state and the GIL are those of the sample; UNKNOWN where they are not recorded. */
enum ss_activity ss_activity_of_stack(struct ss_activities *activities, uint32_t stack,
                                      enum ss_thread_state state, enum ss_gil_state gil);
/* The same with what the kernel said that a sleeping thread waits for. */
enum ss_activity ss_activity_of_total(struct ss_activities *activities,
                                      const struct ss_model_total *total);

/* Continues "goes into …"; "" for NOTHING. */
const char *ss_activity_text(enum ss_activity activity);
/* NULL: none that holds in general. */
const char *ss_activity_cure(enum ss_activity activity);
/* A thread that does this mostly waits: it needs no core meanwhile. */
bool ss_activity_is_wait(enum ss_activity activity);

/* What most samples of a line or a phase do. */
struct ss_activity_counts {
    uint64_t samples[SS_ACTIVITY_COUNT];
    uint64_t all;
};
void ss_activity_count(struct ss_activity_counts *counts, enum ss_activity activity,
                       uint64_t samples);
/* The activity of at least half of the samples; NOTHING: of no such part. */
enum ss_activity ss_activity_most(const struct ss_activity_counts *counts);

#endif
