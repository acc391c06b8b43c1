/* SPDX-License-Identifier: Apache-2.0 */
/* The function and choices of the row of tables.c for the roofline. Private to tables*.c. */
#ifndef SS_ANALYSIS_TABLES_TABLES_ROOFLINE_H
#define SS_ANALYSIS_TABLES_TABLES_ROOFLINE_H

#include "analysis/roofline/roofline.h"
#include "analysis/tables/tables.h"

extern const struct ss_table_choice ss_roofline_sorts[], ss_roofline_groups[];

size_t ss_build_roofline(const struct ss_table_input *input, struct ss_table *tables);
size_t ss_build_step_roofline(const struct ss_table_input *input, struct ss_table *tables);

#endif
