/* SPDX-License-Identifier: Apache-2.0 */
/* The facts that `stepscope info` prints about one trace, collected in one pass without storing
 * samples. One owner; texts live as long as the facts. */
#ifndef SS_CLI_INFO_INFO_FACTS_H
#define SS_CLI_INFO_INFO_FACTS_H

#include "base/arena.h"
#include "base/vec.h"
#include "trace/entities.h"
#include "trace/reader.h"

struct ss_info_process {
    struct ss_trace_process record;
    uint64_t samples; /* ticks */
    uint32_t threads; /* with samples */
    bool has_exit;
    int64_t exit_status; /* as waitpid returns it */
};

struct ss_info_thread {
    struct ss_trace_thread record;
    uint64_t samples; /* ticks */
};

struct ss_info_damage {
    uint64_t offset, length;
    const char *reason;
    bool is_cut;
};

struct ss_info_track {
    uint8_t kind; /* enum ss_track_kind */
    bool used;    /* has an event or a value */
};

typedef struct ss_vec_of(union ss_trace_entity) ss_info_entities;

struct ss_info_facts {
    const char *path;
    struct ss_trace_summary summary;
    struct ss_arena arena;
    struct ss_vec_of(struct ss_trace_attribute) attributes;
    ss_info_entities entities[SS_SCHEMA_COUNT];         /* by kind */
    struct ss_vec_of(struct ss_info_process) processes; /* by ref - 1 */
    struct ss_vec_of(struct ss_info_thread) threads;    /* by ref - 1 */
    struct ss_vec_of(struct ss_trace_counts) counts;    /* newest of each source and process */
    struct ss_vec_of(struct ss_trace_note) notes;       /* the first MAX_NOTES */
    struct ss_vec_of(struct ss_info_damage) damages;    /* the first MAX_DAMAGES */
    uint64_t note_count, frame_count, stack_count;
    uint64_t ticks;
    uint64_t tracks[SS_TRACK_KIND_COUNT]; /* with an event or a value, by kind */
    uint64_t begins[SS_TRACK_KIND_COUNT]; /* ranges, by the kind of their track */
    uint64_t ends, marks, flow_points, name_count;
    struct ss_vec_of(struct ss_info_track) by_track; /* by ref */
    uint64_t clock_count;
    struct ss_trace_clock first_clock, last_clock;
    uint64_t widest_clock_ns;
};

enum { SS_INFO_MAX_NOTES = 1000, SS_INFO_MAX_DAMAGES = 100 };

enum ss_status ss_info_collect(const char *path, struct ss_info_facts *facts, struct ss_error *err);
void ss_info_fini(struct ss_info_facts *facts);

/* NULL: there is none with that key. */
const struct ss_trace_attribute *ss_info_attribute(const struct ss_info_facts *facts,
                                                   const char *key);
const char *ss_info_role(enum ss_process_role role); /* NULL: unknown */
/* From the first to the last record with a time; 0 when there are fewer than two. */
uint64_t ss_info_duration_ns(const struct ss_info_facts *facts);
/* "complete", "cut short" or "damaged". */
const char *ss_info_state(const struct ss_info_facts *facts);
/* The counts of the source itself, completed by the sums of its processes where it lacks them. */
struct ss_trace_counts ss_info_totals(const struct ss_info_facts *facts, uint32_t source_ref);
const struct ss_trace_source *ss_info_source(const struct ss_info_facts *facts, uint32_t ref);
/* Nanoseconds that REALTIME moved against MONOTONIC during the recording: clock steps and drift. */
int64_t ss_info_realtime_drift_ns(const struct ss_info_facts *facts);
uint64_t ss_info_suspended_ns(const struct ss_info_facts *facts);

#endif
