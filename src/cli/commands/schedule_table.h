/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The dry run behind `stepscope schedule`: the action of a schedule at each step. Rows are
 * generated while they are printed, so that any number of steps fits. One thread.
 */
#ifndef SS_CLI_COMMANDS_SCHEDULE_TABLE_H
#define SS_CLI_COMMANDS_SCHEDULE_TABLE_H

#include <stdio.h>

#include "annot/schedule.h"
#include "base/vec.h"

struct ss_schedule_plan {
    struct ss_schedule schedule;
    struct ss_vec_of(int64_t) lengths; /* batches of each epoch; else one entry: the steps */
    int64_t resume_at;                 /* of the first epoch */
    bool unknown_length;               /* the schedule does not know the length of an epoch */
};

struct ss_schedule_row {
    int64_t epoch, step;
    enum ss_schedule_action action;
};

/* A run of recorded steps. */
struct ss_schedule_window {
    int64_t epoch, first, last;
    bool partial;
};

struct ss_schedule_plan_facts {
    struct ss_vec_of(struct ss_schedule_window) windows;
    int64_t steps, recorded, partial;
    char why_nothing[512]; /* empty when there are windows */
};

/* Calls `visit` for every step in order, until it returns false. */
void ss_schedule_plan_walk(const struct ss_schedule_plan *plan,
                           bool (*visit)(void *context, const struct ss_schedule_row *row),
                           void *context);
void ss_schedule_plan_facts_init(struct ss_schedule_plan_facts *facts,
                                 const struct ss_schedule_plan *plan);
void ss_schedule_plan_facts_fini(struct ss_schedule_plan_facts *facts);

struct ss_schedule_style {
    bool colour;
    int width; /* columns; 0: no limit */
};

void ss_schedule_print_csv(const struct ss_schedule_plan *plan, FILE *out);
void ss_schedule_print_json(const struct ss_schedule_plan *plan,
                            const struct ss_schedule_plan_facts *facts, FILE *out);
enum ss_status ss_schedule_print_text(const struct ss_schedule_plan *plan,
                                      const struct ss_schedule_plan_facts *facts,
                                      const struct ss_schedule_style *style, FILE *out,
                                      struct ss_error *err);

#endif
