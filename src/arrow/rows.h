/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The contents of a model as columns, one kind for each of its tables: events, samples, entities.
 * Rows that refer to another table have the id of its row in a column "NAME_id"; beside the ids of
 * processes and threads are pid, tid and names. Times are ns on the time axis of the model. Numbers
 * that identify something (streams, correlations, flows) keep their 64 bits: large ones are
 * negative. Pure.
 *
 * To add a kind: a function in one of rows_*.c, its declaration in rows_inside.h, a row in rows.c.
 */
#ifndef SS_ARROW_ROWS_H
#define SS_ARROW_ROWS_H

#include "analysis/selection/selection.h"
#include "arrow/columns.h"
#include "model/core/model.h"

struct ss_row_kind {
    const char *id, *summary;
    bool needs_samples; /* else tracks */
    /* The rows of the selected processes and threads, and all that belong to none. The caller owns
     * one reference to the result, which is finished. */
    struct ss_columns *(*build)(const struct ss_selection *selection);
};

/* Ends with a NULL id. */
extern const struct ss_row_kind ss_row_kinds[];

/* NULL: none. */
const struct ss_row_kind *ss_row_kind_find(const char *id);
/* Chooses what is loaded for the rows. */
void ss_row_kind_load(const struct ss_row_kind *kind, struct ss_model_load *load);

#endif
