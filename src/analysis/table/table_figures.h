/* SPDX-License-Identifier: Apache-2.0 */
/* What a table states on itself, for programs: what it covers and what it leaves out. Pure. */
#ifndef SS_ANALYSIS_TABLE_TABLE_FIGURES_H
#define SS_ANALYSIS_TABLE_TABLE_FIGURES_H

#include "analysis/table/figure.h"
#include "analysis/table/table.h"

/* Appends the figures, without name, units and rows, to the object. */
void ss_table_put_figures(const struct ss_table *table, struct ss_figure *object);

#endif
