/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which rank makes the others wait: the one answer that the headline, the findings, the tables and
 * the figures of a report are made of. Where evidence of several kinds disagrees, the first of
 * these decides:
 *
 * 1. Collectives that are matched over the ranks (rank_waits.h). They name a rank if what it caused
 *    is more than chance explains. They say that none is late if at least half of the steps have
 *    any, and the clocks hide less than a finding is worth.
 * 2. Phases: the rank whose phase communication is less than half as long as the others'. It
 *    arrives last, so that it waits least.
 * 3. Stages of a step on each rank's own clock (stage_frontier.h): the rank that falls behind by
 *    itself. What the others wait for it is not measured.
 * 4. Devices: as phases, by the communication that no computation hides.
 *
 * Where stages were compared, and neither they nor devices name a rank, none is late. The last
 * three do not count where a rank lacks calls of collectives: it would seem to wait less. Each of
 * the others waits `wait_ns`, the mean over them, and never more than was measured in the rank that
 * waits. Pure; immutable once built. Borrows the selection's model and the summary.
 */
#ifndef SS_ANALYSIS_RANKS_LATENESS_H
#define SS_ANALYSIS_RANKS_LATENESS_H

#include "analysis/ranks/stage_frontier.h"
#include "analysis/table/sentence.h"

enum ss_late_verdict {
    SS_LATE_ALONE,   /* fewer than two ranks are compared */
    SS_LATE_UNKNOWN, /* no evidence decides */
    SS_LATE_NONE,    /* no rank is late by what is worth a finding */
    SS_LATE_VARIES,  /* ranks are late, but chance explains which one */
    SS_LATE_ONE
};

enum ss_late_evidence {
    SS_LATE_BY_NOTHING,
    SS_LATE_BY_COLLECTIVES,
    SS_LATE_BY_PHASES,
    SS_LATE_BY_STAGES,
    SS_LATE_BY_DEVICES
};

/* What one kind of evidence says. */
struct ss_late_claim {
    enum ss_late_evidence by;
    const struct ss_rank_profile *row; /* NULL: no rank */
    /* Per step; without steps, in all. Of stages: by how much it falls behind. */
    uint64_t wait_ns;
    uint64_t own_ns;  /* what it waits itself, likewise */
    uint64_t of_ns;   /* a step; 0: there are none */
    double error_ns;  /* half width of the 95 % interval of wait_ns; NAN: unknown */
    uint64_t steps;   /* that it is of */
    uint64_t late_in; /* of these; of collectives, in how many it is last */
};

struct ss_lateness {
    enum ss_late_verdict verdict;
    struct ss_late_claim claim; /* what decides; its row is NULL unless the verdict is ONE */
    struct ss_late_claim other; /* evidence that counts less and names another rank; row NULL: none
                                 * does */
    const struct ss_rank_profiles *ranks;
    bool is_of_devices;        /* what decides was measured on devices */
    uint64_t clock_ns;         /* error of the clocks, where they are compared */
    size_t phase;              /* of the rank's own work: exceeds the median by most; the number of
                                * phases: none does */
    uint64_t more_ns;          /* by how much */
    struct ss_stage stage;     /* by stages: where it falls behind */
    struct ss_phase_line line; /* of its samples in the phase; frame 0: unknown */
    enum ss_more_work work;    /* that it has more of than the others */
};

/* Built once for each summary of steps. */
const struct ss_lateness *ss_steps_lateness(const struct ss_selection *selection,
                                            const struct ss_step_summary *training);

/* "rank 3", or "process 4711". */
void ss_lateness_add_rank(const struct ss_rank_profile *row, const struct ss_model *model,
                          struct ss_sentence *out);
/* "rank 1 holds up every other rank by 21 ms of a step of 38 ms (…)", or that none does. */
void ss_lateness_add(const struct ss_lateness *lateness, const struct ss_model *model,
                     const struct ss_step_summary *training, struct ss_sentence *out);
/* What that rests on. Only with SS_LATE_ONE. */
void ss_lateness_add_evidence(const struct ss_lateness *lateness, struct ss_sentence *out);
/* Notes for a table: which rank it is, and evidence that disagrees. */
void ss_lateness_add_notes(const struct ss_lateness *lateness, const struct ss_model *model,
                           const struct ss_step_summary *training, struct ss_table *table);
/* "the waits in collectives": the evidence. */
const char *ss_late_evidence_text(enum ss_late_evidence by);
/* "collectives", for programs. */
const char *ss_late_evidence_name(enum ss_late_evidence by);
const char *ss_late_verdict_name(enum ss_late_verdict verdict);
/* Evidence that disagrees, and that it does not decide. Nothing without any. */
bool ss_lateness_disagrees(const struct ss_lateness *lateness);
void ss_lateness_add_other(const struct ss_lateness *lateness, const struct ss_model *model,
                           struct ss_sentence *out);

#endif
