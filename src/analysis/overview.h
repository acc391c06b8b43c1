/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tables of a first look: operators and modules of a training, then its hottest functions and
 * lines, within its steps where it has some. Pure.
 */
#ifndef SS_ANALYSIS_OVERVIEW_H
#define SS_ANALYSIS_OVERVIEW_H

#include "analysis/tables.h"

/* Of a recording with samples. Belongs to no id of --by. */
extern const struct ss_table_kind ss_overview;
/* Of one that has ranges or counters alone: ranges instead of functions and lines. */
extern const struct ss_table_kind ss_overview_of_ranges;

#endif
