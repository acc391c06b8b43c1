/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where in the program the work of devices was launched: the operator or annotation around the
 * launching call and, where autograd launched it, the node of the backward pass with the operator
 * of forward that created this node. Work belongs to where it was launched, wherever it runs, and
 * counts with its whole time. Pure; immutable once built. Borrows the model.
 */
#ifndef SS_ANALYSIS_KERNELS_LAUNCH_PLACES_H
#define SS_ANALYSIS_KERNELS_LAUNCH_PLACES_H

#include "analysis/launches/device_work.h"
#include "analysis/steps/steps.h"
#include "analysis/table/range_finder.h"

/* What is known of the launch of a work. */
enum ss_launch {
    SS_LAUNCH_RECORDED,
    /* Before the recording, or the selected time: the first work of its stream that was launched
     * in it follows. */
    SS_LAUNCH_BEFORE,
    SS_LAUNCH_LOST, /* not recorded, but later than that */
    SS_LAUNCHES
};

/* Ranges plus one; 0: none. */
struct ss_launch_place {
    uint64_t ns;      /* of the work */
    uint32_t work;    /* index into works.works */
    uint32_t call;    /* that launched it; 0 unless RECORDED, as are the others */
    uint32_t op;      /* innermost operator or annotation around the call */
    uint32_t node;    /* innermost node of autograd around the call */
    uint32_t forward; /* operator that created the node */
    uint8_t launch;   /* enum ss_launch */
    bool is_steady;   /* launched in a steady-state step */
};

struct ss_launch_sum {
    uint64_t count, ns;
};

/* Saturating at 63 bits: the work of a damaged recording may take any time. */
static inline void ss_launch_sum_add(struct ss_launch_sum *sum, uint64_t ns)
{
    sum->count++;
    sum->ns = ns < (uint64_t)INT64_MAX - sum->ns ? sum->ns + ns : (uint64_t)INT64_MAX;
}

struct ss_launch_places {
    const struct ss_selection *selection;
    const struct ss_device_works *works;  /* more than the places have, if threads are selected */
    struct ss_analysis *own_analysis;     /* of the works then; NULL: they are the selection's */
    const struct ss_range_finder *finder; /* of the selection */
    struct ss_vec_of(struct ss_launch_place) rows;     /* by call, those without one first */
    struct ss_launch_sum all, unlaunched[SS_LAUNCHES]; /* unlaunched: by enum ss_launch */
    uint64_t steps; /* steady-state steps whose work was recorded, and that count */
};

struct ss_launch_places_options {
    const char *domain;                     /* of the operators and nodes; NULL: finds none */
    const struct ss_step_summary *training; /* NULL: no step counts */
    bool of_operators;                      /* steps count whose operators were recorded */
};

/* With selected threads, only the work that these launched. Without any work, `rows` is empty and
 * nothing else is built. */
void ss_launch_places_init(struct ss_launch_places *places, const struct ss_selection *selection,
                           const struct ss_launch_places_options *options);
/* Frees all but the sums and the number of steps. */
void ss_launch_places_release(struct ss_launch_places *places);
void ss_launch_places_fini(struct ss_launch_places *places);

/* "(launched before the recording)", "(launch not recorded)" */
const char *ss_launch_name(enum ss_launch launch);

#endif
