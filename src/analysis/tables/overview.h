/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tables of the overview: a training's operators and modules, then its hottest functions and
 * lines, within its steps where it has some. Pure.
 */
#ifndef SS_ANALYSIS_TABLES_OVERVIEW_H
#define SS_ANALYSIS_TABLES_OVERVIEW_H

#include "analysis/tables/tables.h"

/* For a recording with samples. No id of --by selects it. */
extern const struct ss_table_kind ss_overview;
/* For a recording with ranges or counters only: ranges instead of functions and lines. */
extern const struct ss_table_kind ss_overview_of_ranges;

/* The usual tables at once, without a diagnosis: what a batch job leaves in its output. */
extern const struct ss_table_kind ss_statistics;

/* For a page: the same tables with more rows, and all others that have any. Needs no second load.
 */
extern const struct ss_table_kind ss_overview_of_page;

/* The overview of what the model holds; it must have been loaded for one of them. */
const struct ss_table_kind *ss_overview_of(const struct ss_model *model);

static inline bool ss_table_kind_is_overview(const struct ss_table_kind *kind)
{
    return kind == &ss_overview || kind == &ss_overview_of_ranges || kind == &ss_overview_of_page;
}

#endif
