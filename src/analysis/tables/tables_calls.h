/* SPDX-License-Identifier: Apache-2.0 */
/* The choices of the rows of tables.c that are about operators and modules. Private to tables*.c.
 */
#ifndef SS_ANALYSIS_TABLES_TABLES_CALLS_H
#define SS_ANALYSIS_TABLES_TABLES_CALLS_H

#include "analysis/tables/tables.h"

extern const struct ss_table_choice ss_call_sorts[], ss_call_groups[], ss_key_averages_groups[];

#endif
