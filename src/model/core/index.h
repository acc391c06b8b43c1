/* SPDX-License-Identifier: Apache-2.0 */
/* Lookup tables for building a model. Private to model/. */
#ifndef SS_MODEL_CORE_INDEX_H
#define SS_MODEL_CORE_INDEX_H

#include "model/core/identity.h"
#include "model/core/note_order.h"
#include "model/core/slots.h"

struct ss_model_index {
    struct ss_slots frames, stacks, totals, paths, field_lists;
    /* By thread: index + 1 of the last total that it was added to, often also the next. */
    struct ss_vec_of(uint32_t) last_totals;
    uint64_t total_samples; /* sum of all totals; below 2^63 */
    struct ss_identities processes, threads, tracks, names;
    struct ss_vec_of(uint32_t) step_names; /* by track: name of its steps; 0: not created yet */
    struct ss_intern line_keys;            /* process, name and line of each row of line_times */
    struct ss_intern metric_keys;          /* name, unit and section of metric_kinds */
    struct ss_vec_of(int64_t) first_steps; /* by process: number + 1 of its first step */
    struct ss_note_index notes;
    bool shares_tracks; /* between inputs; their rows are not sorted yet */
};

#endif
