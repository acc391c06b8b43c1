/* SPDX-License-Identifier: Apache-2.0 */
/* The phase of a process at a given time, for any of its threads. Pure; immutable once built. */
#ifndef SS_ANALYSIS_STEPS_PHASE_TIMES_H
#define SS_ANALYSIS_STEPS_PHASE_TIMES_H

#include "analysis/selection/range_runs.h"
#include "analysis/selection/selection.h"

struct ss_phase_time {
    uint32_t process, name; /* string */
    uint64_t begin_ns, end_ns;
};

struct ss_phase_times {
    struct ss_vec_of(struct ss_phase_time) parts; /* by process, then by begin */
};

void ss_phase_times_init(struct ss_phase_times *times, const struct ss_selection *selection,
                         const struct ss_range_runs *runs);
void ss_phase_times_fini(struct ss_phase_times *times);

/* The phase at `time_ns`; of two overlapping phases, the one that began later. NULL: none. */
const struct ss_phase_time *ss_phase_times_at(const struct ss_phase_times *times, uint32_t process,
                                              uint64_t time_ns);

/* Cursor for queries of one process; fast for ascending times. */
struct ss_phase_cursor {
    const struct ss_phase_time *parts;
    size_t count, at; /* `at`: parts that begin at or before the last time */
};
void ss_phase_cursor_init(struct ss_phase_cursor *cursor, const struct ss_phase_times *times,
                          uint32_t process);
/* The phase's name; 0: none. Of two overlapping phases, the one that began later. */
uint32_t ss_phase_at(struct ss_phase_cursor *cursor, uint64_t time_ns);

#endif
