/* SPDX-License-Identifier: Apache-2.0 */
/* The look-up tables of a model while it is built. Private to model/. */
#ifndef SS_MODEL_INDEX_H
#define SS_MODEL_INDEX_H

#include "model/identity.h"
#include "model/slots.h"

struct ss_model_index {
    struct ss_slots frames, stacks, totals, paths;
    /* By thread: index + 1 of the total it was last added to, often the next one too. */
    struct ss_vec_of(uint32_t) last_totals;
    uint64_t total_samples; /* of all totals; stays below 2^63 */
    struct ss_identities processes, threads, tracks, names;
    struct ss_vec_of(uint32_t) step_names; /* by track: what its steps are called; 0: not yet */
    struct ss_intern line_keys;            /* process, name and line of each row of line_times */
    struct ss_vec_of(int64_t) first_steps; /* by process: number + 1 of the first seen */
    bool shares_tracks;                    /* rows on them are not yet in order */
};

#endif
